"""Trains the model `series` on synthetic tables alone.

    python benchmarks/pretrain_series.py OUT --minutes 8

It makes the tables of `synthetic_tables.py`, hides parts of them in many ways, asks the experts of
`caesura.kinds.series.experts` about the rest, and trains a net to weigh what they say.
"""

import argparse
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from synthetic_tables import make_table

from caesura.filler.tables import TableFiller
from caesura.hardware import Tuning, tuning_for
from caesura.kinds import Series
from caesura.kinds.series.columns import Column
from caesura.kinds.series.experts import NAMES, between
from caesura.modelfile import read_model
from caesura.nets.columns import distributions
from caesura.nets.eager import with_jax
from caesura.nets.frames import Continuous
from caesura.nets.rnn import Net, bidirectional
from caesura.training.columns import objective, prepare

ROWS, COLUMNS = 512, 8
CHECKED = 0.02  # the share of the tables that only validate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="the model file")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--tables", type=int, default=65536)
    parser.add_argument("--batch", type=int, default=128, help="tables")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--steps", type=int, help="instead of --minutes")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--start", type=Path, help="a model file to go on from")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first table")
    given = parser.parse_args()
    began = time.monotonic()
    tables = make_tables(given.first, given.tables, given.rows)
    print(f"{len(tables)} tables in {time.monotonic() - began:.0f} s", flush=True)
    checked = max(given.batch, int(CHECKED * len(tables)))
    check, tables = jnp.asarray(tables[:checked]), jnp.asarray(tables[checked:])
    net = make_net(given.hidden)
    if given.start:
        net = with_jax(read_model(given.start).nets["bidirectional"])
    tuning = tuning_for("float32")
    print(sum(a.size for a in jax.tree.leaves(net)), "weights", flush=True)
    steps = given.steps or paced(net, tables, tuning, given)
    schedule = optax.warmup_cosine_decay_schedule(0.0, given.rate, steps // 50 + 1, steps)
    optimiser = optax.apply_if_finite(
        optax.chain(
            optax.clip_by_global_norm(1.0), optax.adamw(schedule, b2=0.99, weight_decay=0.01)
        ),
        2**30,
    )
    state = optimiser.init(net)
    history, report = [], max(1, steps // 12)
    for step in range(steps):
        net, state, loss = update(
            optimiser, tuning, given.batch, net, state, tables, jnp.int32(step)
        )
        if (step + 1) % report == 0 or step + 1 == steps:
            found = validate(tuning, net, check, given.batch)
            took = time.monotonic() - began
            print(f"{step + 1} of {steps}, {took:.0f} s: loss {loss:.4f}, {found}", flush=True)
            history.append({"step": step + 1, "loss": [float(loss)], "nll": [found.nll]})
            save(given.out, net, history, took, given.tables)


def save(path: Path, net: Net, history: list[dict[str, Any]], seconds: float, tables: int) -> None:
    """Write the model file: a net for a residual and what informs about it."""
    columns = [Column("residual", 0)]
    columns += [Column(name, place, fills=False) for place, name in enumerate(NAMES, 1)]
    record = {
        "recipe": "benchmarks/pretrain_series.py",
        "validation_nll": history[-1]["nll"][0],
        "best_step": history[-1]["step"],
        "seconds": seconds,
        "history": history,
    }
    training = {
        "seed": 0,
        "data": {
            "pieces": int((1 - CHECKED) * tables),
            "steps": int((1 - CHECKED) * tables) * ROWS,
            "valid_pieces": int(CHECKED * tables),
            "valid_steps": int(CHECKED * tables) * ROWS,
            "fingerprint": "synthetic: benchmarks/synthetic_tables.py",
        },
        "nets": {"bidirectional": record},
        "versions": {
            "jax": jax.__version__,
            "numpy": np.__version__,
            "platform": f"{jax.default_backend()}, {platform.machine()}",
            "python": platform.python_version(),
        },
    }
    kind = Series(tuple(columns), len(columns))
    TableFiller(kind, {"bidirectional": net}, "bothways", training).save(path, dtype="float16")


def make_tables(first: int, count: int, rows: int) -> np.ndarray:
    make = partial(make_table, rows=rows, columns=COLUMNS)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return np.stack(list(pool.map(make, range(first, first + count), chunksize=64))).astype(
            np.float16
        )


def make_net(hidden: int) -> Net:
    return bidirectional(
        jax.random.key(0),
        Continuous(1 + len(NAMES), len(NAMES)),
        head="weighing",
        hidden=hidden,
        cell="gru",
        layers=2,
        head_hidden=hidden,
    )


def paced(net: Net, tables: jax.Array, tuning: Tuning, given: argparse.Namespace) -> int:
    """Return how many updates fit into the time."""
    optimiser = optax.adam(1e-4)
    state = optimiser.init(net)
    run = partial(update, optimiser, tuning, given.batch)
    jax.block_until_ready(run(net, state, tables, jnp.int32(0)))
    jax.block_until_ready(validate(tuning, net, tables[:1024], given.batch))
    began = time.monotonic()
    for step in range(10):
        net, state, loss = run(net, state, tables, jnp.int32(step))
    jax.block_until_ready(loss)
    each = (time.monotonic() - began) / 10
    print(f"{1000 * each:.1f} ms an update", flush=True)
    return int(given.minutes * 60 / each)


@eqx.filter_jit
def update(optimiser, tuning, batch, net, state, tables, step):
    key = jax.random.fold_in(jax.random.key(1), step)
    key_tables, key_hide, key_noise = jax.random.split(key, 3)
    chosen = jax.random.randint(key_tables, (batch,), 0, len(tables))
    lanes = prepare(key_hide, tables[chosen].astype(jnp.float32))
    loss, gradient = eqx.filter_value_and_grad(objective)(net, lanes, tuning, key_noise)
    change, state = optimiser.update(gradient, state, net)
    net = eqx.apply_updates(net, change)
    return net, state, loss


class Found(NamedTuple):
    """What validation found: nats a hidden number, and mean absolute errors by method."""

    nll: float
    errors: dict[str, float]

    def __str__(self) -> str:
        beside = ", ".join(f"{name} {error:.4f}" for name, error in self.errors.items())
        return f"validation {self.nll:.4f}; errors: {beside}"


def validate(tuning: Tuning, net: Net, tables: jax.Array, batch: int) -> Found:
    """Return nats a hidden number, and mean absolute errors beside those of the experts."""
    totals = np.zeros(6)
    for first in range(0, len(tables) - batch + 1, batch):
        some = tables[first : first + batch].astype(jnp.float32)
        totals += np.asarray(_validate(tuning, net, some, jnp.int32(first)))
    nats, *errors = totals[:-1] / totals[-1]
    names = ("net", "line", "ridge", "steady ridge")
    return Found(float(nats), dict(zip(names, map(float, errors), strict=True)))


@eqx.filter_jit
def _validate(tuning, net, tables, number):
    lanes = prepare(jax.random.fold_in(jax.random.key(2), number), tables)
    found = distributions(net, lanes.frames, lanes.valid, lanes.hidden, lanes.hidden, tuning)
    truth, offsets = lanes.frames[..., 0], lanes.frames[..., 1:4]
    observed = ~lanes.hidden & lanes.valid
    known = jnp.where(observed, truth, 0.0)
    steady = offsets[..., 0]
    guesses = (
        jnp.sum(jnp.exp(found.log_weights) * found.means, axis=-1),
        offsets[..., 1],
        between(known, observed),
        steady + between(jnp.where(observed, truth - steady, 0.0), observed),
    )
    rows = [-found.log_density(truth), *(jnp.abs(guess - truth) for guess in guesses)]
    sums = [jnp.sum(jnp.where(lanes.targets, row, 0.0)) for row in rows]
    return jnp.stack([*sums, jnp.sum(lanes.targets)])


if __name__ == "__main__":
    main()
