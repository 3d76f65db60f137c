"""Tables of any columns: each column in a window, with what simple methods say about it.

A net for single columns fills them. It sees the other columns only through the experts, which
know what is observed, not what is filled. So fills of different columns at the same step are
independent given what is observed, while the fills of one column cohere in time. If a Gaussian
model was fitted to the table, its opinion is pooled with that of the net.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from caesura.filler.beside import Beside, Part, Pooled, points_of
from caesura.filler.windows import windows
from caesura.kinds.series.experts import Prior, consult, standardise
from caesura.kinds.series.factors import Said, WindowModel
from caesura.later import jax, jnp, map_leaves
from caesura.nets.columns import one_pass
from caesura.nets.heads.logistics import Logistics
from caesura.nets.rnn import Net
from caesura.sequence import Sequence, Span
from caesura.strategies import BothWays, Window, around_each

LANES = 64  # columns at a time
FARTHEST = 30.0  # deviations from the base: as far as the net has learnt
REFINED = 2  # halvings of the interval that holds a quantile, before a line is drawn
LEVELS = 16  # quantiles at a time
TINY = 1e-12

Item = TypeVar("Item")


class Lane(NamedTuple):
    """One column in one window, to be filled."""

    column: int
    rows: Span  # of the table that the window holds
    frames: Float32[np.ndarray, "W D"]  # residuals of the base, and what informs about them
    missing: Bool[np.ndarray, " W"]
    asked: Bool[np.ndarray, " W"]  # what is filled here of what is missing
    base: Float[np.ndarray, " W"]  # in the units of the table
    scale: float
    spread: float  # distributions are stretched so much, around their medians
    beside: Beside | None  # in the units of the table

    @property
    def filled(self) -> Int[np.ndarray, " n"]:
        """The rows of the window that are filled here."""
        return np.flatnonzero(self.asked)


class Fitted(NamedTuple):
    """What tables have shown about their columns, and what their numbers are filled by."""

    prior: Prior
    spread: Float[np.ndarray, " C"]  # how much the distributions are stretched
    model: WindowModel | None = None
    shares: Float[np.ndarray, " C"] | None = None  # how probable it is that this model is asked


class Answer(NamedTuple):
    """Numbers for some missing places of a table."""

    places: Int[np.ndarray, "places 2"]  # row and column
    values: Float[np.ndarray, "n places"]


def lanes_of(
    table: Float[np.ndarray, "T C"],
    missing: Bool[np.ndarray, "T C"],
    fitted: Fitted,
) -> Iterator[Lane]:
    """Yield the columns with something missing, window by window."""
    for rows, here in windows(missing):
        seen = table[slice(*rows)].astype(np.float32)
        observed = ~missing[slice(*rows)] & ~np.isnan(seen)
        prior = fitted.prior
        known = prior._replace(rows=np.maximum(prior.rows - len(seen), 0))
        standard = standardise(np.where(observed, seen, 0), observed, known)
        experts = consult(standard.x, observed, np.ones((len(seen), 1), bool))
        frames = np.concatenate([(standard.x - experts.base)[..., None], experts.informing], -1)
        frames = np.clip(frames, -FARTHEST, FARTHEST).astype(np.float32)
        base = standard.location + standard.scale * experts.base
        lanes = [
            Lane(
                column,
                rows,
                frames[:, column],
                ~observed[:, column],
                here[:, column],
                base[:, column],
                float(standard.scale[0, column]),
                float(fitted.spread[column]),
                None,
            )
            for column in np.flatnonzero(here.any(axis=0)).tolist()
        ]
        if fitted.model is not None and fitted.shares is not None:
            said = fitted.model.say(seen, observed)
            lanes = with_opinion(lanes, fitted.model, said, fitted.shares)
        yield from lanes


def with_opinion(
    lanes: Iterable[Lane], model: WindowModel, said: Said, shares: Float[np.ndarray, " C"]
) -> list[Lane]:
    """Return the lanes of a window with what a Gaussian model has said about it.

    It says nothing about columns that do not vary in the window, or that have no share.
    """
    found = []
    for lane in lanes:
        column, share = lane.column, float(shares[lane.column])
        blocks = [(rows, covariances[column]) for rows, covariances in said.blocks]
        beside = Beside(share, model.curves[column], said.mean[:, column], blocks)
        found.append(lane._replace(beside=beside if share and lane.scale else None))
    return found


def count_lanes(missing: Bool[np.ndarray, "T C"]) -> int:
    """Return how many lanes there are."""
    return sum(int(here.any(axis=0).sum()) for _, here in windows(missing))


def quantiles(
    net: Net,
    lanes: Iterable[Lane],
    levels: Float[np.ndarray, " n"],
    report: Callable[[int], None] | None = None,
) -> Answer:
    """Return quantiles of each missing number by itself, given everything that is observed.

    `report` is called with the number of lanes that are filled.
    """
    found, done = [], 0
    for distribution, some in _ahead(distributions(net, lanes)):
        found.append(located(distribution, some, levels))
        done += len(some)
        if report is not None:
            report(done)
    places, values = zip(*found, strict=True)
    return Answer(np.concatenate(places), np.concatenate(values, axis=1))


def located(
    found: Logistics | Pooled, lanes: list[Lane], levels: Float[np.ndarray, " n"]
) -> Answer:
    """Return quantiles of the numbers in some lanes, stretched and in the units of the table."""
    numbers, spread = quantiles_of(found, levels), _of_each(lanes, "spread")
    if (spread != 1).any():
        middle = _middles(found)
        numbers = middle + spread * (numbers - middle)
    base = np.concatenate([lane.base[lane.filled] for lane in lanes])
    places = np.concatenate([_places(lane) for lane in lanes])
    return Answer(places, base + _of_each(lanes, "scale") * numbers)


def bins_of(
    net: Net, lanes: Iterable[Lane], edges: Float[np.ndarray, " edges"]
) -> tuple[Int[np.ndarray, "places 2"], Float[np.ndarray, "places edges+1"]]:
    """Return the probability of each bin, of each missing number by itself."""
    places, masses = [], []
    for found, some in distributions(net, lanes):
        places.append(np.concatenate([_places(lane) for lane in some]))
        scale, spread = _of_each(some, "scale")[:, None], _of_each(some, "spread")[:, None]
        base = np.concatenate([lane.base[lane.filled] for lane in some])
        middle = _middles(found)[:, None]
        each = (edges - base[:, None]) / np.where(scale == 0, 1.0, scale)
        each = middle + (each - middle) / spread
        masses.append(np.diff(_below(found, each), axis=1, prepend=0.0, append=1.0))
    return np.concatenate(places), np.concatenate(masses)


def distributions(
    net: Net, lanes: Iterable[Lane]
) -> Iterator[tuple[Logistics | Pooled, list[Lane]]]:
    """Yield the distributions of what is filled in some lanes at a time, lane by lane."""
    net = map_leaves(np.asarray, net)  # in their own order, since its cells are small
    for some in _some(lanes):
        frames = np.stack([lane.frames for lane in some], axis=1)
        missing = np.stack([lane.missing for lane in some], axis=1)
        found = one_pass(net, frames, missing)
        # They come step by step; those that are not asked for are dropped.
        step, number = np.nonzero(missing)
        kept = np.flatnonzero(np.stack([lane.asked for lane in some], axis=1)[step, number])
        order = kept[np.lexsort((step[kept], number[kept]))]
        ordered = Logistics(*(a[order] for a in found))
        if any(lane.beside is not None for lane in some):
            yield _pooled(ordered, some), some
        else:
            yield ordered, some


def _pooled(found: Logistics, lanes: list[Lane]) -> Pooled:
    """Return the distributions of a net, pooled with those of a Gaussian model."""
    share, mean, deviation = np.zeros((3, len(found.means)))
    parts, start = [], 0
    for lane in lanes:
        filled, beside = lane.filled, lane.beside
        at = slice(start, start + len(filled))
        start = at.stop
        if beside is not None:
            share[at], mean[at] = beside.share, beside.mean[filled]
            deviation[at] = beside.deviation[filled]
        parts.append(Part(at, beside and beside.curve, lane.base[filled], lane.scale))
    return Pooled(found, share, mean, deviation, parts)


def _below(found: Logistics | Pooled, x: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
    if isinstance(found, Pooled):
        return found.below(x)
    return Logistics(*(a[:, None] for a in found)).below(x)


def _ahead(each: Iterator[Item]) -> Iterator[Item]:
    """Yield the same, the next of which is made in another thread meanwhile."""
    with ThreadPoolExecutor(1) as aside:
        coming = aside.submit(next, each, None)
        while (now := coming.result()) is not None:
            coming = aside.submit(next, each, None)
            yield now


def _middles(found: Logistics | Pooled) -> Float[np.ndarray, " places"]:
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
    found: Logistics | Pooled, levels: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n places"]:
    """Return quantiles of mixtures, to within about a thousandth of their scales."""
    # The quantile of a mixture is between those of its parts: start from a line between many.
    grid = np.linspace(-9, 9, 25)
    points = found.points(grid) if isinstance(found, Pooled) else points_of(found, grid)
    points = np.sort(points, axis=1)
    below = _below(found, points)
    values = np.empty((len(levels), len(points)))
    for first in range(0, len(levels), LEVELS):
        some = levels[first : first + LEVELS]
        right = np.stack([(below < level).sum(axis=1) for level in some], axis=1)
        right = np.clip(right, 1, points.shape[1] - 1)
        a, b = (np.take_along_axis(points, at, 1) for at in (right - 1, right))
        below_a, below_b = (np.take_along_axis(below, at, 1) for at in (right - 1, right))
        for _ in range(REFINED):
            middle = (a + b) / 2
            under = _below(found, middle)
            less = under < some
            a, b = np.where(less, middle, a), np.where(less, b, middle)
            below_a, below_b = np.where(less, under, below_a), np.where(less, below_b, under)
        share = (some - below_a) / np.maximum(below_b - below_a, TINY)
        values[first : first + LEVELS] = (a + np.clip(share, 0, 1) * (b - a)).T
    return values


def draw(net: Net, lanes: Iterable[Lane], samples: int, seed: int) -> Answer:
    """Return random fills of each lane, from both directions in turn, which cohere in time."""
    rng = np.random.default_rng(seed)
    places, values = [], []
    for number, (found, some) in enumerate(distributions(net, lanes)):
        window, middles = _window(net, some), _by_lane(_middles(found), some)
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), number), len(some))
        drawn = np.asarray(BothWays().draw(keys, net, window, samples), np.float64)[..., 0]
        for lane, of_lane, middle in zip(some, drawn, middles, strict=True):
            at = lane.filled
            numbers = of_lane[:, at]
            if lane.beside is not None:
                asked = rng.random((samples, 1)) < lane.beside.share
                other = (lane.beside.draw(rng, at, samples) - lane.base[at]) / lane.scale
                numbers = np.where(asked, other, numbers)
            places.append(_places(lane))
            stretched = middle + lane.spread * (numbers - middle)
            values.append(lane.base[at] + lane.scale * stretched)
    return Answer(np.concatenate(places), np.concatenate(values, axis=1))


def log_prob(
    net: Net, lanes: Iterable[Lane], tables: Float[np.ndarray, "n T C"]
) -> Float[np.ndarray, " n"]:
    """Return the log-density of what filled tables have at the missing places of some lanes.

    Places where the tables have NaN do not count.
    """
    total = np.zeros(len(tables))
    for found, some in distributions(net, lanes):
        window, middles = _window(net, some), _by_lane(_middles(found), some)
        fills = np.repeat(np.asarray(window.values)[:, None], len(tables), axis=1)
        for row, (lane, middle) in enumerate(zip(some, middles, strict=True)):
            at, scale = lane.filled, lane.scale or 1.0
            truth = tables[:, slice(*lane.rows), lane.column][:, at]
            truth = (truth - lane.base[at]) / scale
            # Draws were stretched, so that numbers are shrunk before the net is asked.
            fills[row, :, at, 0] = (middle + (truth - middle) / lane.spread).T
            total -= (~np.isnan(truth)).sum(axis=1) * np.log(scale * lane.spread)
        keys = jax.random.split(jax.random.key(0), len(some))
        nats = BothWays().log_prob(keys, net, window, jnp.asarray(fills)).log_prob
        for lane, of_net, fill in zip(some, np.asarray(nats, np.float64), fills, strict=True):
            total += _pool(lane, of_net, fill[:, lane.filled, 0].astype(np.float64))
    return total


def _pool(
    lane: Lane, of_net: Float[np.ndarray, " n"], numbers: Float[np.ndarray, "n filled"]
) -> Float[np.ndarray, " n"]:
    """Return the log of the weighted mean of two densities."""
    asked = ~np.isnan(numbers[0])
    if lane.beside is None or not asked.any():
        return of_net
    share, at = lane.beside.share, lane.filled[asked]
    of_other = lane.beside.log_prob(at, lane.base[at] + lane.scale * numbers[:, asked])
    of_other += len(at) * np.log(lane.scale)
    with np.errstate(divide="ignore"):  # one of the shares may be zero
        return np.logaddexp(np.log(1 - share) + of_net, np.log(share) + of_other)


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
