"""A pretrained model for tables of any columns: it fills at once, without training."""

import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Bool, Float

from caesura.errors import CaesuraError, whole_number
from caesura.filler.assemble import between_gaps
from caesura.filler.candidates import Completion, LogProb
from caesura.filler.columns import (
    Answer,
    Fitted,
    bins_of,
    count_lanes,
    draw,
    lanes_of,
    log_prob,
    quantiles,
)
from caesura.filler.filler import Filler
from caesura.filler.marginals import Marginals
from caesura.filler.rehearsal import (
    AIMED,
    AIMED_POOLED,
    Checked,
    Rehearsal,
    Rehearsed,
    Values,
    choose_shares,
    parts_of,
    report,
    spreads,
    without,
)
from caesura.filler.request import Missing, Request, mask_of
from caesura.filler.running import Report
from caesura.filler.series_fill import SeriesFill
from caesura.filler.tasks import seed_of
from caesura.kinds.series import Series, TableItem, process
from caesura.kinds.series.experts import learn_prior
from caesura.kinds.series.factors import WindowModel
from caesura.kinds.series.levels import shares_of, switches_of
from caesura.kinds.series.table import read_table
from caesura.nets.bins import CENTRES, EDGES, find_bin
from caesura.nets.frames import make_frame
from caesura.sequence import Sequence
from caesura.strategies import BothWays, Strategy

LEAST_OBSERVED = 1


class Learnt(NamedTuple):
    """What tables have shown about their columns."""

    fitted: Fitted
    checked: list[Checked]


