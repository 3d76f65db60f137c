"""Many rows by several processes: the answers of one, whoever dies over them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from caesura.errors import CaesuraError
from caesura.scale import Run, Summary, fill_locally
from caesura.scale import local as local_module
from command_line import PATH
from shared_rows import (
    BATCH,
    TEXTS,
    Deadly,
    DeadlyOnce,
    Unloadable,
    loading_processes,
    read_notes,
    table,
)
from small_fillers import text_filler


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # as in the other tests
    monkeypatch.setenv("JAX_ENABLE_COMPILATION_CACHE", "0")
    text_filler().save(tmp_path / "text.model")
    return tmp_path / "text.model"


def answers(folder) -> pd.DataFrame:
    return pd.read_parquet(folder / "fills").set_index("id").sort_index()


def contents(folder) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "fills").iterdir()}


def is_running(process: int) -> bool:
    """Whether there is such a process, which is more than what is left of a dead one."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
def test_the_answers_are_those_of_one_process_though_a_worker_is_killed(model, tmp_path, capfd):
    one, two = tmp_path / "one", tmp_path / "two"
    asked = {"draws": 3, "seed": 5}
    fill_locally([table()], Run(model, **asked), one, batch=BATCH, workers=1)
    seen, before = [], dict(os.environ)
    run = DeadlyOnce(model, **asked)
    summary = fill_locally([table()], run, two, batch=BATCH, workers=2, report=seen.append)
    assert summary == Summary(filled=12, failed=1)
    assert seen[-1] == summary
    assert len(seen) == 5  # batches
    assert "Traceback" not in capfd.readouterr().err
    assert contents(two) == contents(one)  # the same files, to the bit
    # This process and two workers load the model once each, and so does who replaces the dead one.
    loading = loading_processes(model)
    assert len(set(loading)) == len(loading) == 4
    assert loading[0] == os.getpid()
    assert not any(is_running(process) for process in loading[1:])
    assert dict(os.environ) == before
    notes = read_notes(model)
    assert notes.count("row 4") == 2
    assert all(notes.count(name) == 1 for name in TEXTS if name not in ("row 3", "row 4"))
    # What is done is skipped, without a worker; one batch is left, which takes no worker either.
    again = fill_locally([table()], run, two, batch=BATCH, workers=2)
    assert again == Summary(failed=1, skipped=12)
    assert loading_processes(model)[4:] == [os.getpid()]


@pytest.mark.slow
def test_a_row_that_kills_every_worker_ends_the_run_in_one_sentence(model, tmp_path):
    with pytest.raises(CaesuraError, match=r"died 4 times on the rows from 'row 3' to 'row 5'"):
        fill_locally([table()], Deadly(model), tmp_path / "out", batch=BATCH, workers=2)
    assert {"row 0", "row 6"} <= {*answers(tmp_path / "out").index}  # what was filled stays


def test_an_error_of_a_worker_is_raised_here(model, tmp_path):
    with pytest.raises(CaesuraError, match="The model is gone") as told:
        fill_locally([table()], Unloadable(model), tmp_path / "out", batch=BATCH, workers=2)
    assert "shared_rows.py" in told.value.__notes__[0]


PROGRAM = """
import sys
from pathlib import Path
from caesura.scale import fill_locally
from shared_rows import BATCH, Slow, table

def fill():
    model = Path(sys.argv[1])
    fill_locally([table()], Slow(model), model.with_name("out"), batch=BATCH, workers=2)
"""
# Shells have programs in the background ignore Ctrl-C, and the tests may run there.
HEEDING = "import signal\n\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
GUARDED = HEEDING + PROGRAM + "\nif __name__ == '__main__':\n    fill()\n"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux which processes run")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_stays_after_the_end_of_the_first(model, how):
    program = model.with_name("program.py")
    program.write_text(GUARDED)
    process = subprocess.Popen(
        [sys.executable, str(program), str(model)],
        env=os.environ | PATH,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while {"row 0", "row 3"} - {*read_notes(model)}:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        workers = loading_processes(model)[1:]
        assert len(workers) == 2
        assert all(map(is_running, workers))
        if how == signal.SIGINT:
            os.killpg(process.pid, how)  # as a terminal does
        else:
            process.send_signal(how)
        _, told = process.communicate(timeout=30)
        assert process.returncode == -how
        assert told.count("Traceback") == (how == signal.SIGINT)  # none of a worker
        deadline = time.monotonic() + 10
        while any(map(is_running, workers)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        process.kill()


@pytest.mark.slow
def test_a_program_without_a_guard_is_told_so(model):
    program = model.with_name("program.py")
    program.write_text(PROGRAM + "\nfill()\n")
    command = [sys.executable, str(program), str(model)]
    ran = subprocess.run(command, env=os.environ | PATH, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "under `if __name__ == '__main__':`" in ran.stderr
    assert "ended with exit code 1 before it had loaded the model" in ran.stderr.splitlines()[-1]


def test_nonsense_is_refused(model, tmp_path):
    with pytest.raises(CaesuraError, match="'workers' must be at least 1, not 0"):
        fill_locally([table()], Run(model), tmp_path / "out", workers=0)
    assert not (tmp_path / "out").exists()


def test_one_batch_and_a_gpu_need_no_worker(model, tmp_path, monkeypatch):
    asked = []

    def no_process(batches, run, directory, workers):
        yield asked.append(workers) or Summary(filled=sum(map(len, batches)))

    monkeypatch.setattr(local_module, "fill_in_processes", no_process)
    monkeypatch.setattr(local_module, "cores", lambda: 7)
    few = table().slice(0, BATCH)
    fill_locally([few], Run(model), tmp_path / "few", batch=BATCH)
    assert asked == []
    fill_locally([few, few], Run(model), tmp_path / "many", batch=BATCH)
    assert asked == [7]
    monkeypatch.setattr(local_module.jax, "default_backend", lambda: "gpu")
    fill_locally([few, few], Run(model), tmp_path / "on a GPU", batch=BATCH)
    assert asked == [7]
