"""The two protocols by which the literature measures the chorales: chronological and orderless."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from chorale_nets import REST, VOICES, Around, Chorales, Past
from chorale_sets import Set, of_values, stretch, transpose
from jaxtyping import Array, Bool, Float, Int

from caesura.hardware import Tuning

SEEN = 256  # steps that `around` sees


def in_keys(chorales: Chorales, shifts: list[int]) -> tuple[Chorales, Bool[Array, "T kB 4"]]:
    """Return the chorales in several keys, [T, keys · B], and which pitches no key has there.

    Every key is a distribution of its own over the same chorales; a pitch that is off its range
    has no probability in it.
    """
    copies = jax.tree.map(lambda a: jnp.concatenate([a] * len(shifts), axis=1), chorales)
    moved = transpose(copies, jnp.repeat(jnp.asarray(shifts), chorales.valid.shape[1]))
    return moved, (copies.values < REST) & (moved.values == REST)


def mean_over_nets(log_probs: Float[Array, "nets *S"]) -> Float[Array, "*S"]:
    return jax.nn.logsumexp(log_probs, axis=0) - jnp.log(len(log_probs))


def chronological(
    nets: Past, chorales: Chorales, tuning: Tuning, shifts: tuple[int, ...] = (0,)
) -> Float[Array, "T B"]:
    """Return log p of every step given those before it: the mean over the orders of its voices.

    Each conditional probability is the mean over the nets, and over the keys of `shifts`.
    """
    key = jax.random.key(0)  # nothing is dropped
    moved, lost = in_keys(chorales, list(shifts))
    contexts = jax.lax.map(lambda net: net.context(moved, tuning, key, None), nets)

    def given(seen: Bool[Array, " 4"]) -> Float[Array, "T B 4"]:
        everywhere = jnp.broadcast_to(seen, moved.values.shape)

        def one(net_and_context: tuple[Past, Array]) -> Float[Array, "T kB 4"]:
            net, context = net_and_context
            log_probs = net.predict(context, moved, everywhere, tuning)
            return jnp.where(lost, -jnp.inf, of_values(log_probs, moved.values))

        of_keys = mean_over_nets(jax.lax.map(one, (nets, contexts)))
        return mean_over_nets(jnp.stack(jnp.split(of_keys, len(shifts), axis=1)))

    sets = np.array([[mask >> v & 1 for v in range(VOICES)] for mask in range(2**VOICES)], bool)
    conditional = jax.lax.map(given, jnp.asarray(sets))
    rest = [jnp.zeros(chorales.valid.shape)] * 2**VOICES  # log p of the voices not in the set
    for mask in range(2**VOICES - 2, -1, -1):
        left = [v for v in range(VOICES) if not mask >> v & 1]
        ways = jnp.stack([conditional[mask, ..., v] + rest[mask | 1 << v] for v in left])
        rest[mask] = jax.nn.logsumexp(ways, axis=0) - np.log(len(left))
    return rest[0]


def measure_chronological(
    nets: Past, chosen: Set, tuning: Tuning, shifts: tuple[int, ...] = (0,)
) -> list[np.ndarray]:
    """Return the nats of every step of every chorale."""
    batch, found = 16, []
    evaluate = jax.jit(partial(chronological, tuning=tuning, shifts=shifts))
    on_device = jax.device_put(chosen)
    for first in range(0, len(chosen.lengths), batch):
        piece = jnp.minimum(first + jnp.arange(batch), len(chosen.lengths) - 1)
        chorales = stretch(on_device, piece, jnp.zeros_like(piece), chosen.values.shape[1])
        found.append(-np.asarray(evaluate(nets, chorales), np.float64).T)
    each = np.concatenate(found)
    return [nats[:length] for nats, length in zip(each, chosen.lengths, strict=False)]


def orders_of(lengths: Int[np.ndarray, " P"], longest: int, orders: int, seed: int) -> np.ndarray:
    """Return the rank of every cell in random orders of the cells of each chorale: [P, O, T, 4]."""
    draw = np.random.default_rng(seed)
    ranks = np.full((len(lengths), orders, longest, VOICES), np.iinfo(np.int32).max, np.int32)
    for p, length in enumerate(lengths):
        for o in range(orders):
            ranks[p, o, :length] = draw.permutation(length * VOICES).reshape(length, VOICES)
    return ranks


def measure_orderless(
    nets: Around,
    chosen: Set,
    tuning: Tuning,
    orders: int,
    seed: int,
    copies: int,
    shifts: tuple[int, ...] = (0,),
) -> list[np.ndarray]:
    """Return the nats of every cell of every chorale in each of the orders: [orders, cells]."""
    ranks = orders_of(chosen.lengths, chosen.values.shape[1], orders, seed)
    of_piece = [
        np.stack([np.full(orders * n, p), *np.indices((orders, n)).reshape(2, -1)], axis=1)
        for p, n in enumerate(chosen.lengths * VOICES)
    ]
    questions = np.concatenate(of_piece).astype(np.int32)
    evaluate = jax.jit(partial(_given_earlier, tuning=tuning, shifts=shifts))
    on_device = jax.device_put((chosen, ranks))
    answers, at_once = [], max(1, copies // len(shifts))
    for first in range(0, len(questions), at_once):
        some = questions[first : first + at_once]
        full = np.concatenate([some, np.repeat(some[-1:], at_once - len(some), axis=0)])
        answers.append(evaluate(nets, *on_device, jnp.asarray(full)))
    log_probs = np.concatenate([np.asarray(a, np.float64) for a in answers])
    found = []
    for p, of_one in enumerate(np.split(log_probs, np.cumsum([len(q) for q in of_piece]))[:-1]):
        cells = ranks[p, :, : chosen.lengths[p]].reshape(orders, -1)
        found.append(-np.take_along_axis(of_one.reshape(orders, -1), cells, axis=1))
    return found


def _given_earlier(
    nets: Around,
    chosen: Set,
    ranks: Array,
    questions: Int[Array, "B 3"],
    tuning: Tuning,
    shifts: tuple[int, ...],
) -> Float[Array, " B"]:
    """Return log p of the j-th cell of an order of a chorale, given the cells before it.

    The net sees `SEEN` steps around the cell.
    """
    piece, order, j = questions.T
    rank = ranks[piece, order]
    step = jnp.argmax((rank == j[:, None, None]).any(-1), axis=1)
    last = jnp.maximum(jnp.asarray(chosen.lengths)[piece] - SEEN, 0)
    start = jnp.clip(step - SEEN // 2, 0, last)
    steps = jnp.minimum(start[:, None] + jnp.arange(SEEN), rank.shape[1] - 1)
    rank = jnp.take_along_axis(rank, steps[..., None], axis=1).transpose(1, 0, 2)
    chorales, lost = in_keys(stretch(chosen, piece, start, SEEN), list(shifts))
    rank, step = jnp.concatenate([rank] * len(shifts), axis=1), jnp.tile(step - start, len(shifts))
    j, copy = jnp.tile(j, len(shifts)), jnp.arange(len(step))
    seen = (rank < j[:, None]) & chorales.valid[..., None]
    voice = jnp.argmax(rank[step, copy] == j[:, None], axis=-1)
    value = chorales.values[step, copy, voice]

    def one(net: Around) -> Float[Array, " kB"]:
        context = net.context(chorales, seen, tuning, jax.random.key(0), None)
        there = jax.tree.map(lambda a: a[step, copy], context)
        log_probs = net.predict(there, tuning)[copy, voice, value]
        return jnp.where(lost[step, copy, voice], -jnp.inf, log_probs)

    of_keys = mean_over_nets(jax.lax.map(one, nets))
    return mean_over_nets(of_keys.reshape(len(shifts), -1))


def mean_in_probability(nats: Float[np.ndarray, "orders cells"]) -> Float[np.ndarray, " cells"]:
    """Return −log of the mean probability of each cell, as Coconet takes it."""
    return np.log(len(nats)) - np.logaddexp.reduce(-nats, axis=0)
