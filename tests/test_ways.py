"""Training on several devices of a CPU, each of which runs one direction of the cells."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

# A real process, since the number of devices is fixed once JAX has run.
PROGRAM = """
import sys, jax
jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
jax.config.update("jax_disable_most_optimizations", True)
import numpy as np
import caesura
from caesura.training.loop import Program
from caesura.training.recipe import choose

draw = np.random.default_rng(0)
texts = ["".join(draw.choice(list("abcde "), draw.integers(15, 60))) for _ in range(12)]
filler = caesura.train(
    texts, kind="text", recipe="nade", hidden=6, head_hidden=0, layers=2, cell="lstm", batch=8,
    length=30, steps=4, validate_every=2, learning_rate=[0.1, 0.05], dropout=0.0,
)
net = filler.nets["bidirectional"]
recipe = choose("nade", "text", ("alphabet",), {"batch": 8}).recipe
assert bool(Program(net, recipe).tuning.ways) == (int(sys.argv[1]) > 1)
nll = [h["nll"] for h in filler.training["nets"]["bidirectional"]["history"]]
np.savez(sys.argv[2], *jax.tree.leaves(net), nll=np.array(nll))
"""


def trained_on(devices, folder):
    words = [sys.executable, "-c", PROGRAM, str(devices), str(folder / f"{devices}.npz")]
    subprocess.run(words, check=True, cwd=Path(__file__).parent)
    return np.load(folder / f"{devices}.npz")


@pytest.mark.parametrize("devices", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_devices_with_one_direction_each_learn_what_one_device_learns(devices, tmp_path):
    alone, together = trained_on(1, tmp_path), trained_on(devices, tmp_path)
    for name in alone.files:
        np.testing.assert_allclose(together[name], alone[name], atol=2e-5)
