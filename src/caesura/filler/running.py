"""Opened requests, run through the passes; one that fails is tried alone."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from caesura.filler.passes import Method, Task, batches
from caesura.filler.request import Request
from caesura.filler.stretches import Stretch
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
    stretches: list[Stretch]

    @property
    def tasks(self) -> list[Task]:
        """What is to be filled."""
        seed, samples = self.request.seed, self.request.samples
        scored = samples if self.method.net.frame.spec.name == "continuous" else self.draws
        return [
            Task(stretch, seed, number, self.draws, scored)
            for number, stretch in enumerate(self.stretches)
        ]


def method_key(one: Opened) -> Hashable:
    """Equal for requests by the same strategy; one with options of its own is like no other."""
    given = one.request.strategy
    return id(given) if isinstance(given, Strategy) else one.method.name


def answer_one(run: Callable[..., Any], one: Opened) -> list[Any]:
    """What `run` says of the stretches of one request."""
    found = run_all(run, {0: one}, None).get(0, [])
    if isinstance(found, Exception):
        raise found
    return found


def run_all(
    run: Callable[[Method, list[Task]], list[Any]], opened: dict[int, Opened], report: Report | None
) -> dict[int, Any]:
    """Return, by request, a list of what `run` says of each of its stretches, or an exception.

    Where a pass fails, each of its requests is tried alone: it may be the fault of one.
    """
    found: dict[int, Any] = {
        number: [None] * len(one.stretches) for number, one in opened.items() if one.stretches
    }
    total, done = sum(len(one.stretches) for one in opened.values()), 0
    by_method: dict[Any, list[tuple[int, Task]]] = {}
    methods: dict[Any, Method] = {}
    for number, one in opened.items():
        key = method_key(one)
        methods[key] = one.method
        by_method.setdefault(key, []).extend((number, task) for task in one.tasks)

    def attempt(method: Method, entries: list[tuple[int, Task]]) -> None:
        numbers = dict.fromkeys(number for number, _ in entries)
        try:
            answers = run(method, [task for _, task in entries])
        except Exception as error:
            for number in numbers:
                if len(numbers) == 1:
                    found[number] = error
                else:
                    attempt(method, [entry for entry in entries if entry[0] == number])
            return
        for (number, task), answer in zip(entries, answers, strict=True):
            if isinstance(found[number], list):
                found[number][task.number] = answer

    for key, entries in by_method.items():
        for some in batches(methods[key], [task for _, task in entries]):
            attempt(methods[key], [entries[i] for i in some])
            done += len(some)
            if report is not None:
                report(done, total)
    return found
