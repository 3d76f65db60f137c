"""Clients that leave before they are answered."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from fastapi import Request


class GoneError(Exception):
    """The client left before the answer came."""


async def unless_gone(request: Request, answer: Awaitable[Any]) -> Any:
    """Return the answer; `GoneError` if the client leaves before it comes."""
    wanted = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_disconnection(request))
    try:
        await asyncio.wait({wanted, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not wanted.done():
            raise GoneError
        return wanted.result()
    finally:
        wanted.cancel()
        gone.cancel()


async def _disconnection(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
