"""Gradient descent on random crops of sequences; it knows nothing of kinds or files."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from caesura.nets.rnn import Net
from caesura.training.missingness import Missingness
from caesura.training.objectives import nll


class Schedule(NamedTuple):
    """How long and how fast to learn."""

    steps: int
    batch: int = 32
    length: int = 128  # of a crop
    learning_rate: float = 3e-3
    clip: float = 1.0


class Corpus(eqx.Module):
    """All sequences end to end, on the device."""

    values: Shaped[Array, "N D"]
    starts: Int[Array, " pieces"]
    lengths: Int[Array, " pieces"]

    def __init__(self, pieces: Sequence[Shaped[np.ndarray, "_ D"]]):
        lengths = np.array([len(piece) for piece in pieces])
        self.values = jnp.asarray(np.concatenate(pieces))
        self.starts = jnp.asarray(np.cumsum(lengths) - lengths)
        self.lengths = jnp.asarray(lengths)

    def crop(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Shaped[Array, "T D"], Bool[Array, " T"]]:
        """A random stretch, every step of the corpus about as likely; short pieces are padded."""
        key_piece, key_start = jax.random.split(key)
        piece = jax.random.categorical(key_piece, jnp.log(self.lengths))
        room = jnp.maximum(self.lengths[piece] - length, 0)
        offset = jax.random.randint(key_start, (), 0, room + 1) + jnp.arange(length)
        return self.values[self.starts[piece] + offset], offset < self.lengths[piece]


def fit(
    key: PRNGKeyArray,
    net: Net,
    pieces: Sequence[Shaped[np.ndarray, "_ D"]],
    missingness: Missingness,
    schedule: Schedule,
    report: Callable[[int, float], None] = lambda step, loss: None,
    report_every: int = 50,
) -> Net:
    """The net after `schedule.steps` updates by Adam, their size falling along a cosine to 0."""
    corpus = Corpus(pieces)
    state = _optimiser(schedule).init(eqx.filter(net, eqx.is_inexact_array))
    for first in range(0, schedule.steps, report_every):
        last = min(first + report_every, schedule.steps)
        net, state, loss = _updates(
            key, net, state, corpus, missingness, schedule, jnp.int32(first), jnp.int32(last)
        )
        report(last, float(loss))
    return net


# DEVIATION: Adam with a cosine; the paper has plain SGD on gradients of length one.
def _optimiser(schedule: Schedule) -> optax.GradientTransformation:
    return optax.chain(
        optax.clip_by_global_norm(schedule.clip),
        optax.adam(optax.cosine_decay_schedule(schedule.learning_rate, schedule.steps)),
    )


@eqx.filter_jit
def _updates(
    key: PRNGKeyArray,
    net: Net,
    state: optax.OptState,
    corpus: Corpus,
    missingness: Missingness,
    schedule: Schedule,
    first: Int[Array, ""],
    last: Int[Array, ""],
) -> tuple[Net, optax.OptState, Float[Array, ""]]:
    """Updates `first` to `last` in one call, so that the device never waits for Python."""
    weights, rest = eqx.partition(net, eqx.is_inexact_array)

    def loss(weights: Net, key: PRNGKeyArray) -> Float[Array, ""]:
        def example(key: PRNGKeyArray) -> tuple[Array, Array, Array]:
            key_crop, key_missing = jax.random.split(key)
            values, valid = corpus.crop(key_crop, schedule.length)
            hidden = missingness(key_missing, schedule.length)
            return values, jnp.broadcast_to(hidden[:, None], values.shape), valid

        batch = jax.vmap(example)(jax.random.split(key, schedule.batch))
        return nll(eqx.combine(weights, rest), *batch)

    def update(step: Array, carry: tuple[Net, optax.OptState, Array]) -> tuple[Any, Any, Array]:
        weights, state, total = carry
        value, gradient = jax.value_and_grad(loss)(weights, jax.random.fold_in(key, step))
        change, state = _optimiser(schedule).update(gradient, state, weights)
        return optax.apply_updates(weights, change), state, total + value

    weights, state, total = jax.lax.fori_loop(first, last, update, (weights, state, jnp.zeros(())))
    return eqx.combine(weights, rest), state, total / (last - first)
