"""Where a training stands, on disk: each checkpoint is whole, and the last two are kept."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from caesura.errors import CaesuraError
from caesura.files import lock, make_folder, write_bytes
from caesura.training.loop import State

KEPT = 2


class Checkpoints:
    """The checkpoints of one run, in a folder of their own.

    A file is a safetensors file, with the run's identity in its header, and the sha256 of all that
    behind it. What was written by another run (other data, recipe or seed) is not gone on from.
    """

    def __init__(self, folder: Path, run: str, warn: Callable[[str], None]):
        self.folder = folder
        self.run = run
        self.warn = warn

    def begin(self, state: State) -> None:
        """Save the state before the first update: what cannot be written shall be known now."""
        make_folder(self.folder)
        self._lock = lock(self.folder)  # two that write here would take each other's checkpoints
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(state.members))
        free = shutil.disk_usage(self.folder).free
        if free < (KEPT + 1) * size:
            raise CaesuraError(
                f"There is too little room in '{self.folder}': {KEPT + 1} checkpoints take "
                f"{(KEPT + 1) * size / 1e6:.1f} MB, and {free / 1e6:.1f} MB are free."
            )
        self.save(state)

    def save(self, state: State) -> None:
        """Write the state, then let go of what is older than the one before."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state.members)]
        tensors = {f"{i:05}": leaf for i, leaf in enumerate(leaves)}
        told = {"run": self.run, "step": state.step, "history": state.history}
        told |= {"seconds": state.seconds}
        content = safetensors.numpy.save(tensors, {"caesura": json.dumps(told)})
        make_folder(self.folder)
        content += hashlib.sha256(content).digest()
        write_bytes(self.folder / f"{state.step:012}.checkpoint", content)
        for old in self._files()[:-KEPT]:
            old.unlink(missing_ok=True)

    def load(self, like: State) -> State | None:
        """The newest state that is whole; `like` has the structure that is expected."""
        for path in reversed(self._files()):
            try:
                content = path.read_bytes()
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise CaesuraError(f"Cannot read '{path}': {reason}.") from error
            content, digest = content[:-32], content[-32:]
            if hashlib.sha256(content).digest() == digest:
                return self._state(path, content, like)
            before = "the one before" if path != self._files()[0] else "the beginning"
            self.warn(f"The checkpoint '{path}' is damaged; going on from {before}.")
        return None

    def exist(self) -> bool:
        """Whether an earlier run left any."""
        return bool(self._files())

    def clear(self) -> None:
        """Remove them: the training is done."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.checkpoint"))

    def _state(self, path: Path, content: bytes, like: State) -> State:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        told: dict[str, Any] = json.loads(header["__metadata__"]["caesura"])
        if told["run"] != self.run:
            raise CaesuraError(
                f"The checkpoint '{path}' is of another run: its data, recipe, seed or versions "
                "differ; remove its folder to begin anew."
            )
        tensors = safetensors.numpy.load(content)
        members = jax.tree.unflatten(
            jax.tree.structure(like.members),
            [jnp.asarray(tensors[name]) for name in sorted(tensors)],
        )
        return State(members, told["step"], told["history"], told["seconds"])
