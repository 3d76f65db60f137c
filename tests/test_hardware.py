"""What is asked of the machine."""

import subprocess
import sys

import pytest

from caesura.hardware import keep_memory
from command_line import PATH

# The second of two equal arrays: how many of its pages are new.
PROGRAM = """
import resource, sys
import numpy as np
from caesura.hardware import keep_memory

if sys.argv[1] == "keep":
    keep_memory()
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(2**23)
    new = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(new)
"""


def new_pages(word):
    words = [sys.executable, "-c", PROGRAM, word]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=PATH)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can be asked to keep memory")
def test_freed_memory_is_kept_for_the_next_array():
    assert new_pages("keep") < 8
    assert new_pages("return") >= 32  # 64 MB, in pages of at most 2 MB


def test_nothing_happens_without_glibc(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr("ctypes.CDLL", None)
    keep_memory()


def test_products_of_scipy_use_few_threads_too():
    program = """
from threadpoolctl import threadpool_info
from caesura.hardware import cores, few_blas_threads
with few_blas_threads():  # looks for libraries
    pass
import scipy.linalg  # brings one of its own, with most wheels
with few_blas_threads():
    print([one["num_threads"] <= max(1, cores() // 2) for one in threadpool_info()
           if one["user_api"] == "blas"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "True" in done.stdout, done.stderr
    assert "False" not in done.stdout
