"""Better answers the longer one waits, by a clock that the test turns."""

from dataclasses import replace

import pytest

from caesura.filler import Fill, Request
from caesura.filler.anytime import EFFORTS, Attempt, attempts_at, improve
from caesura.strategies import NADE
from enumerated import Search, random_filler


@pytest.fixture(scope="module")
def fill() -> Fill:
    return random_filler().fill("cab_bca", strategy=Search(width=3, draws=1))


class Work:
    """Attempts that take some seconds for each pass, and answers that change so many times."""

    def __init__(self, fill: Fill, passes: list[list[float]], changes: int = 99):
        self.fill, self.passes, self.changes = fill, passes, changes
        self.now, self.tried, self.reported = 0.0, 0, 0

    def clock(self) -> float:
        return self.now

    def fill_once(self, request: Request, report) -> Fill:
        times = self.passes[self.tried]
        self.tried += 1
        for done, seconds in enumerate(times, start=1):
            self.now += seconds
            report(done, len(times))
        best = self.fill.completions[0]._replace(lengths=(self.tried,))
        number = min(self.tried, self.changes)
        best = best._replace(values=best.values * 0 + number)
        return replace(self.fill, completions=[best])

    def run(self, seconds: float, efforts=EFFORTS) -> Fill:
        def count(done: int, total: int) -> None:
            self.reported += 1

        attempts = [Attempt(effort, Request("cab_bca")) for effort in efforts]
        return improve(self.fill_once, attempts, seconds, count, self.clock)


def number_of(fill: Fill) -> int:
    return fill.completions[0].lengths[0]


def test_the_first_attempt_is_finished_in_any_case(fill):
    work = Work(fill, [[3.0, 3.0]])
    answer = work.run(1.0)
    assert (number_of(answer), answer.ended, work.now) == (1, "out of time", 6.0)
    assert work.reported == 2


def test_an_attempt_that_would_take_too_long_is_not_begun(fill):
    work = Work(fill, [[1.0], [4.0], [30.0]])
    answer = work.run(10.0, efforts=(1 / 8, 1.0, 4.0))
    assert (number_of(answer), answer.ended, work.now) == (2, "out of time", 5.0)
    work = Work(fill, [[1.0], [4.0], [30.0]])
    assert work.run(20.0, efforts=(1 / 8, 1.0, 4.0)).ended == "finished"  # it might take 16 seconds


def test_an_attempt_ends_between_passes_when_the_time_is_up(fill):
    work = Work(fill, [[0.5, 0.5], [4.0, 4.0, 4.0, 4.0]])
    answer = work.run(6.0, efforts=(1 / 8, 1.0))
    assert (number_of(answer), answer.ended, work.now) == (1, "out of time", 9.0)
    work = Work(fill, [[0.5, 0.5], [2.0, 4.0]])  # what is done is not thrown away
    answer = work.run(6.0, efforts=(1 / 8, 1.0))
    assert (number_of(answer), answer.ended) == (2, "finished")


@pytest.mark.parametrize(("changes", "tried"), [(1, 3), (2, 3), (3, 4)])
def test_the_ranking_settles_only_by_the_usual_effort(fill, changes, tried):
    """Two narrow searches may agree by being narrow."""
    work = Work(fill, [[0.0]] * 5, changes)
    answer = work.run(1.0, efforts=EFFORTS)
    assert (number_of(answer), answer.ended) == (tried, "settled")


def test_all_attempts_are_made_if_there_is_time(fill):
    answer = Work(fill, [[0.0]] * 5).run(1.0)
    assert (number_of(answer), answer.ended) == (5, "finished")


def test_many_tasks_begin_with_less_effort():
    request = Request("cab_bca", seconds=2.0)
    few = attempts_at(request, Search(), 32, tasks=1)
    sizes = [(one.request.strategy.width, one.request.strategy.draws) for one in few]
    assert sizes == [(12, 4), (96, 32), (384, 128), (1536, 512)]
    assert all(one.request.seconds is None for one in few)
    many = attempts_at(request, Search(), 32, tasks=24)
    assert [one.effort for one in many] == [1 / 32, *(one.effort for one in few)]
    assert many[0].request.strategy.width == 3


def test_no_attempt_is_made_twice():
    request = replace(Request("cab_bca", seconds=2.0), samples=20)
    found = attempts_at(request, NADE(), 32, tasks=24)
    assert [one.request.draws for one in found] == [20, 32, 128, 512]
    tiny = attempts_at(request, Search(width=1, draws=1), 32, tasks=1)
    assert [one.request.strategy.width for one in tiny] == [1, 4, 16]