@dataclass(frozen=True, eq=False, repr=False)
class TableFiller(Filler):
    """A model that fills tables it has never seen.

    It comes from `caesura.load("series")`. Its net sees one column at a time, with what a
    regression on the other columns, the season and the neighbours say about each missing number.

    `fill` learns the means and scales of the columns from the table itself, and how wide its
    intervals must be. `fitted` learns them from other tables with the same columns.

    Attributes
    ----------
    learnt : Learnt or None
        What `fitted` has learnt from other tables.
    fields : dict
        Options of `Series.learn` for tables whose columns are not known yet.

    Examples
    --------
    >>> import numpy as np, caesura
    >>> table = np.sin(np.arange(60.0))[:, None]
    >>> table[20:23] = np.nan
    >>> fill = caesura.load("series").fill(table)
    >>> bool(np.abs(fill.best - np.sin(np.arange(60.0))[:, None]).max() < 0.5)
    True
    """

    learnt: Learnt | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def fitted(self, tables: Iterable[Any], **fields: Any) -> "TableFiller":
        """Return the filler for tables with the columns of these.

        Parameters
        ----------
        tables
            Tables with equal columns, of which what is observed is learnt.
        fields
            Options of `Series.learn`, such as `bounds` or `covariates`.
        """
        given = list(tables)
        kind = self._kind(given, fields)
        tables = [kind.open(one).complete.values for one in given]
        return replace(self, kind=kind, learnt=self.learn(kind, tables))

    def open(self, data: Any) -> TableItem:
        """Return a table as an item; if no other tables were fitted, its own columns are learnt."""
        if self.learnt is not None:
            return cast(Series, self.kind).open(data)
        if isinstance(data, TableItem):
            return data
        path = Series.path_of(data)
        given: Any = data if path is None else read_table(path)
        return self._kind([given], {}).open(given)

    def fill_many(
        self,
        requests: Iterable[Any],
        *,
        return_exceptions: bool = False,
        report: Report | None = None,
    ) -> Any:
        """Complete many tables, as `Filler.fill_many`.

        `Fill.best` has the medians and `Fill.quantile` the quantiles of each missing number, given
        everything observed. `Fill.samples` are random fills whose numbers cohere in time. `report`
        is called with the number of tables that are filled, or of the columns of an only one.
        """
        asked = [one if isinstance(one, Request) else Request(one) for one in requests]
        answers: list[Any] = []
        for number, request in enumerate(asked):
            try:
                answers.append(self._fill(request, report if len(asked) == 1 else None))
            except Exception as error:
                if not return_exceptions:
                    raise
                answers.append(error)
            if report is not None and len(asked) > 1:
                report(number + 1, len(asked))
        return answers

    def log_prob(
        self,
        data: Any,
        *,
        missing: Missing,
        strategy: str | Strategy | None = None,
        seed: int = 0,
    ) -> LogProb:
        """Return the log-density of what complete data has at some places, as `Filler.log_prob`.

        It is exact. Columns are independent of each other given what is observed.
        """
        _check_strategy(strategy)
        kind, item, learnt = self._open(data)
        complete = item.complete
        mask = mask_of(missing, complete) & make_frame(kind.frame).fillable
        if np.isnan(complete.values[mask]).any():
            raise CaesuraError("The data must be complete where its probability is asked for.")
        if mask[:, kind.numbers :].any():
            raise CaesuraError(
                "The pretrained model gives no log-probability of categories: train a model for it."
            )
        lanes = lanes_of(complete.values, mask, learnt.fitted)
        if not mask.any():
            return LogProb(0.0, 0.0)
        (nats,) = log_prob(self.nets["bidirectional"], lanes, complete.values[None])
        return LogProb(float(nats) - kind.log_scale(mask), 0.0)

    def marginals(
        self,
        data: Any,
        *,
        missing: Missing | None = None,
        strategy: str | Strategy | None = None,
        seed: int = 0,
    ) -> Marginals:
        """Return the distribution at each missing place by itself, as `Filler.marginals`."""
        _check_strategy(strategy)
        kind, item, learnt = self._open(data)
        mask = _mask(kind, item, missing)
        lanes = lanes_of(item.complete.values, mask, learnt.fitted)
        if not mask.any():
            nothing = np.zeros((0, len(CENTRES)))
            return Marginals(np.zeros((0, 2), int), CENTRES.tolist(), nothing, nothing)
        places, mass = bins_of(self.nets["bidirectional"], lanes, EDGES)
        order = np.lexsort(places.T[::-1])
        log_probs = np.log(np.maximum(mass[order], np.finfo(np.float32).tiny))
        return Marginals(places[order], CENTRES.tolist(), log_probs, np.zeros_like(log_probs))

    def evaluate(self, items: Iterable[Any], **options: Any) -> Any:
        """Raise: gaps of whole frames say little about a model that reads columns."""
        raise CaesuraError(
            "The pretrained model for tables is measured by benchmarks/zero_shot.py; "
            "`evaluate` is for models that were trained on a table."
        )

    def save(
        self, path: str | os.PathLike[str], *, dtype: str = "float32", card: bool = False
    ) -> None:
        """Write the model to a file, as `Filler.save`; a fitted one cannot be saved."""
        if self.learnt is not None:
            raise CaesuraError(
                "A fitted model for tables is not saved, since its weights are those of "
                "caesura.load('series'): save the table, and fit it again."
            )
        super().save(path, dtype=dtype, card=card)

    def group(self, request: Request) -> Hashable:
        """Return nothing that two requests share: each table is filled by itself."""
        return id(request)

    def with_kind(self, **fields: Any) -> "TableFiller":
        """Return the same filler with other fields of its kind, such as `add_rows`."""
        if self.learnt is None:
            return replace(self, fields={**self.fields, **fields})
        return replace(self, kind=replace(self.kind, **fields))

    def _kind(self, tables: list[Any], fields: Mapping[str, Any]) -> Series:
        return Series.learn(tables, **{"least_observed": LEAST_OBSERVED, **self.fields, **fields})

    def learn(self, kind: Series, tables: list[Values]) -> Learnt:
        """Return what standardised tables show about their columns."""
        known = np.concatenate(tables)
        prior = learn_prior(np.nan_to_num(known), ~np.isnan(known))
        fitted = Fitted(prior, np.ones(known.shape[1]))
        parts = parts_of(tables, kind.numbers)
        rehearsal = Rehearsal(parts, kind.numbers, fitted)
        alone = rehearsal.fill(self.nets["bidirectional"])
        if kind.numbers == 1 and np.isfinite(alone.error):
            model = process.fit(max(without(tables, parts), key=len))
            if model is not None:
                return self._pooled(kind, rehearsal, alone, model, AIMED)
        return _learnt(kind, fitted, alone)

    def pooled(self, rehearsal: Rehearsal, alone: Rehearsed, model: WindowModel) -> "TableFiller":
        """Return the filler with a Gaussian model beside its net, if that is better.

        `alone` is what the net alone says about the numbers of the rehearsal.
        """
        kind = cast(Series, self.kind)
        return replace(self, learnt=self._pooled(kind, rehearsal, alone, model, AIMED_POOLED))

    def _pooled(
        self,
        kind: Series,
        rehearsal: Rehearsal,
        alone: Rehearsed,
        model: WindowModel,
        aimed: float,
    ) -> Learnt:
        net, fitted = self.nets["bidirectional"], rehearsal.fitted
        beside = rehearsal.with_model(model)
        shares = choose_shares(beside, net)
        found = beside.fill(net, shares)
        if found.error < alone.error:
            return _learnt(kind, fitted._replace(model=model, shares=shares), found, aimed)
        return _learnt(kind, fitted, alone)

    def _open(self, data: Any) -> tuple[Series, TableItem, Learnt]:
        item = self.open(data)
        learnt = self.learnt or self.learn(item.kind, [item.complete.values])
        return item.kind, item, learnt

    def _fill(self, request: Request, report: Report | None) -> SeriesFill:
        if request.asks or request.seconds is not None:
            raise CaesuraError(
                "The pretrained model for tables takes no patterns and no time limit."
            )
        _check_strategy(request.strategy)
        seed = seed_of(request.seed)
        samples = whole_number("samples", request.samples, 0, 100_000)
        draws = whole_number("draws", request.draws or Series.draws, 1, 100_000)
        kind, item, learnt = self._open(request.data)
        mask = _mask(kind, item, request.missing)
        net, values = self.nets["bidirectional"], item.complete.values
        # Made anew for each use, since those of a long table would take much memory.
        lanes = partial(lanes_of, values, mask, learnt.fitted)
        sequence = Sequence(np.where(mask, 0, values).astype(np.float32), mask)
        levels = np.arange(1, draws + 1) / (draws + 1)  # those that `quantile` looks for
        grid = np.zeros((draws, 0))
        if mask.any():
            total = count_lanes(mask)
            tell = None if report is None else (lambda done: report(done, total))
            grid = _in_order(quantiles(net, lanes(), levels, tell))
        drawn, scores = np.zeros((samples, grid.shape[1])), np.zeros(samples)
        if samples and mask.any():
            drawn = _in_order(draw(net, lanes(), samples, seed))
            tables = np.repeat(values[None].astype(np.float64), samples, axis=0)
            tables[:, mask] = drawn
            scores = log_prob(net, lanes(), tables) - kind.log_scale(mask)
        best = np.median(grid, axis=0)
        parts = (sequence.missing, best[None], grid, drawn)
        best, grid, drawn = _with_levels(kind, *parts)
        return _answer(kind, item, sequence, best[0], grid, drawn, scores, seed)


