"""How good a model is on tables: some of what is observed is hidden, filled, and compared.

What is hidden lies in gaps like those of the table. From the comparison comes a report, and how
much wider the distributions of each column must be for their intervals to hold.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import groupby
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from caesura.filler.beside import Pooled
from caesura.filler.columns import (
    Fitted,
    Lane,
    distributions,
    lanes_of,
    located,
    quantiles,
    with_opinion,
)
from caesura.kinds.series.experts import between
from caesura.kinds.series.factors import WindowModel
from caesura.nets.rnn import Net
from caesura.sequence import Span, runs

ROWS, CELLS = 1024, 1 << 15  # looked at: of the middle of a long table, or of several tables
MORE = 4  # times as much is looked at to choose a Gaussian model, or if gaps are long
SHARE = 0.15  # of the observed numbers of a column that are hidden
LONG = 64  # steps of a gap; a few of them are as much as is hidden of a thousand rows
STAY = 0.25  # of what is observed in a column is always left
INTERVAL = 0.9
AIMED = 0.92  # of the rehearsed numbers inside, since other rows may differ from these
AIMED_POOLED = 0.94  # if a Gaussian model has learnt the rows around the hidden numbers
LEVELS = ((1 - INTERVAL) / 2, 0.5, (1 + INTERVAL) / 2)
MOST_GAPS = 1000  # of a column of a table, that are copied
FEW = 20  # numbers that count as much as what is known without them
ALIKE = 5  # numbers: a longer gap counts as so many, since errors within it are alike
NARROWEST, WIDEST = 0.5, 8.0
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a Gaussian model, that are tried

Values = Float[np.ndarray, "_ D"]


class Part(NamedTuple):
    """Some rows of one of several tables, and what is hidden in them."""

    number: int  # of the table
    first: int  # of the rows
    table: Values  # NaN where nothing is observed
    hidden: Bool[np.ndarray, "_ D"]

    @property
    def known(self) -> Values:
        return np.where(self.hidden, np.nan, self.table)


class Rehearsed(NamedTuple):
    """Numbers that are observed but were hidden, and what the model says about them."""

    column: Int[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]  # in a gap, they add up to `ALIKE` at most
    truth: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    median: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    line: Float[np.ndarray, " n"]  # between the nearest observed numbers

    def some(self, chosen: Bool[np.ndarray, " n"]) -> "Rehearsed":
        return Rehearsed(*(part[chosen] for part in self))

    @property
    def error(self) -> float:
        """The mean absolute error of the medians; infinite if nothing was hidden."""
        return float(np.abs(self.median - self.truth).mean()) if len(self.truth) else np.inf


class Checked(NamedTuple):
    """What was found for one column; errors are mean absolute ones, in standard deviations."""

    column: str
    hidden: int
    error: float
    line_error: float  # of the line between the nearest observed numbers
    inside: float  # the share of hidden numbers in their intervals of 90 %


def parts_of(
    tables: Sequence[Values], columns: int, *, times: int = 1, seed: int = 0
) -> list[Part]:
    """Hide some of what is observed in the first columns of tables.

    Parameters
    ----------
    tables
        Standardised, NaN where nothing is observed. Of many tables, some are taken, and of a long
        one its middle.
    columns
        How many columns, the first, hold numbers; others are hidden together with them.
    times
        How many times as many rows are looked at as for a report, if no gaps are long.
    seed
        Of what is hidden.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(tables)).tolist()
    most = min(ROWS, max(1, CELLS // tables[0].shape[1]))
    chosen = _middles(tables, order, times * most)
    gaps = gaps_of([np.isnan(tables[number]) for number, *_ in chosen], columns)
    if any(gap.length > LONG for own in gaps for gap in own):
        chosen = _middles(tables, order, MORE * most)
    return [Part(*one, hide(rng, np.isnan(one[-1]), gaps)) for one in chosen]


def _middles(
    tables: Sequence[Values], order: Sequence[int], most: int
) -> list[tuple[int, int, Values]]:
    """Return the middles of as many tables as have so many rows, each with its first row."""
    rows, chosen = 0, []
    for number in order:
        first = max(0, (len(tables[number]) - most) // 2)
        chosen.append((number, first, tables[number][first : first + most]))
        rows += len(chosen[-1][-1])
        if rows >= most:
            break
    return chosen


def without(tables: Sequence[Values], parts: Sequence[Part]) -> list[Values]:
    """Return tables without what is hidden in parts of them."""
    known = [table.copy() for table in tables]
    for part in parts:
        known[part.number][part.first : part.first + len(part.table)][part.hidden] = np.nan
    return known


class Rehearsal:
    """What is hidden in some tables, ready to be filled by one net or several.

    Parameters
    ----------
    parts
        Tables with the same columns.
    columns
        How many of them, the first, are compared.
    fitted
        The means and scales of the columns.
    """

    def __init__(self, parts: Sequence[Part], columns: int, fitted: Fitted):
        self.fitted = fitted
        self.table = np.concatenate([part.table for part in parts])
        self.known = np.concatenate([part.known for part in parts])
        self.line = np.concatenate([_line(part.known) for part in parts])
        self.weight = np.concatenate([_weight(part.hidden) for part in parts])
        self.lanes: list[Lane] = []
        above = 0
        for part in parts:
            for lane in lanes_of(part.known, part.hidden, fitted):
                # What lacks anyway is not compared.
                asked = lane.asked & part.hidden[slice(*lane.rows), lane.column]
                if lane.column < columns and asked.any():
                    rows = Span(above + lane.rows.start, above + lane.rows.stop)
                    self.lanes.append(lane._replace(rows=rows, asked=asked))
            above += len(part.table)

    @property
    def equally_long(self) -> Iterator[list[Lane]]:
        """The lanes, those together that are equally long."""

        def length(lane: Lane) -> int:
            return len(lane.missing)

        for _, lanes in groupby(sorted(self.lanes, key=length), length):
            yield list(lanes)

    def with_model(self, model: WindowModel) -> "Rehearsal":
        """Return the same numbers to be filled, with the opinion of a Gaussian model."""
        other, shares = copy(self), np.ones(self.table.shape[1])
        by_window = [list(lanes) for _, lanes in groupby(self.lanes, lambda lane: lane.rows)]
        known = [self.known[slice(*lanes[0].rows)] for lanes in by_window]
        said = model.say_each(known, [~np.isnan(table) for table in known])
        each = zip(by_window, said, strict=True)
        other.lanes = [
            lane for lanes, one in each for lane in with_opinion(lanes, model, one, shares)
        ]
        return other

    def fill(self, net: Net, shares: Float[np.ndarray, " D"] | None = None) -> Rehearsed:
        """Return what the net says about the hidden numbers, and with shares the Gaussian model."""
        nothing = np.zeros(0)
        found = [Rehearsed(nothing.astype(int), *([nothing] * 6))]
        for lanes in self.equally_long:
            asked = lanes if shares is None else [_with_share(lane, shares) for lane in lanes]
            answer = quantiles(net, asked, np.array(LEVELS))
            at, (low, median, high) = tuple(answer.places.T), answer.values
            given = self.weight[at], self.table[at]
            found.append(Rehearsed(at[1], *given, low, median, high, self.line[at]))
        return Rehearsed(*map(np.concatenate, zip(*found, strict=True)))


def _with_share(lane: Lane, shares: Float[np.ndarray, " D"]) -> Lane:
    beside, share = lane.beside, float(shares[lane.column])
    return lane._replace(beside=beside._replace(share=share) if beside and share else None)


def choose_shares(rehearsal: Rehearsal, net: Net) -> Float[np.ndarray, " D"]:
    """Return how probable it should be that the Gaussian model is asked, for each column.

    It is the share whose medians are nearest to the hidden numbers of the column, or one that is
    nearer to a half and hardly worse. A column of few hidden numbers leans on the others.
    """
    errors, columns = [np.zeros((len(SHARES), 0))], [np.zeros(0, int)]
    for lanes in rehearsal.equally_long:
        for found, some in distributions(net, lanes):
            if not isinstance(found, Pooled):  # of columns that do not vary
                continue
            tried = [found._replace(share=np.full(len(found.share), share)) for share in SHARES]
            answers = [located(one, some, np.array([0.5])) for one in tried]
            at = tuple(answers[0].places.T)
            medians = np.concatenate([answer.values for answer in answers])
            errors.append(np.abs(medians - rehearsal.table[at]))
            columns.append(at[1])
    each, column = np.concatenate(errors, axis=1), np.concatenate(columns)
    chosen = np.zeros(rehearsal.table.shape[1])
    for number in np.unique(column):
        own = each[:, column == number]
        lean = np.repeat(each.mean(axis=1, keepdims=True), FEW, axis=1)
        chosen[number] = steady_share(np.concatenate([own, lean], axis=1))
    return chosen


def steady_share(errors: Float[np.ndarray, "shares n"]) -> float:
    """Return the one of `SHARES` with the least error, or one that is nearer to a half.

    Its mean error is not above the least one by more than the standard error of the difference:
    two models of equal weight are the safest, since other rows may differ from these.
    """
    best = int(np.argmin(errors.mean(axis=1)))
    worse = errors - errors[best]
    allowed = worse.std(axis=1) / np.sqrt(errors.shape[1])
    steady = [s for s, ok in zip(SHARES, worse.mean(axis=1) <= allowed, strict=True) if ok]
    return min(steady, key=lambda share: abs(share - 0.5))


def _line(known: Values) -> Values:
    return between(np.nan_to_num(known), ~np.isnan(known))


def _weight(hidden: Bool[np.ndarray, "T D"]) -> Float[np.ndarray, "T D"]:
    """Return how much each hidden number counts."""
    weight = np.zeros(hidden.shape)
    for column, of_column in enumerate(hidden.T):
        for gap in runs(of_column):
            weight[slice(*gap), column] = min(1.0, ALIKE / (gap.stop - gap.start))
    return weight


class Gap(NamedTuple):
    """So many steps, missing in some columns at once."""

    length: int
    columns: Bool[np.ndarray, " D"]


def gaps_of(tables: Sequence[Bool[np.ndarray, "_ D"]], columns: int) -> list[list[Gap]]:
    """Return the gaps of each of the first columns, with the columns that have the same gap."""
    found: list[list[Gap]] = [[] for _ in range(columns)]
    for missing in tables:
        edge = np.diff(missing, axis=0, prepend=False, append=False)
        for column in range(columns):
            spans = edge[:, column].nonzero()[0].reshape(-1, 2)
            if len(spans) > MOST_GAPS:  # some at random, since gaps may come in a regular order
                spans = np.random.default_rng(0).choice(spans, MOST_GAPS, replace=False)
            for start, stop in spans.tolist():
                same = edge[start] & edge[stop] & missing[start:stop].all(axis=0)
                found[column].append(Gap(stop - start, same))
    return found


def hide(
    rng: np.random.Generator, missing: Bool[np.ndarray, "T D"], gaps: list[list[Gap]]
) -> Bool[np.ndarray, "T D"]:
    """Return some of the observed places of a table, in gaps like those that its columns have.

    What fails together is hidden together. In a column without a gap, single numbers are hidden.
    """
    rows, observed = len(missing), ~missing
    seen = observed.sum(axis=0)
    hidden = np.zeros_like(missing)
    wanted = np.floor(SHARE * seen + rng.random(len(seen)))
    for column in rng.permutation(len(gaps)):
        own = gaps[column] or [Gap(1, np.arange(len(seen)) == column)]
        for _ in range(rows):
            length, columns = own[int(rng.integers(len(own)))]
            # A long gap is copied so rarely that as much is hidden as is wanted, on average.
            lacking = wanted[column] - hidden[:, column].sum()
            if length > rows or rng.random() * length >= lacking:
                break
            to = int(rng.integers(rows - length + 1))
            more = hidden.copy()
            more[to : to + length] |= columns
            more &= observed
            fits = (observed & ~more).sum(axis=0) >= np.maximum(STAY * seen, 1)
            hidden = np.where(fits, more, hidden)
    return hidden


def spreads(found: Rehearsed, columns: int, aimed: float = AIMED) -> Float[np.ndarray, " columns"]:
    """Return by how much the distributions of each column must be stretched for intervals to hold.

    Around its median, the interval of each hidden number would have to be stretched so much to
    reach it; of these factors, the share `aimed` is below the answer (a conformal prediction). A
    column of few hidden numbers leans on the others, and a table of few on 1.
    """
    some = found.some((found.high > found.median) & (found.median > found.low))
    off, column = some.truth - some.median, some.column
    needed = np.maximum(off / (some.high - some.median), off / (some.low - some.median))
    each = np.full(columns, _stretch(needed, some.weight.sum(), 0.0, aimed))
    for number in range(columns) if columns > 1 else ():  # an only one has been counted
        own = column == number
        each[number] = _stretch(needed[own], some.weight[own].sum(), each[number], aimed)
    return np.exp(np.clip(each, np.log(NARROWEST), np.log(WIDEST)))


def _stretch(
    needed: Float[np.ndarray, " n"], weight: float, otherwise: float, aimed: float
) -> float:
    """Return the logarithm of the factor."""
    if not len(needed):
        return otherwise
    level = min(1.0, aimed * (len(needed) + 1) / len(needed))
    own = np.log(max(np.quantile(needed, level), NARROWEST))
    return float((weight * own + FEW * otherwise) / (weight + FEW))


def report(found: Rehearsed, names: Sequence[str], aimed: float = AIMED) -> list[Checked]:
    """Return how good the model was in each column.

    The intervals in each half of the hidden numbers are stretched as the other half says.
    """
    half = np.zeros(len(found.truth), bool)
    for number in range(len(names)):
        own = np.flatnonzero(found.column == number)
        half[own[: len(own) // 2]] = True
    inside = np.zeros(len(found.truth), bool)
    for tested in (half, ~half):
        stretch = spreads(found.some(~tested), len(names), aimed)[found.column]
        low = found.median + stretch * (found.low - found.median)
        high = found.median + stretch * (found.high - found.median)
        inside |= tested & (low <= found.truth) & (found.truth <= high)
    answers = []
    for number, name in enumerate(names):
        own = found.column == number
        if own.any():
            error, line = (
                float(np.abs(guess - found.truth)[own].mean())
                for guess in (found.median, found.line)
            )
            answers.append(Checked(name, int(own.sum()), error, line, float(inside[own].mean())))
    return answers
