"""Nothing that is read can run: the library has no word for it."""

import ast
from pathlib import Path

import pytest

import caesura

ROOT = Path(caesura.__file__).parent
MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "subprocess"}
MODULES |= {"yaml", "ctypes", "code", "runpy", "pty", "commands", "xmlrpc", "multiprocessing"}
# These pass pickles from one process of ours to another through a pipe that nobody else can open.
# The C library is asked to give memory back, or to keep it, by names that no user can choose.
EXEMPT = {"scale/processes.py": "multiprocessing", "web/memory.py": "ctypes"}
EXEMPT |= {"hardware.py": "ctypes"}
CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
METHODS = {"system", "popen", "read_pickle", "to_pickle", "spawnv", "spawnl", "execv", "execvp"}
# With these, NumPy and pandas run what a file or a caller says; they are given as keywords alone.
KEYWORDS = {"allow_pickle": True, "shell": True}


def complaints(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module] if (node.module or "").split(".")[0] in MODULES else []
            found += [a.name for a in node.names if a.name in METHODS]
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in CALLS:
                found.append(node.func.id)
            if isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                if node.func.attr in METHODS or (owner, node.func.attr) == ("builtins", "eval"):
                    found.append(f"{owner}.{node.func.attr}")
                keywords = [keyword.arg for keyword in node.keywords]
                if (owner, node.func.attr) == ("np", "load") and "allow_pickle" not in keywords:
                    found.append("np.load without allow_pickle=False")
            for keyword in node.keywords:
                value = keyword.value
                safe = isinstance(value, ast.Constant) and value.value is False
                if keyword.arg in KEYWORDS and not safe:
                    found.append(f"{keyword.arg}={ast.unparse(value)}")
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_pickle_no_eval_no_shell(path):
    exempt = EXEMPT.get(path.relative_to(ROOT).as_posix())
    found = complaints(path.read_text(encoding="utf-8"))
    assert [word for word in found if word.split(".")[0] != exempt] == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import os, marshal as m",
        "from shelve import open",
        "from os import system",
        "eval('1')",
        "x = exec(y)",
        "os.system('ls')",
        "import subprocess",
        "run('ls', shell=True)",
        "import yaml",
        "np.load(p)",
        "np.load(p, allow_pickle=True)",
        "np.load(p, allow_pickle=x)",
        "pd.read_pickle(p)",
    ],
)
def test_the_search_would_find_it(source):
    assert complaints(source) != []