def _learnt(kind: Series, fitted: Fitted, found: Rehearsed, aimed: float = AIMED) -> Learnt:
    """Return how wide the distributions must be, and how good they are, from a rehearsal."""
    spread = np.ones(len(fitted.spread))
    spread[: kind.numbers] = spreads(found, kind.numbers, aimed)
    names = [column.name for column in kind.filled[: kind.numbers]]
    return Learnt(fitted._replace(spread=spread), report(found, names, aimed))


def _check_strategy(strategy: str | Strategy | None) -> None:
    name = strategy.name if isinstance(strategy, Strategy) else strategy
    if name not in (None, BothWays.name):
        raise CaesuraError(
            f"The pretrained model for tables knows only the strategy '{BothWays.name}', "
            f"not '{name}'."
        )


def _mask(kind: Series, item: TableItem, missing: Missing | None) -> Bool[np.ndarray, "T D"]:
    """Return what is missing in the table, and what is asked for beside."""
    frame, mask = make_frame(kind.frame), item.sequence.missing
    if missing is not None:
        mask = mask | (mask_of(missing, item.sequence) & frame.fillable)
    frame.check(item.sequence.values, mask)  # a category is missing as a whole
    return mask


def _in_order(answer: Answer) -> Float[np.ndarray, "n places"]:
    """Return the numbers row by row, and column by column within a row."""
    return answer.values[:, np.lexsort(answer.places.T[::-1])]


