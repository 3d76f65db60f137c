"""Long work that reports its progress: it gives way to short work, and can be stopped."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from fastapi import Request

from caesura.web.gone import GoneError, unless_gone
from caesura.web.queue import ClosedError, Line
from caesura.web.schemas import FitWaits

PIECE = 1.0  # seconds that a fit works before it gives way: a short one never does
PATIENCE = 10.0  # seconds that a fit stands still at most before it makes another move

Fit = Callable[[Callable[[Any], None], Callable[[], bool]], Any]  # of `report` and `stop`


class Fits:
    """Fits wait in a line of their own and are done one after the other.

    When a fit that has worked for a while asks whether it should stop, it stands still as long as
    anybody waits in `before`, the line of short work. So short work never waits for long.
    """

    def __init__(self, line: Line, before: Line) -> None:
        self._line, self._before = line, before
        self._answers: set[asyncio.Future[Any]] = set()

    def close(self) -> None:
        """Stop all fits; their clients are told."""
        for answer in self._answers:
            answer.cancel()

    async def run(self, fit: Fit, request: Request) -> AsyncIterator[Any]:
        """Yield what the fit reports, and at last its answer.

        The fit is stopped when nobody listens: the client has gone, or the time is over.
        """
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[Any] = asyncio.Queue()

        def report(progress: Any) -> None:
            loop.call_soon_threadsafe(told.put_nowait, progress)

        def work(_: Sequence[Any], left: Callable[[], bool]) -> list[Any]:
            began = time.monotonic()

            def stop() -> bool:
                nonlocal began
                if time.monotonic() - began >= PIECE:
                    self._before.give_way(PATIENCE)
                    began = time.monotonic()
                return left()

            return [fit(report, stop)]

        job = self._line.put(work, None)
        answer = asyncio.ensure_future(self._line.answer(job))
        answer.add_done_callback(told.put_nowait)
        self._answers.add(answer)
        try:
            yield FitWaits()
            while (progress := await unless_gone(request, told.get())) is not answer:
                yield progress
            if answer.cancelled():
                raise ClosedError
            yield answer.result()
        except GoneError:
            return
        finally:
            job.left.set()
            answer.cancel()
            self._answers.discard(answer)
