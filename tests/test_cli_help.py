"""The help of the commands, and the page that is made from it."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import caesura
from caesura.cli.docs import commands, render
from caesura.cli.options import STRATEGY_NAMES
from caesura.strategies import STRATEGIES
from command_line import PATH, ask, mistake

ROOT = Path(__file__).parent.parent


def test_without_words_there_is_help():
    for words in ((), ("fill",), ("data",), ("--help",), ("train", "--help")):
        assert "Usage: caesura" in ask(*words)
    assert ask("--version") == f"caesura {caesura.__version__}\n"
    assert "did you mean 'train'?" in mistake("trian")


def test_help_does_not_wait_for_jax():
    code = "import sys, caesura.cli; print({'jax', 'numpy', 'scipy'} & set(sys.modules))"
    words = [sys.executable, "-c", code]
    assert (
        subprocess.run(words, env=os.environ | PATH, capture_output=True, text=True).stdout
        == "set()\n"
    )


def test_help_lists_all_strategies():
    assert set(re.findall(r"\w+", STRATEGY_NAMES)) - {"or"} == set(STRATEGIES)


def test_every_command_and_option_says_what_it_is_for():
    for path, command in commands():
        assert command.help, path
        for param in command.params:
            assert getattr(param, "help", None), f"{path}: {param.name}"
            assert inspect.cleandoc(param.help)[-1] in ".)", f"{path}: {param.name}"


def test_the_page_of_the_command_line_is_fresh():
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == render(), "docs/cli.md is stale: `make docs` makes it anew"
