"""What is compiled when the server starts, so that requests need not wait for it."""

import logging
import math
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from caesura.filler import Filler
from caesura.filler.shapes import Shape, shapes
from caesura.filler.tables import TableFiller
from caesura.web.queue import Line, Size


class NotReadyError(Exception):
    """Something is still to be compiled."""


class _Todo(NamedTuple):
    model: str
    shape: Shape


class Warming:
    """The shapes of the default strategies of some models, compiled one after the other.

    Another thread than that of the line compiles, so that requests do not wait for it. Each shape
    is then run again in the line, when nobody waits there: so the line knows how long it takes.
    """

    def __init__(self, fillers: Mapping[str, Filler], line: Line) -> None:
        self._fillers, self._line = fillers, line
        self._todo = [
            _Todo(name, shape)
            for name, filler in fillers.items()
            if not isinstance(filler, TableFiller)  # which has no use for them
            for shape in shapes(filler.kind, filler.method())
        ]
        self.total = len(self._todo)
        self._failed = False

    @property
    def left(self) -> int:
        """How many shapes are still to be compiled."""
        return len(self._todo)

    def check(self) -> None:
        """Raise `NotReadyError` with one sentence unless everything is compiled."""
        if self._failed:
            raise NotReadyError("A program could not be compiled; the log of the server says why.")
        if self._todo:
            model, shape = self._todo[0]
            raise NotReadyError(
                f"Programs are still compiled: {self.left} of {self.total} shapes are left, the "
                f"next is '{model}' for {shape.name}."
            )

    async def run(self, report: Callable[[str], None]) -> None:
        """Compile everything, and report the beginning and the end of it."""
        if not self._todo:
            return
        began = time.monotonic()
        aside = Line(waiting=0, together=1, seconds=math.inf)
        report(f"Compiling for {self.total} shapes in the background; /readyz says how far it is.")
        try:
            while self._todo:
                model, shape = self._todo[0]
                await aside.run_idle(shape.run)
                if shape.work:
                    sort = (model, self._fillers[model].strategy)
                    await self._line.run_idle(shape.run, Size(sort, shape.work))
                del self._todo[0]
        except Exception:
            self._failed = True
            logging.getLogger("caesura").exception("A program could not be compiled.")
            return
        finally:
            aside.close(0.0)
        report(f"Ready: {self.total} shapes are compiled, after {time.monotonic() - began:.0f} s.")
