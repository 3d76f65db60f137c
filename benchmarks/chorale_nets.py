"""Two nets for chorales of four voices: one reads the past, the other whatever is known.

A chorale is an array of indices [steps, voices]: a pitch, or `REST`. Both nets give, for every
voice of a step that is not known, the distribution of its index. `Past` knows all steps before and
some voices of the step itself; `Around` knows any cells of the chorale, before and after.

Arrays have the shape [T, B, ...]: steps, chorales.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from caesura.hardware import Tuning
from caesura.nets.batch import run_layer
from caesura.nets.cells import LSTM
from caesura.nets.initial import glorot

VOICES = 4
LOWEST = 36  # MIDI number of the lowest pitch
PITCHES = 46  # up to 81
REST = PITCHES
VALUES = PITCHES + 1
BAR, TRIPLE = 16, 12  # sixteenths in a bar of four beats, and of three
FAR = 16  # distances from here on are alike
AGES = 16
DISTANCES = 10  # buckets of distances between steps, each about 1.5 times as wide
ECHOES = 3  # the kinds of echoes: see `chorale_echoes`
ECHO_LENGTHS = 10  # buckets of the length of an echo, each about 1.5 times as wide
INTERVALS = 12  # the largest melodic interval that a net tells from larger ones


class Chorales(NamedTuple):
    """A batch of chorales, or of stretches of them; padding is at the end."""

    values: Int[Array, "T B 4"]
    place: Int[Array, "T B"]  # the step within the chorale
    left: Int[Array, "T B"]  # how many steps come after it in the chorale
    valid: Bool[Array, "T B"]
    echoes: Int[Array, "T B E 4"]  # what followed where steps as those before were heard
    echo_lengths: Int[Array, "T B E"]  # how many steps they have in common; 0 if there is no echo


class Mlp(eqx.Module):
    """The head: two hidden layers, then a logit for every value of every voice.

    A logit is the sum of one for the pitch itself and one for its interval from each of the
    `anchors`, pitches of the same voice that are known: so the net need not learn each melodic
    step anew in each key. Values that are `proposed` have one more, each its own.
    """

    W: Float[Array, "H C"]
    b: Float[Array, " H"]
    W_2: Float[Array, "H H"]
    b_2: Float[Array, " H"]
    V: Float[Array, "N H"]
    c: Float[Array, " N"]
    anchors: int = eqx.field(static=True)
    proposed: int = eqx.field(static=True)

    def __init__(
        self, key: PRNGKeyArray, inputs: int, hidden: int, anchors: int, proposed: int = 0
    ):
        keys = jax.random.split(key, 3)
        outputs = VOICES * (VALUES + anchors * (2 * PITCHES - 1) + proposed)
        self.W = glorot(keys[0], hidden, inputs)
        self.b = jnp.zeros(hidden)
        self.W_2 = glorot(keys[1], hidden, hidden)
        self.b_2 = jnp.zeros(hidden)
        self.V = glorot(keys[2], outputs, hidden)
        self.c = jnp.zeros(outputs)
        self.anchors = anchors
        self.proposed = proposed

    def __call__(
        self,
        a: Float[Array, "*S H"],
        anchors: list[Int[Array, "*S 4"]],
        proposed: list[Int[Array, "*S 4"]],
        tuning: Tuning,
        keep: Float[Array, "*K H"],
    ) -> Float[Array, "*S 4 values"]:
        """Return log-probabilities from the pre-activations of the first layer."""
        z = jax.nn.gelu(a)
        z = z + jax.nn.gelu(times(self.W_2, z * keep, tuning) + self.b_2)
        out = times(self.V, z * keep, tuning) + self.c
        out = out.reshape(*a.shape[:-1], VOICES, -1)
        logits, out = out[..., :VALUES], out[..., VALUES:]
        for anchor in anchors:
            by_interval, out = out[..., : 2 * PITCHES - 1], out[..., 2 * PITCHES - 1 :]
            interval = jnp.arange(PITCHES) - anchor[..., None] + PITCHES - 1
            interval = jnp.clip(interval, 0, 2 * PITCHES - 2)
            more = jnp.take_along_axis(by_interval, interval, axis=-1)
            more = jnp.where(anchor[..., None] < PITCHES, more, 0.0)
            logits = logits.at[..., :PITCHES].add(more)
        for i, values in enumerate(proposed):
            logits += jax.nn.one_hot(values, VALUES) * out[..., i, None]
        return jax.nn.log_softmax(logits)


class Dropout(NamedTuple):
    """The shares that are dropped."""

    states: Float[Array, ""]
    weights: Float[Array, ""]  # of the recurrent ones
    inputs: Float[Array, ""]


class Past(eqx.Module):
    """Reads the past; the voices of a step follow each other in any order."""

    cells: tuple[LSTM, ...]
    W_seen: Float[Array, "H V"]
    head: Mlp

    def __init__(self, key: PRNGKeyArray, hidden: int, layers: int, head_hidden: int):
        key_seen, key_head, *keys = jax.random.split(key, 2 + layers)
        self.cells = tuple(
            cell(k, _read_size() if i == 0 else hidden, hidden) for i, k in enumerate(keys)
        )
        self.W_seen = glorot(key_seen, head_hidden, VOICES * (VALUES + 1 + 2 * ECHOES))
        self.head = Mlp(key_head, hidden + _known_size(), head_hidden, 1, proposed=ECHOES)

    def context(
        self, chorales: Chorales, tuning: Tuning, key: PRNGKeyArray, dropout: Dropout | None
    ) -> Float[Array, "T B H"]:
        """Return what the past of every step adds to the first layer of the head."""
        keys = jax.random.split(key, len(self.cells) + 1)
        ages = _ages(chorales.values)
        x = jnp.concatenate([_frame(chorales, ages), _position(chorales)], axis=-1)
        for i, (key_layer, one) in enumerate(zip(keys[1:], self.cells, strict=True)):
            x = (_drop if i else _shown)(key_layer, x, dropout)
            h = run([one], x, chorales.valid, tuning, key_layer, dropout)[:, 0]
            x = h + x if x.shape == h.shape else h
        before = jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]])
        known = _shown(keys[0], _known(chorales, ages), dropout).astype(before.dtype)
        joined = jnp.concatenate([_drop(keys[0], before, dropout), known], axis=-1)
        return times(self.head.W, joined, tuning) + self.head.b

    def predict(
        self,
        context: Float[Array, "T B H"],
        chorales: Chorales,
        seen: Bool[Array, "T B 4"],
        tuning: Tuning,
        keep: Float[Array, "*K H"] = 1.0,
    ) -> Float[Array, "T B 4 values"]:
        """Return log p of every value of every voice, given the past and the voices `seen`."""
        given = _flat(_hot(chorales.values, VALUES) * seen[..., None])
        heard = chorales.echo_lengths[..., None] > 0
        right = chorales.echoes == chorales.values[:, :, None]
        checked = [_flat(heard & seen[:, :, None] & agrees) for agrees in (right, ~right)]
        flat = jnp.concatenate([given, seen, *checked], axis=-1)
        a = context + times(self.W_seen, flat, tuning)
        proposed = list(jnp.moveaxis(jnp.where(heard, chorales.echoes, -1), 2, 0))
        return self.head(a, [_previous(chorales.values)], proposed, tuning, keep)


class Surroundings(NamedTuple):
    """What `Around` knows of a step: the states, and the nearest values of each voice."""

    joined: Float[Array, "*S C"]
    before: Int[Array, "*S 4"]
    after: Int[Array, "*S 4"]


class Around(eqx.Module):
    """Reads both ways whatever is known, several times over."""

    layers: tuple[tuple[LSTM, LSTM], ...]
    head: Mlp

    def __init__(self, key: PRNGKeyArray, hidden: int, layers: int, head_hidden: int):
        key_head, *keys = jax.random.split(key, 1 + layers)
        sizes = [_around_size()] + [2 * hidden] * (layers - 1)
        self.layers = tuple(
            tuple(cell(k, size, hidden) for k in jax.random.split(key, 2))
            for key, size in zip(keys, sizes, strict=True)
        )
        self.head = Mlp(key_head, 2 * hidden + _around_size(), head_hidden, anchors=2)

    def context(
        self,
        chorales: Chorales,
        seen: Bool[Array, "T B 4"],
        tuning: Tuning,
        key: PRNGKeyArray,
        dropout: Dropout | None,
    ) -> Surroundings:
        """Return what the net makes of all cells that are `seen`, at every step."""
        keys = jax.random.split(key, len(self.layers) + 1)
        before, after = _nearest(chorales.values, seen), _nearest(chorales.values, seen, back=True)
        known = _surroundings(chorales, seen, before, after).astype(tuning.dtype)
        x = known
        for i, (key_layer, cells) in enumerate(zip(keys[1:], self.layers, strict=True)):
            x = (_drop if i else _shown)(key_layer, x, dropout)
            h = run(list(cells), x, chorales.valid, tuning, key_layer, dropout)
            h = jnp.concatenate([h[:, 0], _flip(h[:, 1])], axis=-1)
            x = h + x if x.shape == h.shape else h
        known = _shown(keys[0], known, dropout)
        joined = jnp.concatenate([_drop(keys[0], x, dropout), known], axis=-1)
        return Surroundings(joined, before[0], after[0])

    def predict(
        self, context: Surroundings, tuning: Tuning, keep: Float[Array, "*K H"] = 1.0
    ) -> Float[Array, "*S 4 values"]:
        """Return log p of every value of every voice, at the steps of a context."""
        a = times(self.head.W, context.joined, tuning) + self.head.b
        return self.head(a, [context.before, context.after], [], tuning, keep)


def cell(key: PRNGKeyArray, inputs: int, size: int) -> LSTM:
    """Return a new cell; its inputs are many ones and zeros."""
    return LSTM(key, inputs, size, from_frame=False, gated=False)


def times(W: Float[Array, "N C"], x: Float[Array, "*S C"], tuning: Tuning) -> Float[Array, "*S N"]:
    """Return W x in the tuning's precision, summed in float32."""
    x, W = x.astype(tuning.dtype), W.astype(tuning.dtype)
    return jnp.matmul(x, W.T, preferred_element_type=jnp.float32)


