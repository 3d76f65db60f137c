"""Faults brought on in real processes, counted: `python tests/faults.py 5` prints the table.

Kills at random moments are in kills.py.

After each fault, what the user had is compared byte by byte with what there should be; a trial in
which anything of it was lost, half-written or could not be gone on with counts as lost.
"""

import functools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import safetensors.numpy

import caesura
from command_line import PATH, TEXT, settings
from model_files import make_filler, tiny_filler
from small_fillers import text_filler

CAESURA = [sys.executable, "-m", "caesura"]
ENVIRONMENT = os.environ | PATH | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
OLD = b"what stood there before\n"
PATIENCE = 300  # seconds, on a busy machine


class UnavailableError(Exception):
    """Why this machine cannot bring the fault on."""


def start(*words: object) -> subprocess.Popen[str]:
    """A process of its own."""
    return subprocess.Popen(
        [str(word) for word in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code, and what was said."""
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said


def kill_when(process: subprocess.Popen[str], ready: Callable[[], bool], later: float) -> None:
    """kill -9, some seconds after something has come true."""
    until = time.monotonic() + PATIENCE
    while process.poll() is None and not ready() and time.monotonic() < until:
        time.sleep(0.0002)
    time.sleep(later)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def parts(folder: Path) -> bool:
    """Whether a file is being written."""
    return any(folder.glob(".*.part"))


def tensors(model: Path) -> dict[str, bytes]:
    """The weights of a model; how long its training took is another matter."""
    caesura.load(model)  # it is sound
    found = safetensors.numpy.load_file(model)
    return {name: tensor.tobytes() for name, tensor in found.items()}


def one_sentence(process: subprocess.Popen[str]) -> bool:
    """Whether it ended with exit code 2 and one line."""
    code, said = finished(process)
    lines = [line for line in said.splitlines() if line.startswith("Error: ")]
    return code == 2 and len(lines) == 1 and "Traceback" not in said


SAVE = """
import sys
sys.path[:0] = {path!r}
from model_files import make_filler, tiny_filler
while True:
    for filler in (make_filler(), tiny_filler()):
        filler.save(sys.argv[1])
"""


def same_output(folder: Path, trial: int) -> bool:
    """Two processes save to one path at the same time."""
    place = folder / "a.model"
    savers = [start(sys.executable, "-c", SAVE.format(path=sys.path), place) for _ in range(2)]
    kill_when(savers[0], place.exists, 0.3)
    kill_when(savers[1], place.exists, random.Random(trial).random() / 5)
    return len(caesura.load(place).nets) in (len(make_filler().nets), len(tiny_filler().nets))


def training(folder: Path, *more: str) -> list[object]:
    """A training of some seconds, with a checkpoint every two updates."""
    (folder / "text.txt").write_text(TEXT)
    words = [*CAESURA, "train", "text", folder / "text.txt", "-o", folder / "a.model"]
    return [*words, *more, *settings("steps=40", "valid_steps=50")]


@functools.cache
def undisturbed() -> dict[str, bytes]:
    """The weights that the training ends with."""
    with tempfile.TemporaryDirectory() as calm:
        code, said = finished(start(*training(Path(calm))))
        assert code == 0, said
        return tensors(Path(calm) / "a.model")


def checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("a.model.checkpoints/*/*.checkpoint"))


def damaged_checkpoint(folder: Path, trial: int) -> bool:
    """The newest checkpoint is damaged: the one before is used, and it is said."""
    kill_when(start(*training(folder)), lambda: len(checkpoints(folder)) == 2, 0)
    newest = checkpoints(folder)[-1]
    content = bytearray(newest.read_bytes())
    content[random.Random(trial).randrange(len(content))] ^= 1
    newest.write_bytes(content)
    code, said = finished(start(*training(folder, "--resume")))
    told = f"'{newest}' is damaged; continuing from the one before" in said
    return told and code == 0 and tensors(folder / "a.model") == undisturbed()


def same_training(folder: Path, trial: int) -> bool:
    """Two trainings for one model: one goes on, the other is told so."""
    both = [start(*training(folder, "--resume")) for _ in range(2)]
    ends = sorted(finished(process) for process in both)
    lost = ends[1][0] not in (0, 2) or "Traceback" in ends[1][1]
    return ends[0][0] == 0 and not lost and tensors(folder / "a.model") == undisturbed()


JUMPING = """
import itertools, sys, time
true, jumps = time.time, itertools.cycle([0, 86_400.0, -86_400.0, 3e9, -1e9])
time.time = lambda: true() + next(jumps)
from caesura.cli import main
sys.argv[0] = "caesura"
main()
"""


def jumping_clock(folder: Path, trial: int) -> bool:
    """The clock jumps by days and decades at every look."""
    words = training(folder)[len(CAESURA) :]
    code, _ = finished(start(sys.executable, "-c", JUMPING, *words))
    return code == 0 and tensors(folder / "a.model") == undisturbed()


@contextmanager
def small_disk(folder: Path, *options: str) -> Iterator[Path]:
    """A disk of a megabyte, if we may mount one."""
    place = folder / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        raise UnavailableError("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def full_disk(folder: Path, trial: int) -> bool:
    """The disk has no room for the answer (or for checkpoints, or stdout); then it has."""
    model = folder / "a.model"
    text_filler().save(model)
    text = folder / "a.txt"
    text.write_text("a_" + "b" * 5000)  # more than is left of a page
    (folder / "text.txt").write_text(TEXT)
    with small_disk(folder) as disk:
        output = disk / ("out.txt" if trial % 3 else "a.model")
        output.write_bytes(OLD)
        fill = ("fill", "text", text, "--model", model, "-o", output)
        train = ("train", "text", folder / "text.txt", "-o", output, *settings("steps=2"))
        words = (*CAESURA, *(fill if trial % 3 else train))
        with open(disk / "rest", "wb", buffering=0) as rest:
            try:
                while rest.write(b"x" * 512):
                    pass
            except OSError:
                pass
        sound = one_sentence(start(*words)) and output.read_bytes() == OLD and not parts(disk)
        (disk / "rest").unlink()
        code, _ = finished(start(*words))
        return sound and code == 0 and output.read_bytes() != OLD


def full_stdout(folder: Path, trial: int) -> bool:
    """What stdout goes to is full."""
    tiny_filler().save(folder / "a.model")
    words = [*CAESURA, "info", str(folder / "a.model")]
    if not Path("/dev/full").exists():
        raise UnavailableError("there is no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
        )
    return (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def read_only(folder: Path, trial: int) -> bool:
    """The folder of the output may only be read: that is said, and nothing is changed."""
    model = folder / "a.model"
    text_filler().save(model)
    with small_disk(folder) as disk:
        (disk / "out.txt").write_bytes(OLD)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        words = ("fill", "text", "a_a", "--model", model, "-o", disk / "out.txt")
        said = one_sentence(start(*CAESURA, *words))
        return said and (disk / "out.txt").read_bytes() == OLD and len(os.listdir(disk)) == 1


FAULTS: dict[str, Callable[[Path, int], bool]] = {
    "the newest checkpoint is damaged": damaged_checkpoint,
    "two processes save to one path": same_output,
    "two trainings for one model": same_training,
    "the disk is full": full_disk,
    "stdout is full": full_stdout,
    "the folder is read-only": read_only,
    "the clock jumps by days and decades": jumping_clock,
}


def survives(fault: Callable[[Path, int], bool], trial: int) -> bool:
    """One trial, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return bool(fault(Path(folder), trial))


def main(trials: int, *chosen: str) -> None:
    """The table, of all faults or of those whose functions are named."""
    print("| fault | trials | lost |\n|---|---|---|")
    for name, fault in FAULTS.items():
        if chosen and fault.__name__ not in chosen:
            continue
        try:
            lost = sum(not survives(fault, trial) for trial in range(trials))
            print(f"| {name} | {trials} | {lost} |", flush=True)
        except UnavailableError as reason:
            print(f"| {name} | 0 | ({reason}) |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
