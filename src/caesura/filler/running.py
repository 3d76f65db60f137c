"""Opened requests, run through the passes; one that fails is tried alone."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from caesura.filler.questions import Questions
from caesura.filler.request import Request
from caesura.filler.stretches import Stretch
from caesura.filler.tasks import Method, Task, batches
from caesura.kinds.base import Item
from caesura.sequence import Sequence
from caesura.strategies import Strategy

Report = Callable[[int, int], None]


class Opened(NamedTuple):
    """A request whose data has been read."""

    request: Request
    item: Item
    sequence: Sequence
    method: Method
    draws: int
    around: int  # how many steps a stretch sees on either side
    stretches: list[Stretch]
    questions: Questions | None = None  # about single gaps

    @property
    def has_gaps(self) -> bool:
        """Whether anything is to be filled."""
        return bool(self.stretches or self.item.open_gaps)

    @property
    def tasks(self) -> list[Task]:
        """What is to be filled."""
        seed, samples = self.request.seed, self.request.samples
        scored = samples if self.method.net.frame.spec.name == "continuous" else self.draws
        return [
            Task(stretch, seed, number, self.draws, scored)
            for number, stretch in enumerate(self.stretches)
        ]


class Work(NamedTuple):
    """What is to be done for one request."""

    key: Hashable  # equal for requests that may share passes
    method: Method
    tasks: list[Task]


def work_of(one: Opened) -> Work:
    """Return the stretches of a request as work for a pass."""
    return Work(method_key(one), one.method, one.tasks)


def method_key(one: Opened) -> Hashable:
    """Equal for requests by the same strategy; one with options of its own is like no other."""
    given = one.request.strategy
    return id(given) if isinstance(given, Strategy) else one.method.name


def answer_one(run: Callable[..., Any], one: Opened) -> list[Any]:
    """What `run` says of the stretches of one request."""
    found = run_all(run, {0: work_of(one)}, None).get(0, [])
    if isinstance(found, Exception):
        raise found
    return found


def run_all(
    run: Callable[[Method, list[Task]], list[Any]], work: dict[int, Work], report: Report | None
) -> dict[int, Any]:
    """Return, by request, a list of what `run` says of each of its tasks, or an exception.

    Where a pass fails, each of its requests is tried alone: it may be the fault of one.
    """
    found: dict[int, Any] = {
        number: [None] * len(one.tasks) for number, one in work.items() if one.tasks
    }
    total, done = sum(len(one.tasks) for one in work.values()), 0
    by_key: dict[Any, list[tuple[int, int]]] = {}
    for number in found:
        one = work[number]
        by_key.setdefault(one.key, []).extend((number, place) for place in range(len(one.tasks)))

    def attempt(method: Method, entries: list[tuple[int, int]]) -> None:
        numbers = dict.fromkeys(number for number, _ in entries)
        try:
            answers = run(method, [work[number].tasks[place] for number, place in entries])
        except Exception as error:
            for number in numbers:
                if len(numbers) == 1:
                    found[number] = error
                else:
                    attempt(method, [entry for entry in entries if entry[0] == number])
            return
        for (number, place), answer in zip(entries, answers, strict=True):
            if isinstance(found[number], list):
                found[number][place] = answer

    for entries in by_key.values():
        method = work[entries[0][0]].method
        for some in batches(method, [work[number].tasks[place] for number, place in entries]):
            attempt(method, [entries[i] for i in some])
            done += len(some)
            if report is not None:
                report(done, total)
    return found
