"""SIGKILL at random moments, counted: `python tests/kills.py 1000 --state DIR` prints a table.

This process imports everything once, and forks a child for each run, so that a kill does not cost
the seconds of the imports. JAX must not run in this process: its threads do not survive a fork. The
children share a directory of compiled programs, which is written while they are killed, too.

Half of the kills of a job come at a moment drawn over its whole duration. The other half wait for
the next file that is being written, and come up to 3 ms later. Every trial is a line in
DIR/kills.jsonl: a run that was stopped continues from there.
"""

import argparse
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax

from killed_work import WORK, Job, Loop, Tell

KILLS_OF_A_TRIAL = 5
PATIENCE = 900  # seconds, on a busy machine


class Ended(NamedTuple):
    """How a child ended, what it told, and whether it was killed while a file was written."""

    killed: bool
    code: int
    told: list[int]
    writing: bool = False


class Child:
    """A process that runs a function; what it prints goes to a file."""

    def __init__(self, run: Callable[[Tell], None], log: Path) -> None:
        self.read, write = os.pipe()
        self.log = log
        with warnings.catch_warnings(action="ignore"):  # JAX warns of a fork, once it was used
            self.process = os.fork()
        if self.process == 0:
            os.close(self.read)
            _run(run, write, log)
        os.close(write)

    def has_ended(self) -> bool:
        """Return whether it is over; the process stays to be waited for."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process, options) is not None

    def wait_for_word(self) -> None:
        """Wait until it tells something, or ends."""
        select.select([self.read], [], [], PATIENCE)

    def end(self, kill: bool, writing: bool = False) -> Ended:
        """Kill it, if asked to, and return how it ended."""
        if kill:
            os.kill(self.process, signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        with open(self.read, "rb") as told:
            numbers = [
                int(line) for line in told.read().splitlines(keepends=True) if line[-1] == 10
            ]
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        return Ended(killed, os.waitstatus_to_exitcode(status), numbers, writing and killed)


def _run(run: Callable[[Tell], None], write: int, log: Path) -> None:
    """Run the function as a process of its own would, and end it."""
    code = 1
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        run(lambda number: os.write(write, b"%d\n" % number) and None)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def is_writing(folder: Path) -> bool:
    return any(folder.rglob(".*.part"))


def run_and_kill(
    job: Job, folder: Path, log: Path, after: float, aimed: bool, late: float
) -> Ended:
    """Run a job, and kill it after some seconds; or some ms after a file is begun after that."""
    child = Child(lambda tell: job.run(folder), log)
    until = time.monotonic() + after
    writing = False
    while not child.has_ended() and (time.monotonic() < until or aimed):
        if aimed and time.monotonic() >= until and is_writing(folder):
            writing = True
            time.sleep(late)
            break
        time.sleep(0.0005 if time.monotonic() >= until else 0.005)
    return child.end(kill=not child.has_ended(), writing=writing)


def run_to_the_end(job: Job, folder: Path, log: Path) -> float:
    """Return the seconds that it took."""
    start = time.monotonic()
    child = Child(lambda tell: job.run(folder), log)
    while not child.has_ended() and time.monotonic() - start < PATIENCE:
        time.sleep(0.01)
    ended = child.end(kill=not child.has_ended())
    if ended.code != 0:
        raise RuntimeError(f"exit code {ended.code}: {log.read_text(errors='replace')[-300:]}")
    return time.monotonic() - start


class Trials:
    """Trials of one kind of work, with what the work comes to if nothing disturbs it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.work = WORK[name][0]
        self.log = folder / "log"
        if isinstance(self.work, Job):
            for _ in range(2):  # the first one compiles, and takes longer
                self.fresh()
                self.seconds = run_to_the_end(self.work, self.place, self.log)
            self.whole = self.work.left(self.place)

    def fresh(self) -> None:
        self.place = self.folder / "trial"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        prepared = Child(lambda tell: self.work.prepare(self.place), self.log)
        if prepared.end(kill=False).code:
            raise RuntimeError(self.log.read_text())

    def run(self, trial: int) -> dict[str, Any]:
        """Return the record of one trial."""
        draw = random.Random(f"{self.name} {trial}")
        self.fresh()
        counts: Counter[str] = Counter(kills=0, writing=0)
        try:
            if isinstance(self.work, Job):
                lost = self._job(self.work, draw, counts)
            else:
                lost = self._loop(self.work, draw, counts)
        except RuntimeError as error:
            lost = str(error)
        return {"work": self.name, "trial": trial, **counts, "lost": lost}

    def _job(self, job: Job, draw: random.Random, counts: Counter[str]) -> str:
        for _ in range(KILLS_OF_A_TRIAL):
            after, aimed, late = draw.random() * self.seconds, draw.random() < 0.5, draw.random()
            ended = run_and_kill(job, self.place, self.log, after, aimed, 0.003 * late)
            if not ended.killed:
                if ended.code:
                    return f"exit code {ended.code}: {self.log.read_text(errors='replace')[-300:]}"
                break
            counts.update(kills=1, writing=ended.writing)
            if wrong := job.wrong(self.place, self.whole, ended=False):
                return wrong
        else:
            run_to_the_end(job, self.place, self.log)
        return job.wrong(self.place, self.whole, ended=True)

    def _loop(self, loop: Loop, draw: random.Random, counts: Counter[str]) -> str:
        last = 0
        for _ in range(KILLS_OF_A_TRIAL + 1):
            child = Child(lambda tell: loop.run(self.place, tell), self.log)
            child.wait_for_word()
            time.sleep(0.25 * draw.random())
            writing = is_writing(self.place)
            ended = child.end(kill=True, writing=writing)
            if not ended.killed or not ended.told:
                return f"exit code {ended.code}: {self.log.read_text(errors='replace')[-300:]}"
            found = ended.told[0]
            if found not in (last, last + 1):
                return f"number {last} was finished, and number {found} was found"
            counts.update(kills=1, writing=ended.writing)
            last = ended.told[-1]
            (self.place / "number").write_text(str(last))
        return ""


