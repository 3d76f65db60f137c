"""After a fault nothing is lost or half-written; `make faults` tries each many times."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import PATH
from faults import FAULTS, UnavailableError, survives


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_lost(name):
    try:
        assert survives(FAULTS[name], trial=0)
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.mark.slow
def test_nothing_is_lost_by_kills_and_their_count_continues(tmp_path):
    program = Path(__file__).with_name("kills.py")  # a process in which JAX has not run
    words = [sys.executable, program, "14", "--state", tmp_path]
    tables, states = [], []
    for _ in range(2):  # the second time, all kills are there already
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | PATH)
        assert done.returncode == 0, done.stdout + done.stderr
        tables.append(done.stdout)
        states.append((tmp_path / "kills.jsonl").read_text())
    assert tables[0] == tables[1]
    assert states[0] == states[1]
    assert len(states[0].splitlines()) >= 7  # of each kind of work
    assert tables[0].strip().endswith("| 0 |")
