"""Model files on the Hugging Face Hub, by addresses such as hf://user/repo/file@revision."""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from caesura.errors import CaesuraError, extra

PREFIX = "hf://"
FORM = "hf://user/repo/file.safetensors@revision"
NAME = r"[A-Za-z0-9][\w.-]*"
PATTERN = re.compile(
    rf"hf://(?P<repo>{NAME}/{NAME})/(?P<file>[^@#]+)@(?P<revision>[^@#]+)(?:#sha256=(?P<sha256>.*))?"
)


class Address(NamedTuple):
    """A file in a repository of the Hub, at one revision."""

    repo: str
    file: str
    revision: str  # a commit, a tag or a branch; only a commit can never change
    sha256: str | None  # of the bytes of the file


def parse_address(address: str) -> Address:
    """Return the parts of an address.

    Raises
    ------
    CaesuraError
        If it has another form, or no revision.

    Examples
    --------
    >>> parse_address("hf://someone/models/greek.safetensors@v1.0").revision
    'v1.0'
    """
    if "@" not in address:
        raise CaesuraError(
            f"The address '{address}' names no revision, so the model could change: write "
            f"{FORM}, best with the hash of a commit."
        )
    match = PATTERN.fullmatch(address)
    if match is None or ".." in match["file"].split("/"):
        raise CaesuraError(f"The address '{address}' does not have the form {FORM}.")
    if match["sha256"] is not None and not re.fullmatch("[0-9a-f]{64}", match["sha256"]):
        raise CaesuraError(f"The sha256 in '{address}' is not 64 hexadecimal digits.")
    return Address(*match.group("repo", "file", "revision", "sha256"))


def fetch(address: str) -> Path:
    """Return the file of an address in the Hub's cache; it is downloaded if it is not there.

    Raises
    ------
    ExtraMissingError
        If huggingface_hub is not installed.
    CaesuraError
        If the file cannot be had, or its sha256 is another.
    """
    repo, file, revision, sha256 = parse_address(address)
    with extra("hf", "Models on the Hub need huggingface_hub"):
        from huggingface_hub import hf_hub_download
    try:
        path = Path(hf_hub_download(repo, file, revision=revision))
    except Exception as error:  # of huggingface_hub, its HTTP client or the disk
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise CaesuraError(f"Cannot get '{address}' from the Hub: {reason}.") from error
    if sha256 is not None:
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != sha256:
            raise CaesuraError(f"The file at '{address}' is not the one expected: it has {found}.")
    return path