def records(state: Path) -> list[dict[str, Any]]:
    """Return the trials so far; a line that was cut short is no trial."""
    lines = state.read_text().splitlines(keepends=True) if state.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def table(done: list[dict[str, Any]]) -> str:
    lines = ["| killed | trials | kills | of these while a file was written | lost |"]
    lines += ["|---|---|---|---|---|"]
    for name in [*WORK, "all"]:
        mine = [record for record in done if name in (record["work"], "all")]
        sums = [sum(record[key] for record in mine) for key in ("kills", "writing")]
        lost = sum(bool(record["lost"]) for record in mine)
        lines.append(f"| {name} | {len(mine)} | {sums[0]} | {sums[1]} | {lost} |")
    return "\n".join(lines)


def run_trials(kills: int, folder: Path) -> list[dict[str, Any]]:
    """Run trials until there are so many kills; return the records of all."""
    state = folder / "kills.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    done = records(state)
    state.write_text("".join(json.dumps(record) + "\n" for record in done))
    shares = {name: share * kills for name, (_, share) in WORK.items()}
    trials: dict[str, Trials] = {}
    with tempfile.TemporaryDirectory(dir=folder) as scratch, open(state, "a") as file:
        while True:
            count = Counter({record["work"]: 0 for record in done})
            for record in done:
                count[record["work"]] += record["kills"]
            rest = {name: count[name] / shares[name] for name in WORK if count[name] < shares[name]}
            if not rest:
                return done
            name = min(rest, key=lambda one: rest[one])
            if name not in trials:
                number = list(WORK).index(name)
                trials[name] = Trials(name, Path(scratch) / str(number))
            record = trials[name].run(sum(record["work"] == name for record in done))
            file.write(json.dumps(record) + "\n")
            file.flush()
            done.append(record)
            if record["lost"]:
                print(record, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kills", type=int, help="how many in all; 0 prints the table of the state")
    parser.add_argument("--state", type=Path, help="a directory, to continue after a stop")
    options = parser.parse_args()
    # The nets are tiny: the time goes into compiling them.
    jax.config.update("jax_disable_most_optimizations", True)
    jax.config.update("jax_num_cpu_devices", 1)
    with tempfile.TemporaryDirectory() as other:
        folder = options.state or Path(other)
        jax.config.update("jax_compilation_cache_dir", str(folder / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        done = (
            run_trials(options.kills, folder) if options.kills else records(folder / "kills.jsonl")
        )
    print(table(done))
    return any(record["lost"] for record in done)


if __name__ == "__main__":
    sys.exit(main())