def run(
    cells: list[LSTM],
    x: Float[Array, "T B N"],
    valid: Bool[Array, "T B"],
    tuning: Tuning,
    key: PRNGKeyArray,
    dropout: Dropout | None,
) -> Float[Array, "T ways B c"]:
    """Return h of one layer: forwards, and backwards in its own order if there is a second cell."""
    if dropout is not None:
        keys = jax.random.split(key, len(cells))
        cells = [
            eqx.tree_at(lambda c: c.W_h, one, _drop_weights(k, one.W_h, dropout.weights))
            for k, one in zip(keys, cells, strict=True)
        ]
    ways = [x, _flip(x)][: len(cells)]
    valids = jnp.stack([valid, _flip(valid)][: len(cells)], axis=1)
    return run_layer(cells, ways, jnp.zeros(valids.shape), valids, tuning)


def kept(key: PRNGKeyArray, shape: tuple[int, ...], dropout: Dropout | None) -> Float[Array, "..."]:
    """Return factors for units, of which a share is dropped: the same at every step."""
    if dropout is None:
        return jnp.ones(())
    share = 1 - dropout.states
    return jax.random.bernoulli(key, share, shape) / share


def _shown(
    key: PRNGKeyArray, x: Float[Array, "T B N"], dropout: Dropout | None
) -> Float[Array, "T B N"]:
    """Return the inputs without a share of them."""
    return _drop(key, x, None if dropout is None else dropout._replace(states=dropout.inputs))