def _with_levels(
    kind: Series,
    missing: Bool[np.ndarray, "T D"],
    best: Float[np.ndarray, "1 places"],
    grid: Float[np.ndarray, "draws places"],
    drawn: Float[np.ndarray, "samples places"],
) -> tuple[Float[np.ndarray, "_ places"], ...]:
    """Return the fills with a level in place of the numbers of each category.

    The net knows switches as numbers. The mean of a switch is taken for the probability of its
    level, and the quantiles are replaced by levels in these shares.
    """
    number = np.full(missing.shape, -1)
    number[missing] = np.arange(missing.sum())
    best, grid, drawn = best.copy(), grid.copy(), drawn.copy()
    for inside in kind.components[kind.numbers : len(kind.filled)]:
        places = number[missing[:, inside.start], inside]  # [rows, switches]
        if not len(places):
            continue
        shares = np.maximum(shares_of(np.clip(grid[:, places].mean(axis=0), 0, 1)), 0)
        shares /= shares.sum(axis=1, keepdims=True)
        count = shares.shape[1]
        best[0, places] = switches_of(shares.argmax(axis=1).astype(float), count)
        below = np.cumsum(shares, axis=1)[:, :-1]
        for row, level in enumerate((np.arange(len(grid)) + 0.5) / len(grid)):
            grid[row, places] = switches_of((below < level).sum(axis=1).astype(float), count)
        for row in range(len(drawn)):
            likeliest = shares_of(drawn[row, places]).argmax(axis=1).astype(float)
            drawn[row, places] = switches_of(likeliest, count)
    return best, grid, drawn


def _answer(
    kind: Series,
    item: TableItem,
    sequence: Sequence,
    best: Float[np.ndarray, " places"],
    grid: Float[np.ndarray, "draws places"],
    drawn: Float[np.ndarray, "samples places"],
    scores: Float[np.ndarray, " samples"],
    seed: int,
) -> SeriesFill:
    lengths = tuple(gap.stop - gap.start for gap in sequence.gaps)
    no_score = float("nan")  # the passes of `fill` score samples only

    def completion(values: Float[np.ndarray, " places"], score: float) -> Completion:
        return Completion(values.astype(np.float32), lengths, score)

    return SeriesFill(
        item=item,
        kind=kind,
        sequence=sequence,
        confidence=(find_bin(grid) == find_bin(best)).mean(axis=0),
        log_prob=LogProb(no_score, no_score),
        log_probs=scores,
        standard_errors=np.zeros(len(scores)),
        strategy="one pass",
        seed=seed,
        ended="finished",
        between=between_gaps(sequence),
        unknown=(),
        completions=[completion(one, no_score) for one in (best, *grid)],
        sampled=[completion(*pair) for pair in zip(drawn, scores.tolist(), strict=True)],
        readings=[],
    )
