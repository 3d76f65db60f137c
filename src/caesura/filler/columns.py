"""Tables of any columns: cut into windows, each column with what simple methods say about it.

A net for single columns fills them. It sees the other columns only through the experts, which
know what is observed, not what is filled. So fills of different columns at the same step are
independent given what is observed, while the fills of one column cohere in time.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from caesura.kinds.series.experts import Prior, consult, standardise
from caesura.nets.columns import one_pass
from caesura.nets.eager import with_numpy
from caesura.nets.heads.logistics import Logistics
from caesura.nets.rnn import Net
from caesura.sequence import Sequence, Span
from caesura.strategies import BothWays, Window, around_each

ROWS = 512  # of a window
AROUND = 64  # of them on either side are only seen
LANES = 64  # columns at a time
FARTHEST = 30.0  # deviations from the base: as far as the net has learnt
REFINED = 2  # halvings of the interval that holds a quantile, before a line is drawn
TINY = 1e-12

Item = TypeVar("Item")


class Lane(NamedTuple):
    """One column in one window, to be filled."""

    column: int
    rows: Span  # of the table that the window holds
    inside: Span  # of these, those that are filled here
    frames: Float32[np.ndarray, "W D"]  # residuals of the base, and what informs about them
    missing: Bool[np.ndarray, " W"]
    base: Float[np.ndarray, " W"]  # in the units of the table
    scale: float
    spread: float  # distributions are stretched so much, around their medians

    @property
    def filled(self) -> Int[np.ndarray, " n"]:
        """The rows of the window that are filled here."""
        here = np.zeros_like(self.missing)
        here[slice(*self.inside)] = self.missing[slice(*self.inside)]
        return np.flatnonzero(here)


class Answer(NamedTuple):
    """Numbers for some missing places of a table."""

    places: Int[np.ndarray, "places 2"]  # row and column
    values: Float[np.ndarray, "n places"]


def lanes_of(
    table: Float[np.ndarray, "T C"],
    missing: Bool[np.ndarray, "T C"],
    prior: Prior,
    spread: Float[np.ndarray, " C"],
) -> Iterator[Lane]:
    """Yield the columns with something missing, window by window."""
    for rows, inside in windows(len(table)):
        seen = table[slice(*rows)].astype(np.float32)
        hidden = missing[slice(*rows)]
        here = hidden[slice(*inside)].any(axis=0)
        if not here.any():
            continue
        observed = ~hidden & ~np.isnan(seen)
        known = prior._replace(rows=np.maximum(prior.rows - len(seen), 0))
        standard = standardise(np.where(observed, seen, 0), observed, known)
        experts = consult(standard.x, observed, np.ones((len(seen), 1), bool))
        frames = np.concatenate([(standard.x - experts.base)[..., None], experts.informing], -1)
        frames = np.clip(frames, -FARTHEST, FARTHEST).astype(np.float32)
        base = standard.location + standard.scale * experts.base
        for column in np.flatnonzero(here).tolist():
            scale = float(standard.scale[0, column])
            yield Lane(
                column,
                rows,
                inside,
                frames[:, column],
                ~observed[:, column],
                base[:, column],
                scale,
                float(spread[column]),
            )


def count_lanes(missing: Bool[np.ndarray, "T C"]) -> int:
    """Return how many lanes there are."""
    return sum(
        int(missing[slice(*rows)][slice(*inside)].any(axis=0).sum())
        for rows, inside in windows(len(missing))
    )


def windows(length: int) -> Iterator[tuple[Span, Span]]:
    """Yield the rows of each window of a table, and which of them are filled there."""
    if length <= ROWS:
        yield Span(0, length), Span(0, length)
        return
    step, start, done = ROWS - 2 * AROUND, 0, 0
    while done < length:
        start = min(start, length - ROWS)
        stop = length if start + ROWS == length else start + ROWS - AROUND
        yield Span(start, start + ROWS), Span(done - start, stop - start)
        start, done = start + step, stop


def quantiles(
    net: Net,
    lanes: Iterable[Lane],
    levels: Float[np.ndarray, " n"],
    report: Callable[[int], None] | None = None,
) -> Answer:
    """Return quantiles of each missing number by itself, given everything that is observed.

    `report` is called with the number of lanes that are filled.
    """
    places, values, done = [], [], 0
    for found, some in _ahead(_distributions(net, lanes)):
        middle, spread = _middles(found), _of_each(some, "spread")
        numbers = middle + spread * (quantiles_of(found, levels) - middle)
        done += len(some)
        if report is not None:
            report(done)
        places.append(np.concatenate([_places(lane) for lane in some]))
        base = np.concatenate([lane.base[lane.filled] for lane in some])
        values.append(base + _of_each(some, "scale") * numbers)
    return Answer(np.concatenate(places), np.concatenate(values, axis=1))


def bins_of(
    net: Net, lanes: Iterable[Lane], edges: Float[np.ndarray, " edges"]
) -> tuple[Int[np.ndarray, "places 2"], Float[np.ndarray, "places edges+1"]]:
    """Return the probability of each bin, of each missing number by itself."""
    places, masses = [], []
    for found, some in _distributions(net, lanes):
        places.append(np.concatenate([_places(lane) for lane in some]))
        scale, spread = _of_each(some, "scale")[:, None], _of_each(some, "spread")[:, None]
        base = np.concatenate([lane.base[lane.filled] for lane in some])
        middle = _middles(found)[:, None]
        each = (edges - base[:, None]) / np.where(scale == 0, 1.0, scale)
        each = middle + (each - middle) / spread
        wide = Logistics(*(a[:, None] for a in found))
        masses.append(np.diff(wide.below(each), axis=1, prepend=0.0, append=1.0))
    return np.concatenate(places), np.concatenate(masses)


def _distributions(net: Net, lanes: Iterable[Lane]) -> Iterator[tuple[Logistics, list[Lane]]]:
    """Yield the distributions of what is filled in some lanes at a time, lane by lane."""
    net = with_numpy(net)
    for some in _some(lanes):
        frames = np.stack([lane.frames for lane in some], axis=1)
        missing = np.stack([lane.missing for lane in some], axis=1)
        found = one_pass(net, frames, missing)
        # They come step by step; those outside of the filled rows are dropped.
        step, number = np.nonzero(missing)
        inside = np.stack([[*lane.inside] for lane in some])[number]
        kept = np.flatnonzero((step >= inside[:, 0]) & (step < inside[:, 1]))
        order = kept[np.lexsort((step[kept], number[kept]))]
        yield Logistics(*(a[order] for a in found)), some


def _ahead(each: Iterator[Item]) -> Iterator[Item]:
    """Yield the same, the next of which is made in another thread meanwhile."""
    with ThreadPoolExecutor(1) as aside:
        coming = aside.submit(next, each, None)
        while (now := coming.result()) is not None:
            coming = aside.submit(next, each, None)
            yield now


def _middles(found: Logistics) -> Float[np.ndarray, " places"]:
    return quantiles_of(found, np.array([0.5]))[0]


def _of_each(lanes: list[Lane], name: str) -> Float[np.ndarray, " places"]:
    """Return a number of each lane, for each of its filled places."""
    return np.concatenate([np.full(len(lane.filled), getattr(lane, name)) for lane in lanes])


def _some(lanes: Iterable[Lane]) -> Iterator[list[Lane]]:
    """Yield some lanes at a time; those of one table are equally long."""
    each = iter(lanes)
    while some := list(islice(each, LANES)):
        yield some


def _places(lane: Lane) -> Int[np.ndarray, "n 2"]:
    rows = lane.rows.start + lane.filled
    return np.stack([rows, np.full(len(rows), lane.column)], axis=1)


def quantiles_of(
    found: Logistics, levels: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n places"]:
    """Return quantiles of mixtures, to within about a thousandth of their scales."""
    # The quantile of a mixture is between those of its parts: start from a line between many.
    grid = np.linspace(-9, 9, 25)
    points = (found.means[..., None] + found.scales[..., None] * grid).reshape(len(found.means), -1)
    points = np.sort(points, axis=1)
    wide = Logistics(*(a[:, None] for a in found))
    below = wide.below(points)
    values = np.empty((len(levels), len(points)))
    for number, level in enumerate(levels):
        right = np.clip((below < level).sum(axis=1), 1, points.shape[1] - 1)[:, None]
        a, b = (np.take_along_axis(points, at, 1)[:, 0] for at in (right - 1, right))
        for _ in range(REFINED):
            middle = (a + b) / 2
            less = found.below(middle) < level
            a, b = np.where(less, middle, a), np.where(less, b, middle)
        below_a, below_b = found.below(a), found.below(b)
        share = (level - below_a) / np.maximum(below_b - below_a, TINY)
        values[number] = a + np.clip(share, 0, 1) * (b - a)
    return values


def draw(net: Net, lanes: Iterable[Lane], samples: int, seed: int) -> Answer:
    """Return random fills of each lane, from both directions in turn, which cohere in time."""
    places, values = [], []
    for number, (found, some) in enumerate(_distributions(net, lanes)):
        window, middles = _window(net, some), _by_lane(_middles(found), some)
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), number), len(some))
        drawn = np.asarray(BothWays().draw(keys, net, window, samples), np.float64)[..., 0]
        for lane, of_lane, middle in zip(some, drawn, middles, strict=True):
            at = lane.filled
            places.append(_places(lane))
            stretched = middle + lane.spread * (of_lane[:, at] - middle)
            values.append(lane.base[at] + lane.scale * stretched)
    return Answer(np.concatenate(places), np.concatenate(values, axis=1))


def log_prob(
    net: Net, lanes: Iterable[Lane], tables: Float[np.ndarray, "n T C"]
) -> Float[np.ndarray, " n"]:
    """Return the log-density of what filled tables have at the missing places of some lanes."""
    total = np.zeros(len(tables))
    for found, some in _distributions(net, lanes):
        window, middles = _window(net, some), _by_lane(_middles(found), some)
        fills = np.repeat(np.asarray(window.values)[:, None], len(tables), axis=1)
        for row, (lane, middle) in enumerate(zip(some, middles, strict=True)):
            at, scale = lane.filled, lane.scale or 1.0
            truth = tables[:, slice(*lane.rows), lane.column][:, at]
            truth = (truth - lane.base[at]) / scale
            # Draws were stretched, so that numbers are shrunk before the net is asked.
            fills[row, :, at, 0] = (middle + (truth - middle) / lane.spread).T
            total -= len(at) * np.log(scale * lane.spread)
        keys = jax.random.split(jax.random.key(0), len(some))
        nats = BothWays().log_prob(keys, net, window, jnp.asarray(fills)).log_prob
        total += np.asarray(nats, np.float64).sum(axis=0)
    return total


def _by_lane(
    numbers: Float[np.ndarray, " places"], lanes: list[Lane]
) -> list[Float[np.ndarray, " _"]]:
    return np.split(numbers, np.cumsum([len(lane.filled) for lane in lanes])[:-1])


def _window(net: Net, lanes: list[Lane]) -> Window:
    """Return lanes of equal length as windows of a strategy, as wide as they are."""
    sequences = []
    for lane in lanes:
        missing = np.zeros(lane.frames.shape, bool)
        missing[lane.filled, 0] = True
        values = lane.frames.copy()
        values[lane.missing, 0] = np.nan  # unknown, also where it is not filled here
        values[lane.filled, 0] = 0.0
        sequences.append(Sequence(values, missing))
    whole = Span(0, len(lanes[0].missing))
    return around_each(net, sequences, [whole] * len(lanes), [whole.stop] * len(lanes))
