"""A user's program has types: mypy reads those of the library, and sees the user's mistakes."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


def mypy(name, directory):
    words = ["--strict", "--config-file=", "--cache-dir", str(directory), str(HERE / name)]
    done = subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True)
    return done.stdout


def test_a_program_of_a_user_is_typed(tmp_path):
    assert mypy("user_program.py", tmp_path).startswith("Success")


def test_mistakes_of_a_user_are_seen(tmp_path):
    said = mypy("wrong_program.py", tmp_path)
    lines = (HERE / "wrong_program.py").read_text().splitlines()
    wrong = [number for number, line in enumerate(lines, 1) if "filler" in line or "train" in line]
    assert [int(line.split(":")[1]) for line in said.splitlines()[:-1]] == wrong
