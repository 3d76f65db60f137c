"""Rows filled by processes on the cores of this machine, each of which loads the model once."""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import current_process, get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from typing import Any

import pyarrow as pa

from caesura.errors import CaesuraError
from caesura.scale.run import Run, Summary
from caesura.scale.worker import Worker

TRIES = 4  # of a batch whose worker dies: it may die of one of the rows
NAME = "caesura worker"
LOOK = 1.0  # seconds: Ctrl-C does not end a wait that begins at the same moment, but the next one
LOADED = "loaded"  # what a worker says first
# A worker has one core, so none of its libraries may start a thread for each. These variables are
# read when the libraries are loaded. XLA reads NPROC, which is not a part of the keys of compiled
# programs, as XLA_FLAGS would be: workers find what one process has compiled.
LIMITED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC", "PJRT_NPROC")
ONE_CORE = dict.fromkeys(LIMITED, "1") | {"JAX_NUM_CPU_DEVICES": "1", "JAX_PLATFORMS": "cpu"}


@dataclass
class _Member:
    """A process, and the batch that it fills."""

    process: SpawnProcess
    rows: pa.Table
    tries: int = 1
    loaded: bool = False


def fill_in_processes(
    batches: Iterable[pa.Table], run: Run, directory: Path, workers: int
) -> Generator[Summary, None, None]:
    """Yield what became of each batch, in the order in which they are finished.

    A worker has one batch at a time, and the next one is read when a worker is free. If a worker
    dies, a new one repeats its batch. All workers have ended when the generator is closed.
    """
    batches = iter(batches)
    members: list[_Member] = []
    busy: dict[Any, _Member] = {}  # by their connections

    def start(rows: pa.Table, tries: int = 1) -> None:
        connection, process = _start(run, directory)
        busy[connection] = _Member(process, rows, tries)
        members.append(busy[connection])

    try:
        for rows in islice(batches, workers):
            start(rows)
        while busy:
            ready: list[Any] = wait(list(busy), timeout=LOOK)
            for connection in ready:
                member = busy[connection]
                try:
                    answer = connection.recv()
                except (EOFError, OSError):
                    del busy[connection]
                    _check_death(member)
                    start(member.rows, member.tries + 1)
                    continue
                if isinstance(answer, Exception):
                    raise answer
                if answer == LOADED:
                    member.loaded = True
                else:
                    yield answer
                    rows = next(batches, None)
                    if rows is None:
                        del busy[connection]
                        connection.close()  # which ends the worker
                        continue
                    member.rows, member.tries = rows, 1
                with suppress(OSError):  # the next `recv` reports a death
                    connection.send(member.rows)
    finally:
        for member in members:
            member.process.kill()
        for member in members:
            member.process.join()


def refuse_in_worker() -> None:
    """Raise an error if this process is a worker that runs the user's program once more."""
    if current_process().name == NAME:
        raise CaesuraError(
            "Workers import the program that starts them: it must call this function under "
            "`if __name__ == '__main__':`, or with workers=1."
        )


def _start(run: Run, directory: Path) -> tuple[Connection, SpawnProcess]:
    context = get_context("spawn")  # a fork would copy JAX without its threads
    ours, theirs = context.Pipe()
    arguments = (theirs, run, directory)
    process = context.Process(target=_work, args=arguments, name=NAME, daemon=True)
    with _environment(ONE_CORE), _without_interrupts():
        process.start()
    theirs.close()  # then the end of the process ends the connection
    return ours, process


def _check_death(member: _Member) -> None:
    """Raise an error if it is of no use to start another worker."""
    member.process.join()
    code = member.process.exitcode
    if not member.loaded:
        raise CaesuraError(
            f"A worker ended with exit code {code} before it had loaded the model: what it printed "
            "says why."
        )
    if member.tries == TRIES:
        first, last = (member.rows["id"][place].as_py() for place in (0, -1))
        raise CaesuraError(
            f"Workers died {TRIES} times on the rows from '{first}' to '{last}', the last one with "
            f"exit code {code}. The rows that are filled stay, and the same call continues from "
            "there."
        )


def _work(connection: Connection, run: Run, directory: Path) -> None:
    """Fill the batches that come, until there are no more; an error is sent to the parent."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        worker = Worker(run, directory)
        connection.send(LOADED)
        while (rows := _next(connection)) is not None:
            connection.send(worker.fill(rows))
    except Exception as error:
        error.add_note(traceback.format_exc())  # a connection takes no traceback along
        connection.send(error)


def _next(connection: Connection) -> pa.Table | None:
    with suppress(EOFError):
        return connection.recv()
    return None


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables for the processes that are started inside this context."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes inside this context that Ctrl-C does not reach.

    A terminal sends it to all processes. The parent then ends the others.
    """
    if sys.platform == "win32":  # has no such masks
        yield
        return
    ensure_running()  # or the first start would do it, and change the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
