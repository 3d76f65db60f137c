"""How running work shows itself, in a terminal and elsewhere."""

import io
import sys
from contextlib import suppress
from types import SimpleNamespace

import pytest

from caesura.training import progress
from caesura.training.loop import Progress
from caesura.training.progress import counting, showing


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set."""
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def lines(capsys) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_elsewhere_a_count_is_a_line_every_15_seconds_and_at_the_end(clock, capsys):
    with counting("nade: gaps") as count:
        for done in range(1, 41):
            clock[0] += 1.0
            count(done, 1000 if done > 20 else None)
    assert lines(capsys) == ["nade: gaps 15", "nade: gaps 30/1,000", "nade: gaps 40/1,000"]


def test_sizes_and_notes_are_shown_and_nothing_twice(clock, capsys):
    with counting("sotu:", "bytes") as count:
        clock[0] += 16.0
        count(1_500_000, 3_000_000, "2 failed")
    assert lines(capsys) == ["sotu: 1.5 MB/3.0 MB, 2 failed"]
    with counting("nothing"):
        pass
    assert lines(capsys) == []


def test_the_last_line_is_printed_when_the_work_fails(clock, capsys):
    with suppress(ValueError), counting("rows:") as count:
        count(3)
        raise ValueError
    assert lines(capsys) == ["rows: 3"]


def test_in_a_terminal_a_count_is_a_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with counting("rows [all]") as count:
        count(1)
        count(7, 7, "none failed")
    assert "rows [all]" in sys.stderr.getvalue()
    assert "7/7, none failed" in sys.stderr.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_training_shows_itself_between_validations(terminal, clock, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
    with showing() as report:
        for step in range(1, 41):
            clock[0] += 1.0
            validation = 2.5 if step == 20 else None
            report("forward", Progress(step, 100, 3.25, validation, 5e4, 61.0, 0))
    shown = sys.stderr.getvalue()
    assert ("valid 2.500 (best 2.500)" if terminal else "validation 2.5000") in shown
    if not terminal:
        updates = [line.split()[2] for line in shown.splitlines()]
        assert updates == ["15/100", "20/100", "35/100"]
