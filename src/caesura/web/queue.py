"""The line before the model: one worker takes jobs in a fair order, and like ones together."""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from caesura.errors import CaesuraError

WORKER = "model"  # the name of a line's thread
ENDING = 10.0  # seconds that a piece of work has when the line is closed

# From items to as many answers, of which some may be exceptions; the second argument says whether
# all clients have left, so that long work can be given up.
Work = Callable[[Sequence[Any], Callable[[], bool]], Sequence[Any]]


class BusyError(Exception):
    """Too many requests wait already."""


class ClosedError(Exception):
    """The server is being stopped."""


class LateError(Exception):
    """The answer did not come in time."""


class TooLongError(CaesuraError):
    """The answer cannot come in time, by an estimate."""

    def __init__(self, seconds: float, limit: float):
        super().__init__(
            f"By an estimate, that takes {seconds:.0f} seconds, and the limit is {limit:.0f}: ask "
            f"for {limit / seconds:.0%} of it, with fewer or shorter gaps, or fewer draws."
        )


class Size(NamedTuple):
    """How much work a job is, in units that take equally long for jobs of one sort.

    A job with a limit of its own takes `seconds`, or as long as its units if that is longer.
    """

    sort: Hashable
    units: float
    seconds: float = 0.0


IDLE = math.inf  # when a job is due that waits until nobody else does
NO_SIZE = Size(None, 0.0)


class Job(NamedTuple):
    """An item of some work, and where its answer is to go."""

    work: Work
    item: Any
    like: Hashable  # items that are alike may be worked on at once; None is like no other
    answer: "Future[Any]"
    left: threading.Event  # set once nobody waits for the answer
    size: Size
    due: float  # when it would be done if it had been begun at once: the order of the line


class Line:
    """Jobs that a thread of its own works on.

    The first is the one that would be done first if each had been begun when it came. So a short
    job goes before a long one, but not before one that has waited for longer than it takes. How
    long a job takes is estimated from the fastest one of its sort so far. A job that could not be
    done in time even then is refused. One that nobody waits for any more is never begun.
    """

    def __init__(
        self,
        waiting: int,
        together: int,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        self._after = after  # called between two pieces of work
        self._most, self._together, self._seconds, self._clock = waiting, together, seconds, clock
        self._jobs: list[Job] = []
        self._seconds_per_unit: dict[Hashable, float] = {}
        self._working = False
        self._changed = threading.Condition()
        self._open = True
        # A daemon: a program on the model that nobody waits for need not hold up the end for long.
        self._thread = threading.Thread(target=self._serve, name=WORKER, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many jobs have not been begun."""
        return sum(job.due < IDLE and not job.answer.cancelled() for job in self._jobs)

    async def run(self, work: Work, item: Any, like: Hashable = None, size: Size = NO_SIZE) -> Any:
        """Return the answer for one item, when its turn has come."""
        return await self.answer(self.put(work, item, like, size))

    async def run_idle(self, call: Callable[[], Any], size: Size = NO_SIZE) -> None:
        """Call a function when nobody else waits, however long that takes."""
        job = Job(lambda *_: [call()], None, None, Future(), threading.Event(), size, IDLE)
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()
        await asyncio.wrap_future(job.answer)

    def estimate(self, size: Size) -> float:
        """Return how many seconds a job takes at least; 0 as long as nothing is known of it."""
        return max(size.seconds, self._seconds_per_unit.get(size.sort, 0.0) * size.units)

    def put(self, work: Work, item: Any, like: Hashable = None, size: Size = NO_SIZE) -> Job:
        """Return a job in the line; `BusyError` if the line is full, or `TooLongError`."""
        takes = self.estimate(size)
        if takes > self._seconds:
            raise TooLongError(takes, self._seconds)
        due = self._clock() + takes
        job = Job(work, item, like, Future(), threading.Event(), size, due)
        with self._changed:
            if self.waiting >= self._most or not self._open:
                raise BusyError
            self._jobs.append(job)
            self._changed.notify_all()
        return job

    async def answer(self, job: Job) -> Any:
        """Return the answer of a job; `LateError` if it does not come in time."""
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(job.answer)
        except TimeoutError:
            raise LateError from None
        finally:
            job.left.set()

    def give_way(self, seconds: float) -> None:
        """Wait until nobody waits here and nothing is worked on; for so long at most."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._jobs or self._working), seconds)

    def close(self, seconds: float | None = None) -> None:
        """Give up what waits; what has begun is the last, and has some seconds to end in."""
        with self._changed:
            self._open = False
            for job in self._jobs:
                job.answer.cancel()
            self._changed.notify_all()
        self._thread.join(ENDING if seconds is None else seconds)

    def _serve(self) -> None:
        while jobs := self._next():
            begun = [job for job in jobs if job.answer.set_running_or_notify_cancel()]
            if begun:
                started = self._clock()
                answers = _work(begun)
                if not any(isinstance(answer, Exception) for answer in answers):
                    self._learn(begun, self._clock() - started)
                self._after()
                _give(begun, answers)

    def _learn(self, jobs: list[Job], seconds: float) -> None:
        """Keep the time of a unit if it is the shortest of its sort: longer ones compiled."""
        sort, units = jobs[0].size.sort, sum(job.size.units for job in jobs)
        if units and not jobs[0].size.seconds:  # which would have been used up in any case
            known = self._seconds_per_unit.get(sort, seconds / units)
            self._seconds_per_unit[sort] = min(known, seconds / units)

    def _next(self) -> list[Job]:
        """Return the first job with those like it, once there is one; none if closed."""
        with self._changed:
            self._working = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._jobs or not self._open)
            if not self._open:
                return []
            self._working = True
            self._jobs.sort(key=lambda job: job.due)
            first = self._jobs[0]
            alike = [job for job in self._jobs if job is first or _are_alike(job, first)]
            chosen = alike[: self._together]
            self._jobs = [job for job in self._jobs if job not in chosen]
            return chosen


def _are_alike(one: Job, other: Job) -> bool:
    return one.like is not None and one.like == other.like


def _work(jobs: list[Job]) -> Sequence[Any]:
    try:
        return jobs[0].work(
            [job.item for job in jobs], lambda: all(job.left.is_set() for job in jobs)
        )
    except Exception as error:
        return [error] * len(jobs)


def _give(jobs: list[Job], answers: Sequence[Any]) -> None:
    """Give every client its answer, or the exception that is its own."""
    for job, answer in zip(jobs, answers, strict=True):
        if isinstance(answer, Exception):
            job.answer.set_exception(answer)
        else:
            job.answer.set_result(answer)