def _drop(
    key: PRNGKeyArray, x: Float[Array, "T B N"], dropout: Dropout | None
) -> Float[Array, "T B N"]:
    return x * kept(key, x.shape[1:], dropout).astype(x.dtype)


def _drop_weights(key: PRNGKeyArray, W: Float[Array, "N C"], share: Array) -> Float[Array, "N C"]:
    return jnp.where(jax.random.bernoulli(key, 1 - share, W.shape), W / (1 - share), 0.0)


def _flip(array: Array) -> Array:
    return array[::-1]


def _hot(index: Int[Array, "*S"], size: int) -> Float[Array, "*S size"]:
    """Return one-hot vectors; an index out of range is all zeros."""
    return jax.nn.one_hot(index, size, dtype=jnp.bfloat16)  # zeros and ones are exact in it


def _flat(array: Float[Array, "T B *S"]) -> Float[Array, "T B S"]:
    return array.reshape(*array.shape[:2], -1)


def _position(chorales: Chorales) -> Float[Array, "T B P"]:
    place = chorales.place
    hots = [_hot(place % BAR, BAR), _hot(place % TRIPLE, TRIPLE), _hot(place, FAR)]
    return jnp.concatenate(hots, axis=-1)


POSITION = BAR + TRIPLE + FAR


def _previous(values: Int[Array, "T B 4"]) -> Int[Array, "T B 4"]:
    return jnp.concatenate([jnp.full_like(values[:1], REST), values[:-1]])


