"""Checks before every route: hosts, content types and the size of bodies; and the headers."""

import asyncio
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    # Scripts, styles and requests only from and to this server; no page may frame it.
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """Middleware that refuses what no route should see, and adds the headers to every answer.

    No header ever allows another origin. A page from elsewhere can send a request that needs no
    permission, but JSON needs one. If its host name resolves to this machine, its origin would be
    ours, so the `Host` must be one of `hosts`, unless those are empty.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str], most_bytes: int, seconds: float) -> None:
        self._app, self._hosts = app, frozenset(hosts)
        self._most_bytes, self._seconds = most_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_signed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        headers = Headers(scope=scope)
        host = headers.get("host", "").rpartition(":")
        name = host[0] if host[2].isdecimal() else headers.get("host", "")
        if self._hosts and name.lower() not in self._hosts:
            refusal = _refuse(421, "This host name is not allowed: open the page as localhost.")
        elif scope["method"] != "POST":
            await self._app(scope, receive, send_signed)
            return
        elif headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            refusal = _refuse(415, "The body of a request must be JSON, sent as application/json.")
        else:
            body = await self._read(headers, receive)
            if isinstance(body, bytes):
                await self._app(scope, _again(body, receive), send_signed)
                return
            refusal = body
        await refusal(scope, receive, send_signed)

    async def _read(self, headers: Headers, receive: Receive) -> bytes | JSONResponse:
        """Return the whole body, or the answer that refuses it."""
        too_long = _refuse(413, f"The body of a request has at most {self._most_bytes} bytes.")
        told = headers.get("content-length", "0")
        if told.isdecimal() and int(told[:20]) > self._most_bytes:
            return too_long
        body = bytearray()
        try:
            async with asyncio.timeout(self._seconds):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > self._most_bytes:
                        return too_long
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            return _refuse(408, "The body of the request did not come in time.")


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body again, then what else comes: that the client left."""
    rest = [body]

    async def read() -> Message:
        if rest:
            return {"type": "http.request", "body": rest.pop(), "more_body": False}
        return await receive()

    return read


def _refuse(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"detail": sentence}, status)
