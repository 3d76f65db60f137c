"""Downloads of public files into memory, with a size limit and a known hash."""

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from caesura.errors import CaesuraError

CHUNK = 1 << 16

Progress = Callable[[int, int | None], None]  # the bytes so far, and in all if the server says so


@dataclass(frozen=True)
class Source:
    """Where a set is published, its hash, and how it is converted to the files of the set."""

    url: str
    sha256: str
    limit: int  # bytes; a larger file is refused
    convert: Callable[[bytes], list[bytes]]


def download(source: Source, timeout: float = 30.0, progress: Progress | None = None) -> bytes:
    """Return the file at the address if its hash is right; nothing is written to disk.

    `timeout` is in seconds, for connecting and for each wait for data.
    """
    request = urllib.request.Request(source.url, headers={"User-Agent": "caesura"})
    try:
        with _http_only().open(request, timeout=timeout) as response:
            length = response.headers.get("Content-Length", "")
            expected = int(length) if length.isdecimal() else None
            content = _receive(response, expected, source, progress)
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise CaesuraError(
            f"The server answered {error.code} ({_one_line(error.reason)}) for {source.url}."
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        sentence = f"The download of {source.url} broke off: {_one_line(error)}."
        if isinstance(reason, TimeoutError):
            sentence = f"There was no answer from {source.url} for {timeout:g} seconds."
        elif reason is not error:
            sentence = f"Cannot reach {source.url}: {_one_line(reason)}."
        raise CaesuraError(sentence) from error

    if expected is not None and len(content) < expected:
        raise CaesuraError(
            f"The download of {source.url} broke off after {len(content)} of {expected} bytes."
        )
    if (found := hashlib.sha256(content).hexdigest()) != source.sha256:
        raise CaesuraError(
            f"The file at {source.url} is not the one expected: its sha256 should be "
            f"{source.sha256}, not {found}."
        )
    return content


def _http_only() -> urllib.request.OpenerDirector:
    """Return an opener that only knows HTTP(S), so that no redirect leads to a local file."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _receive(
    response: http.client.HTTPResponse,
    expected: int | None,
    source: Source,
    progress: Progress | None,
) -> bytes:
    """Return what the server sends, or raise an error beyond the limit."""
    content = bytearray()
    while (expected or 0) <= source.limit and len(content) <= source.limit:
        if not (chunk := response.read1(CHUNK)):
            return bytes(content)
        content += chunk
        if progress is not None:
            progress(len(content), expected)
    raise CaesuraError(
        f"The file at {source.url} is not the one expected: it is larger than {source.limit} bytes."
    )


def _one_line(reason: object) -> str:
    said = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return " ".join(said.split()).rstrip(".") or type(reason).__name__
