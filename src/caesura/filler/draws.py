"""Draws for many series, however long, and their scores: stretch by stretch, some side by side.

A stretch sees the steps around it, but what is missing there stays unknown to it: given what is
observed, stretches are drawn independently of each other. So a stretch ends where nothing is
missing if there is such a place, and else inside a gap, across which draws then do not cohere; what
is said of each step by itself does not suffer. Memory is that of one batch, at most half a gigabyte
for the nets of the recipes, whatever the length of the series.
"""

from collections.abc import Callable, Iterator
from collections.abc import Sequence as List
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Float32, Key, PRNGKeyArray, PyTree, Shaped

from caesura.errors import whole_number
from caesura.filler.fill import LogProb
from caesura.filler.filler import MOST_SAMPLES, Filler, Method, fill_gaps, make_key
from caesura.hardware import bucket
from caesura.nets.pair import Nets
from caesura.sequence import Sequence
from caesura.strategies import Strategy
from caesura.strategies.window import Window, around_each

STRETCH = 128  # steps; the way between two visits, so the time, grows with it in long gaps
AROUND = 64  # steps that are seen on either side
STRETCHES = 128  # side by side: they are filled in one order, so that none waits for another
LANES = 512  # of all samples that are drawn at once
MOST_NUMBERS = 2**25  # in the draws for one batch


class Stretch(NamedTuple):
    """Some steps of one of the series, with those around them."""

    series: int
    steps: slice
    seen: Sequence
    offset: int  # of the first of `steps` in `seen`


class Drawn(NamedTuple):
    """What was drawn for the steps of a stretch; what is observed is as it was."""

    series: int
    steps: slice
    values: Float32[np.ndarray, "S t D"]


