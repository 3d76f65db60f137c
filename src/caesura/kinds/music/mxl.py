"""Compressed MusicXML (`.mxl`): a zip archive with one score in it, read with bounds."""

import io
import zipfile
import zlib

from caesura.errors import CaesuraError
from caesura.kinds.xml import Reader

ZIP = b"PK\x03\x04"  # the first bytes of a zip archive
CONTAINER = "META-INF/container.xml"  # names the file with the score
MOST_BYTES = 1 << 25  # of all that is in an archive, and of a score
MOST_CONTAINER = 1 << 16
MOST_FILES = 1000
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


def unpack(content: bytes, name: str) -> bytes:
    """Return the score in an archive.

    Parameters
    ----------
    content
        The archive.
    name
        What error messages call it.

    Raises
    ------
    CaesuraError
        If it is broken, has no score, or would be too large when unpacked.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _read(archive, _score_name(archive, name), MOST_BYTES, name)
    except (*BROKEN, KeyError, ValueError) as error:
        if isinstance(error, CaesuraError):
            raise
        raise CaesuraError(f"{name} is not a complete compressed MusicXML file.") from error


def repack(content: bytes, score: bytes, name: str) -> bytes:
    """Return an archive with another score in it, and all else as it was."""
    packed = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
            place, left = _score_name(old, name), MOST_BYTES
            for entry in old.infolist():
                data = score if entry.filename == place else _read(old, entry, left, name)
                left -= len(data)
                new.writestr(entry, data, entry.compress_type)
    except (*BROKEN, KeyError, ValueError) as error:
        if isinstance(error, CaesuraError):
            raise
        raise CaesuraError(f"{name} is not a complete compressed MusicXML file.") from error
    return packed.getvalue()


def pack(score: bytes) -> bytes:
    """Return a new archive for a score."""
    container = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<container><rootfiles>'
        '<rootfile full-path="score.musicxml" media-type="application/vnd.recordare.musicxml+xml"/>'
        "</rootfiles></container>\n"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        # The time is fixed, so that equal scores give equal files.
        for name, data in ((CONTAINER, container.encode()), ("score.musicxml", score)):
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _read(archive: zipfile.ZipFile, entry: "str | zipfile.ZipInfo", most: int, name: str) -> bytes:
    """What the archive says of sizes is not trusted: no more is unpacked than is allowed."""
    with archive.open(entry) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise CaesuraError(f"{name} holds more than {MOST_BYTES} bytes when it is unpacked.")
    return data


def _score_name(archive: zipfile.ZipFile, name: str) -> str:
    names = archive.namelist()
    if len(names) > MOST_FILES:
        raise CaesuraError(f"{name} holds more than {MOST_FILES} files.")
    container = _Container(_read(archive, CONTAINER, MOST_CONTAINER, name))
    container.read()
    if container.path not in names:
        raise CaesuraError(f"{name} does not hold the score that it names.")
    return container.path


class _Container(Reader):
    """Finds the path of the first root file."""

    path = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "rootfile" and not self.path:
            self.path = attributes.get("full-path", "")
