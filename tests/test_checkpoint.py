"""A run that is killed, and killed again, ends with the bits of one that was left alone."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.training.checkpoint import Checkpoints, reached
from caesura.training.loop import Member, State, Total

# A real process on two devices, as the command line has it; it prints the sha256 of the weights.
PROGRAM = """
import hashlib, os, sys, jax
jax.config.update("jax_num_cpu_devices", 2)
import numpy as np
import caesura
draw = np.random.default_rng(0)
texts = ["".join(draw.choice(list("abcde "), 200)) for _ in range(8)]
filler = caesura.train(
    texts, kind="text", recipe="nade,rnn", hidden=24, steps=60, batch=4, length=30, seed=3,
    validate_every=7, dropout=0.2, checkpoints=sys.argv[1], resume=True,
    warn=lambda sentence: print(sentence, file=sys.stderr),
)
digest = hashlib.sha256()
for leaf in jax.tree.leaves(filler.nets):
    digest.update(np.asarray(leaf).tobytes())
records = filler.training["nets"]
print(digest.hexdigest(), [(r["history"], r["best_step"]) for r in records.values()])
"""


def start(folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def newest(folder: Path) -> set[Path]:
    return set(folder.rglob("*.checkpoint"))


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_weights(tmp_path):
    undisturbed, _ = start(tmp_path / "calm").communicate(timeout=300)
    folder = tmp_path / "killed"
    draw = np.random.default_rng(time.time_ns())
    kills, seen = 0, set()
    while kills < 8:
        process = start(folder)
        # Wait for it to get further than the last time, then a moment more.
        while process.poll() is None and newest(folder) <= seen:
            time.sleep(0.005)
        time.sleep(draw.exponential(0.05))
        seen |= newest(folder)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        kills += 1
    last = start(folder)
    out, err = last.communicate(timeout=300)
    assert last.returncode == 0, err
    assert kills >= 3
    assert out == undisturbed


def state(step: int, size: int = 3) -> State:
    weights = {"w": jnp.arange(size, dtype=jnp.float32)[None] + step}
    total = Total(jnp.zeros(1), jnp.zeros(1, jnp.int32))
    best = (weights, jnp.zeros(1), jnp.zeros(1, jnp.int32))
    member = Member(weights, {"count": jnp.ones(1, jnp.int32)}, total, *best)
    return State(member, step, [{"step": step, "nll": [float("inf")]}], 1.5)


def make(folder: Path, run: str = "run") -> tuple[Checkpoints, list[str]]:
    told: list[str] = []
    return Checkpoints(folder, run, told.append), told


def test_what_is_saved_is_loaded_and_two_are_kept(tmp_path):
    saved, told = make(tmp_path)
    assert not saved.exist()
    assert saved.load(state(0)) is None
    for step in (0, 5, 9):
        saved.save(state(step))
    assert len(list(tmp_path.iterdir())) == 2
    found = saved.load(state(0))
    assert (found.step, found.history, found.seconds) == (9, state(9).history, 1.5)
    for a, b in zip(jax.tree.leaves(found.members), jax.tree.leaves(state(9).members), strict=True):
        assert np.array_equal(a, b)
        assert a.dtype == b.dtype
    assert told == []
    assert saved.exist()


def test_one_is_kept_if_asked_for_and_says_how_far_it_came(tmp_path):
    saved = Checkpoints(tmp_path, "run", print, kept=1)
    assert reached(tmp_path) is None
    for step in (5, 9):
        saved.save(state(step))
    (path,) = tmp_path.iterdir()
    assert reached(tmp_path) == (9, 1.5)
    path.write_bytes(path.read_bytes()[:20])
    assert reached(tmp_path) is None


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_checkpoint_is_passed_over_and_said_to_be(tmp_path, damage):
    saved, told = make(tmp_path)
    saved.save(state(1))
    saved.save(state(2))
    path = sorted(tmp_path.iterdir())[-1]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes({"cut": content[:-7], "flip": content, "empty": b""}[damage])
    assert saved.load(state(0)).step == 1
    assert len(told) == 1
    assert "is damaged" in told[0]


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    make(tmp_path, "one")[0].save(state(1))
    with pytest.raises(CaesuraError, match="belongs to another run"):
        make(tmp_path, "two")[0].load(state(0))


def test_a_full_disk_is_one_sentence_and_the_last_checkpoint_stays(tmp_path, monkeypatch):
    saved, _ = make(tmp_path)
    saved.save(state(1))

    def full(self: Path, content: bytes) -> None:
        with open(self, "wb") as file:
            file.write(content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(CaesuraError, match=r"Cannot write .* no space left on device"):
        saved.save(state(2))
    monkeypatch.undo()
    assert saved.load(state(0)).step == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_too_little_room_is_said_before_training(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(CaesuraError, match="too little space"):
        make(tmp_path)[0].begin(state(0, size=30))


def test_a_folder_that_cannot_be_made_is_said_before_training(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CaesuraError, match="Cannot make the directory"):
        caesura.train(
            ["abc" * 20] * 6, kind="text", hidden=4, steps=1, checkpoints=tmp_path / "file" / "here"
        )
