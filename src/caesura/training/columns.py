"""Training of nets for single columns of tables: what is hidden, and what is minimised."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from caesura.hardware import Tuning
from caesura.kinds.series.experts import Prior, consult, learn_prior, standardise
from caesura.nets.arrays import Numbers
from caesura.nets.columns import distributions
from caesura.nets.rnn import Net

FARTHEST = 30.0  # deviations from the base: what is farther is not learnt
SHORTEST = 12.0  # rows
LONGEST_PATCH = 64.0
PRIOR_ROWS = 16  # fewer rows beyond the end of a table say too little


class Lanes(NamedTuple):
    """Columns of tables, side by side."""

    frames: Float[Numbers, "T B D"]  # residuals of the base, and what informs about them
    hidden: Bool[Numbers, "T B"]
    valid: Bool[Numbers, "T B"]
    targets: Bool[Numbers, "T B"]


def prepare(
    key: PRNGKeyArray, tables: Float[Array, "n T C"], known: Bool[Array, "n T C"] | None = None
) -> Lanes:
    """Hide parts of the tables, and ask the experts about the rest.

    What is not `known` is missing in the data itself, and never a target.
    """
    count, rows, columns = tables.shape
    known = jnp.ones(tables.shape, bool) if known is None else known
    tables, known, hidden, valid = jax.vmap(_hide)(jax.random.split(key, count), tables, known)
    observed = ~hidden & valid & known
    with jax.default_matmul_precision("highest"):
        prior = _prior(key, tables, known, valid)
        table = standardise(jnp.where(valid & known, tables, 0.0), observed, prior)
        experts = consult(table.x, observed, valid[..., :1])
    constant = table.scale == 0
    truth = (tables - table.location) / jnp.where(constant, 1, table.scale)
    residual = truth - experts.base
    targets = hidden & valid & known & ~constant & (jnp.abs(residual) < FARTHEST)
    frames = jnp.concatenate([residual[..., None], experts.informing], axis=-1)

    def lanes(a: Array) -> Array:
        return jnp.moveaxis(a, 1, 0).reshape(rows, count * columns, *a.shape[3:])

    return Lanes(
        jnp.clip(jnp.nan_to_num(lanes(frames)), -FARTHEST, FARTHEST),
        lanes((hidden | ~known) & valid),
        lanes(jnp.broadcast_to(valid[..., :1], tables.shape)),
        lanes(targets),
    )


def objective(net: Net, lanes: Lanes, tuning: Tuning, key: PRNGKeyArray) -> Float[Array, ""]:
    """Return the mean of −log p of what is hidden."""
    found = distributions(net, lanes.frames, lanes.valid, *unseen(key, lanes), tuning)
    nats = jnp.where(lanes.targets, found.log_density(lanes.frames[..., 0]), 0.0)
    return -jnp.sum(nats) / jnp.maximum(jnp.sum(lanes.targets), 1)


def unseen(key: PRNGKeyArray, lanes: Lanes) -> tuple[Bool[Array, "T B"], Bool[Array, "T B"]]:
    """Return what the cells that read forwards do not see, and those that read backwards.

    A third of the columns is filled from left to right: the cells that read forwards see what is
    hidden, and those that read backwards do not. A third is filled from right to left, and a third
    at once.
    """
    way = jax.random.randint(key, lanes.hidden.shape[1:], 0, 3)
    return lanes.hidden & (way != 1), lanes.hidden & (way != 2)


def _prior(
    key: PRNGKeyArray,
    tables: Float[Array, "n T C"],
    known: Bool[Array, "n T C"],
    valid: Bool[Array, "n T C"],
) -> Prior:
    """Return, for half of the short tables, what the rows beyond their end show."""
    beyond = ~valid & known & jnp.any(valid, axis=1, keepdims=True)
    given = jax.random.bernoulli(jax.random.fold_in(key, 3), 0.5, (len(tables), 1, 1))
    found = learn_prior(jnp.where(beyond, tables, 0.0), beyond)
    return Prior(*(jnp.where(given & (found.rows > PRIOR_ROWS), part, 0.0) for part in found))


def _hide(
    key: PRNGKeyArray, table: Float[Array, "T C"], known: Bool[Array, "T C"]
) -> tuple[Array, Array, Array, Array]:
    """Return the table, turned around at random, what is hidden, and what is no padding."""
    rows, columns = table.shape
    ks = jax.random.split(key, 15)
    forwards = jax.random.bernoulli(ks[0])
    table, known = jnp.where(forwards, table, table[::-1]), jnp.where(forwards, known, known[::-1])
    table = table * jax.random.choice(ks[1], jnp.array([-1.0, 1.0]), (columns,))
    # Padding stands at the end.
    length = _log_uniform(ks[2], SHORTEST, rows)
    length = jnp.where(jax.random.bernoulli(ks[3], 0.4), length, rows)
    present = jax.random.randint(ks[4], (), 1, columns + 1)
    present = jnp.where(jax.random.bernoulli(ks[5], 0.5), columns, present)
    at = jnp.arange(rows)[:, None]
    valid = (at < length) & (jnp.arange(columns) < present)
    ratio = jax.random.uniform(ks[6], (), minval=0.03, maxval=0.6)
    each = jnp.clip(ratio * jax.random.uniform(ks[7], (columns,), minval=0.3, maxval=1.4), 0, 0.85)
    points = jax.random.uniform(ks[8], (rows, columns)) < each
    size = _log_uniform(ks[9], 2.0, LONGEST_PATCH)
    patch = ((at + jax.random.uniform(ks[10], (1, columns)) * size) / size).astype(int)
    chance = jax.random.uniform(ks[11], (rows + 1, columns))
    patches = jnp.take_along_axis(chance, patch, axis=0) < each
    whole_rows = (chance[patch[:, :1], 0] < ratio) | jnp.zeros_like(points)
    start = jax.random.uniform(ks[12], (columns,)) * (1 - each) * length
    stretch = (at >= start) & (at < start + 0.6 * each * length)
    few = jax.random.uniform(ks[13], (rows, columns)) < 0.4 * each
    mixed = (patches & (chance[:rows] < 0.6)) | few
    shapes = jnp.stack([points, patches, patches, mixed, whole_rows, stretch])
    hidden = shapes[jax.random.randint(ks[14], (), 0, len(shapes))]
    return table, known, hidden & valid, valid


def _log_uniform(key: PRNGKeyArray, least: float, most: float) -> Float[Array, ""]:
    return jnp.exp(jax.random.uniform(key, (), minval=jnp.log(least), maxval=jnp.log(most)))