def _ages(values: Int[Array, "T B 4"]) -> Int[Array, "T B 4"]:
    """Return for how many steps each voice has had its value, one less."""
    steps = jnp.arange(len(values))[:, None, None]
    new = values != _previous(values).at[0].set(-1)
    return steps - jax.lax.cummax(jnp.where(new, steps, 0), axis=0)


def _frame(chorales: Chorales, ages: Int[Array, "T B 4"]) -> Float[Array, "T B N"]:
    """Return a frame as the cells of `Past` read it."""
    values, before = chorales.values, _previous(chorales.values)
    interval = jnp.clip(values - before, -INTERVALS, INTERVALS) + INTERVALS
    melodic = (values < REST) & (before < REST)
    interval = jnp.where(melodic, interval, -1)
    classes = _hot(jnp.where(values < REST, values % 12, -1), 12)
    hots = [_flat(_hot(values, VALUES)), _flat(_hot(interval, 2 * INTERVALS + 1))]
    hots += [_flat(_hot(jnp.minimum(ages, AGES - 1), AGES)), classes.sum(2), classes[:, :, -1]]
    return jnp.concatenate(hots, axis=-1)


def _read_size() -> int:
    return VOICES * (VALUES + 2 * INTERVALS + 1 + AGES) + 24 + POSITION


def _known(chorales: Chorales, ages: Int[Array, "T B 4"]) -> Float[Array, "T B K"]:
    """Return what the head of `Past` is shown besides the states."""
    age_before = jnp.concatenate([jnp.full_like(ages[:1], -1), ages[:-1]])
    before = _previous(chorales.values)
    lengths = chorales.echo_lengths
    echoes = _hot(jnp.where(lengths[..., None] > 0, chorales.echoes, -1), VALUES)
    hots = [_position(chorales), _flat(_hot(before, VALUES)), _flat(echoes)]
    hots += [_flat(_hot(jnp.minimum(age_before, AGES - 1), AGES))]
    hots += [_flat(_hot(_bucket(lengths, 0, ECHO_LENGTHS), ECHO_LENGTHS))]
    return jnp.concatenate(hots, axis=-1)


def _known_size() -> int:
    return POSITION + VOICES * (VALUES + AGES) + ECHOES * (VOICES * VALUES + ECHO_LENGTHS)


def _bucket(lengths: Int[Array, "*S"], least: int, buckets: int) -> Int[Array, "*S"]:
    """Return the bucket of each length, each about 1.5 times as wide; −1 below or at `least`."""
    bucket = jnp.floor(jnp.log(jnp.maximum(lengths, 1)) / jnp.log(1.5)).astype(jnp.int32)
    return jnp.where(lengths <= least, -1, jnp.minimum(bucket, buckets - 1))


def _nearest(
    values: Int[Array, "T B 4"], seen: Bool[Array, "T B 4"], back: bool = False
) -> tuple[Int[Array, "T B 4"], Int[Array, "T B 4"]]:
    """Return the nearest value of a voice that is seen, before a step or after, and how far it is.

    A cell that is seen is its own nearest. Without any, the value is a rest and the distance −1.
    """
    steps = jnp.arange(len(values))[:, None, None]
    if back:
        last = len(values)
        at = jax.lax.cummin(jnp.where(seen, steps, last), axis=0, reverse=True)
        found, distance = at < last, at - steps
    else:
        at = jax.lax.cummax(jnp.where(seen, steps, -1), axis=0)
        found, distance = at >= 0, steps - at
    nearest = jnp.take_along_axis(values, jnp.clip(at, 0, len(values) - 1), axis=0)
    return jnp.where(found, nearest, REST), jnp.where(found, distance, -1)


def _surroundings(
    chorales: Chorales,
    seen: Bool[Array, "T B 4"],
    before: tuple[Int[Array, "T B 4"], Int[Array, "T B 4"]],
    after: tuple[Int[Array, "T B 4"], Int[Array, "T B 4"]],
) -> Float[Array, "T B N"]:
    """Return what `Around` is shown of a step, and of the nearest values that are seen."""
    hots = [_flat(_hot(chorales.values, VALUES) * seen[..., None]), seen.astype(jnp.bfloat16)]
    for values, distances in (before, after):
        bucket = _bucket(distances, -1, DISTANCES)
        hots += [_flat(_hot(values, VALUES)), _flat(_hot(bucket, DISTANCES))]
    hots += [_position(chorales), _hot(chorales.left, FAR)]
    return jnp.concatenate(hots, axis=-1)


def _around_size() -> int:
    return VOICES * (3 * VALUES + 1 + 2 * DISTANCES) + POSITION + FAR
