"""A public file in memory: bounded while it comes, and refused unless it is the one expected."""

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from caesura.errors import CaesuraError

CHUNK = 1 << 16

Progress = Callable[[int, int | None], None]  # the bytes so far, and in all where the server says


@dataclass(frozen=True)
class Source:
    """Where a set is published, what its bytes hash to, and how they become the files we keep."""

    url: str
    sha256: str
    limit: int  # bytes; no more than these are ever taken from the server
    convert: Callable[[bytes], list[bytes]]


def download(source: Source, timeout: float = 30.0, progress: Progress | None = None) -> bytes:
    """The bytes at the address, once their hash is right; nothing is written anywhere.

    `timeout` is in seconds, for connecting and for each silence of the server.
    """
    try:
        with _http_only().open(_request(source.url), timeout=timeout) as response:
            expected = _announced(response)
            content = _receive(response, expected, source, progress)
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise CaesuraError(
            f"The server answered {error.code} ({_one_line(error.reason)}) for {source.url}."
        ) from error
    except TimeoutError as error:
        raise _silent(source, timeout) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _silent(source, timeout) from error
        raise CaesuraError(f"Cannot reach {source.url}: {_one_line(error.reason)}.") from error
    except (OSError, http.client.HTTPException) as error:
        raise CaesuraError(
            f"The download of {source.url} broke off: {_one_line(error)}."
        ) from error

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
    """An opener that no redirect can lead to a local file or to another protocol."""
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


def _request(url: str) -> urllib.request.Request:
    return urllib.request.Request(url, headers={"User-Agent": "caesura"})


def _announced(response: http.client.HTTPResponse) -> int | None:
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def _receive(
    response: http.client.HTTPResponse,
    expected: int | None,
    source: Source,
    progress: Progress | None,
) -> bytes:
    """What the server sends, as long as it stays within the limit."""
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


def _silent(source: Source, timeout: float) -> CaesuraError:
    return CaesuraError(f"There was no answer from {source.url} for {timeout:g} seconds.")


def _one_line(reason: object) -> str:
    said = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return " ".join(said.split()).rstrip(".") or type(reason).__name__