def draw_series(
    filler: Filler,
    series: List[Sequence],
    samples: int,
    *,
    strategy: str | Strategy | None = None,
    seed: int = 0,
    report: Callable[[int, int], None] = lambda done, stretches: None,
) -> Iterator[Drawn]:
    """`samples` fills of every stretch that has something to fill.

    `report` is called every few seconds, so that what it raises stops the drawing.
    """
    samples = whole_number("samples", samples, 1, MOST_SAMPLES)
    method = filler.method(strategy)
    stretches = [s for number, one in enumerate(series) for s in cut(number, one)]
    numbers = max((one.values.shape[1] for one in series), default=1) * STRETCH * samples
    at_once = max(1, min(STRETCHES, MOST_NUMBERS // numbers))
    key = make_key(seed)
    for first in range(0, len(stretches), at_once):
        key, key_batch = jax.random.split(key)
        batch = stretches[first : first + at_once]
        drawn = _draw(method, batch, samples, key_batch, partial(report, first, len(stretches)))
        for stretch, values in zip(batch, drawn, strict=True):
            length = stretch.steps.stop - stretch.steps.start
            inside = slice(stretch.offset, stretch.offset + length)
            yield Drawn(stretch.series, stretch.steps, values[:, inside])
        report(first + len(batch), len(stretches))


def score_series(
    filler: Filler, series: Sequence, *, strategy: str | Strategy | None = None, seed: int = 0
) -> LogProb:
    """Nats of the values at the missing places of one series, in the user's units, under what they
    would be drawn from."""
    method = filler.method(strategy)
    nats = variance = 0.0
    for batch, window, key in _batches(method, series, STRETCHES, seed):
        scores = method.strategy.log_prob(key, method.net, window, window.values[:, None])
        log_probs, errors = (np.asarray(part, float)[: len(batch), 0] for part in scores)
        nats += log_probs.sum()
        variance += (errors**2).sum()
    return LogProb(nats - filler.kind.log_scale(series.missing), variance**0.5)


def confidence_in_series(
    filler: Filler, series: Sequence, *, strategy: str | Strategy | None = None, seed: int = 0
) -> Float[np.ndarray, " places"]:
    """The probability of each value at a missing place, one step after the other; of a number, that
    of its bin."""
    method = filler.method(strategy)
    frame, found = method.net.frame, [np.zeros(0)]
    at_once = max(1, MOST_NUMBERS // (STRETCH * frame.components * frame.cardinality))
    for batch, window, key in _batches(method, series, min(STRETCHES, at_once), seed):
        marginals = np.asarray(method.strategy.marginals(key, method.net, window).values.log_prob)
        for stretch, log_probs in zip(batch, marginals[: len(batch)], strict=True):
            seen = stretch.seen
            steps, components = np.nonzero(seen.missing)
            chosen = np.asarray(frame.index(seen.values[seen.missing]))
            at_places = log_probs[steps - seen.gaps[0].start, components, chosen]
            found.append(np.exp(at_places))
    return np.concatenate(found)


def _batches(
    method: Method, series: Sequence, at_once: int, seed: int
) -> Iterator[tuple[list[Stretch], Window, PRNGKeyArray]]:
    """The stretches of one series, some at a time, with their windows, which padding may follow."""
    stretches, key = cut(0, series), make_key(seed)
    for number, first in enumerate(range(0, len(stretches), at_once)):
        batch = stretches[first : first + at_once]
        window = _side_by_side(method, [stretch.seen for stretch in batch])
        yield batch, window, jax.random.fold_in(key, number)


def cut(number: int, series: Sequence) -> list[Stretch]:
    """The stretches of a series, without those in which nothing is missing."""
    found = []
    for start, stop in _borders(series.missing_steps):
        if not series.missing[start:stop].any():
            continue
        first, last = max(0, start - AROUND), min(len(series), stop + AROUND)
        missing = series.missing[first:last].copy()
        missing[: start - first] = missing[stop - first :] = False
        unknown = series.missing[first:last] & ~missing
        values = np.where(unknown, np.float32(np.nan), series.values[first:last])
        seen = Sequence(values, missing)
        found.append(Stretch(number, slice(start, stop), seen, start - first))
    return found


def _borders(missing_steps: Bool[np.ndarray, " T"]) -> Iterator[tuple[int, int]]:
    """From where to where each stretch goes: to the last border that cuts no gap, if it is far."""
    start, length = 0, len(missing_steps)
    whole = np.append(True, ~(missing_steps[1:] & missing_steps[:-1]))  # [b]: between b - 1 and b
    while start < length:
        stop = min(start + STRETCH, length)
        if stop < length:
            borders = np.arange(start + STRETCH // 2, stop + 1)
            stop = int(borders[whole[borders]].max(initial=0)) or stop
        yield start, stop
        start = stop


def _draw(
    method: Method,
    batch: list[Stretch],
    samples: int,
    key: jax.Array,
    report: Callable[[], None],
) -> Iterator[Float32[np.ndarray, "S T D"]]:
    """Whole fills of what each stretch sees; many samples are drawn in several parts."""
    check = method.net.frame.check
    seen = [Sequence(check(s.seen.values, s.seen.missing), s.seen.missing) for s in batch]
    window = _side_by_side(method, seen)
    most = min(samples, max(1, LANES // len(window.values)))
    count = -(-samples // most)
    at_once = min(count, len(jax.local_devices()))
    parts: list[np.ndarray] = []
    while len(parts) < count:
        numbers = np.arange(len(parts), len(parts) + at_once)
        keys = jax.vmap(partial(jax.random.fold_in, key))(numbers)
        parts += list(np.asarray(_draw_parts(method.strategy, method.net, keys, window, most)))
        report()
    drawn = np.concatenate(parts, axis=1)[: len(batch), :samples]
    for one, fills in zip(seen, drawn, strict=True):
        yield fill_gaps(one, fills)


@eqx.filter_jit
def _draw_parts(
    strategy: Strategy, net: Nets, keys: Key[Array, " parts"], window: Window, samples: int
) -> Shaped[Array, "parts B S W D"]:
    """A part for each key, on a device of its own: what is drawn does not depend on how many there
    are."""
    arrays, rest = eqx.partition(net, eqx.is_array)

    def draw(
        keys: Key[Array, " parts"], arrays: PyTree, window: Window
    ) -> Shaped[Array, "1 B S W D"]:
        key = keys[jax.lax.axis_index("parts")]
        return strategy.draw(key, eqx.combine(arrays, rest), window, samples)[None]

    devices = jax.local_devices()[: len(keys)]
    run = jax.shard_map(
        draw,
        mesh=jax.make_mesh((len(devices),), ("parts",), devices=devices),
        in_specs=PartitionSpec(),
        out_specs=PartitionSpec("parts"),
        check_vma=False,
    )
    return run(keys, arrays, window)


def _side_by_side(method: Method, seen: list[Sequence]) -> Window:
    """The window in what each stretch sees; the last is repeated: few sizes to compile."""
    padded = seen + seen[-1:] * (bucket(len(seen)) - len(seen))
    stops = [method.strategy.stop(one.gaps[-1].stop, len(one)) for one in padded]
    return around_each(method.net, padded, stops)
