"""Checkpoints: the state of a training on disk; the last two are kept, or as many as asked for."""

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from caesura.errors import CaesuraError
from caesura.files import cannot_read, lock, make_folder, write_bytes
from caesura.training.loop import State

KEPT = 2


class Reached(NamedTuple):
    """How far a training has come, and the seconds that it took."""

    step: int
    seconds: float


def reached(directory: Path) -> Reached | None:
    """Return how far the newest checkpoint in a directory has come, if there is one."""
    files = _files(directory)
    if not files:
        return None
    try:
        with open(files[-1], "rb") as file:
            saved = _read_header(file)
        return Reached(saved["step"], saved["seconds"])
    except (OSError, ValueError, KeyError):  # `load` reports a damaged file
        return None


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.checkpoint"))


def _read_header(file: io.BufferedIOBase) -> dict[str, Any]:
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    saved: dict[str, Any] = json.loads(header["__metadata__"]["caesura"])
    return saved


class Checkpoints:
    """The checkpoints of one run, in a directory of their own.

    A checkpoint is a safetensors file with the run's identity in its header, followed by its
    sha256. One that another run wrote (with other data, recipe or seed) is refused.
    """

    def __init__(self, directory: Path, run: str, warn: Callable[[str], None], *, kept: int = KEPT):
        self.directory = directory
        self.run = run
        self.warn = warn
        self.kept = kept

    def begin(self, state: State) -> None:
        """Save the first state, so that a directory without write access is noticed at once."""
        make_folder(self.directory)
        self._lock = lock(self.directory)  # two runs would remove each other's checkpoints
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(state.members))
        free = shutil.disk_usage(self.directory).free
        if free < (self.kept + 1) * size:
            raise CaesuraError(
                f"There is too little space in '{self.directory}': {self.kept + 1} checkpoints "
                f"take {(self.kept + 1) * size / 1e6:.1f} MB, and {free / 1e6:.1f} MB are free."
            )
        self.save(state)

    def save(self, state: State) -> None:
        """Write the state, then remove all but the last checkpoints."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state.members)]
        tensors = {f"{i:05}": leaf for i, leaf in enumerate(leaves)}
        header = {"run": self.run, "step": state.step, "history": state.history}
        header |= {"seconds": state.seconds}
        content = safetensors.numpy.save(tensors, {"caesura": json.dumps(header)})
        make_folder(self.directory)
        content += hashlib.sha256(content).digest()
        write_bytes(self.directory / f"{state.step:012}.checkpoint", content)
        for old in _files(self.directory)[: -self.kept]:
            old.unlink(missing_ok=True)

    def load(self, like: State) -> State | None:
        """Return the newest undamaged state, if any; `like` has the expected structure."""
        for path in reversed(_files(self.directory)):
            try:
                content = path.read_bytes()
            except OSError as error:
                raise cannot_read(path, error) from error
            content, digest = content[:-32], content[-32:]
            if hashlib.sha256(content).digest() == digest:
                return self._state(path, content, like)
            before = "the one before" if path != _files(self.directory)[0] else "the beginning"
            self.warn(f"The checkpoint '{path}' is damaged; continuing from {before}.")
        return None

    def exist(self) -> bool:
        """Return whether there are any."""
        return bool(_files(self.directory))

    def _state(self, path: Path, content: bytes, like: State) -> State:
        saved = _read_header(io.BytesIO(content))
        if saved["run"] != self.run:
            raise CaesuraError(
                f"The checkpoint '{path}' belongs to another run: its data, recipe, seed or "
                "versions differ; remove its directory to start again."
            )
        tensors = safetensors.numpy.load(content)
        members = jax.tree.unflatten(
            jax.tree.structure(like.members),
            [jnp.asarray(tensors[name]) for name in sorted(tensors)],
        )
        return State(members, saved["step"], saved["history"], saved["seconds"])
