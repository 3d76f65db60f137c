"""Gaps in tables, filled by an estimator that scikit-learn understands."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, cast

import numpy as np

from caesura.errors import CaesuraError
from caesura.filler.draws import score_series
from caesura.filler.filler import Filler
from caesura.filler.imputation import MEDIAN, fill_quantiles, fill_samples, level_shares
from caesura.hardware import use_all_cores
from caesura.kinds import Series
from caesura.kinds.series.table import is_frame
from caesura.sequence import Sequence as Steps
from caesura.training.loop import Progress
from caesura.training.progress import showing
from caesura.training.train import train

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise CaesuraError(
        "This needs scikit-learn: `pip install 'caesura[sklearn]'` installs it."
    ) from None


class SeriesImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Learns a table whose rows are steps in time, and fills what is missing in such tables.

    X is a DataFrame, an array [steps, columns], an array [series, steps, columns], or a list of
    tables, which may differ in length; NaN is missing. Answers have the form of X, observed values
    come back bit for bit, and the order of rows means something: they are not to be shuffled.

    A model is trained in `fit` and nothing else fills a gap. Where a column is too little known to
    be learnt, a `CaesuraError` says so; one in which nothing is known is left as it is, with a
    warning.

    Columns of True and False, of 0 and 1 alone, of categories, and of words that are at most 20
    different ones are learnt as categories, with probabilities instead of densities: they inform
    the numbers, and are filled with one of their levels. Words of more kinds come back as they are.
    Columns keep their types; one of True, False and None stays one of objects.

    Parameters
    ----------
    columns : names or numbers of the columns to fill; by default all that hold numbers or levels.
    categorical : names or numbers of columns that are categories whatever they hold: codes, say.
    covariates : names or numbers of columns that inform and are never filled; they are complete.
    bounds : (least, most) for all columns, or a dict of such pairs by name; None for no bound.
    calendar : "auto", or some of "hour", "weekday" and "yearday", for rows that have times.
    freq : the frequency of the times as pandas writes it; by default it is found out.
    time : the column that holds the times, if the index does not; by default the first, if it does.
    add_rows : whether rows that are absent between the times of others are added to answers.
    samples : how many draws an answer is made of.
    strategy : how gaps are filled; by default as the recipe says.
    recipe : the name of a recipe or the path of one.
    settings : a dict of fields of the recipe, such as {"steps": 500}.
    least_observed : a column with fewer known numbers is refused.
    random_state : the source of all that is random; None for another at every `fit`.
    verbose : whether `fit` shows its progress on stderr.

    Attributes
    ----------
    filler_ : the trained `caesura.Filler`, which can be saved.
    seed_ : what answers are drawn with, so that they are the same every time.
    """

    def __init__(
        self,
        *,
        columns: Any = None,
        categorical: Any = None,
        covariates: Any = None,
        bounds: Any = None,
        calendar: Any = "auto",
        freq: Any = None,
        time: Any = None,
        add_rows: Any = False,
        samples: Any = 100,
        strategy: Any = None,
        recipe: Any = "series",
        settings: Any = None,
        least_observed: Any = 100,
        random_state: Any = None,
        verbose: Any = False,
    ):
        self.columns = columns
        self.categorical = categorical
        self.covariates = covariates
        self.bounds = bounds
        self.calendar = calendar
        self.freq = freq
        self.time = time
        self.add_rows = add_rows
        self.samples = samples
        self.strategy = strategy
        self.recipe = recipe
        self.settings = settings
        self.least_observed = least_observed
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> "SeriesImputer":
        """Train a model on what is observed in X; y is not looked at.

        All cores take part, unless JAX has run in this process before.
        """
        use_all_cores()
        tables = self._tables(X, reset=True)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        with showing() if self.verbose else nullcontext(_tell_nobody) as report:
            self.filler_: Filler = train(
                tables,
                kind="series",
                recipe=self.recipe,
                seed=self.seed_,
                columns=self.columns,
                categorical=self.categorical,
                covariates=self.covariates,
                bounds=self.bounds,
                calendar=self.calendar,
                freq=self.freq,
                time=self.time,
                add_rows=self.add_rows,
                least_observed=self.least_observed,
                report=report,
                **(self.settings or {}),
            )
        return self

    def transform(self, X: Any) -> Any:
        """X with the medians of the draws in its gaps; of all numbers, they err least.

        A category gets the level that was drawn most often.
        """
        return self.quantile(X, MEDIAN)

    def quantile(self, X: Any, q: float | Sequence[float]) -> Any:
        """X with quantiles of level q in its gaps; a list of them, for a list of levels.

        Categories have none: they are filled as `transform` does.
        """
        levels = np.atleast_1d(q).tolist()
        filled = self._fill(X, fill_quantiles, levels, self.samples)
        return filled if np.ndim(q) else filled[0]

    def sample(self, X: Any, n: int = 1) -> list[Any]:
        """X filled n times, each time by another draw: what could have been, as a whole."""
        return self._fill(X, fill_samples, n)

    def probabilities(self, X: Any) -> Any:
        """How sure the fills of categories are: by the name of each, the share of every level.

        They are shares of the draws, [steps, levels], in a DataFrame for a DataFrame; what is
        observed has the share 1. For several series, a list of such dicts.
        """
        check_is_fitted(self)
        how = {"strategy": self.strategy, "seed": self.seed_}
        found = level_shares(self.filler_, self._tables(X, reset=False), self.samples, **how)
        return found if _is_several(X) else found[0]

    def log_prob(self, X: Any, missing: Any) -> float:
        """Nats of the density, in the units of X, of what it has at the missing places, given the
        rest; of levels, of their probability.

        `missing` is True at them and has the form of X. A long series is cut as for draws.
        """
        check_is_fitted(self)
        tables = self._tables(X, reset=False)
        masks = list(missing) if _is_several(X) else [missing]
        if len(masks) != len(tables):
            raise CaesuraError(f"There are {len(tables)} series, but {len(masks)} masks.")
        return sum(map(self._log_prob, tables, masks))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _log_prob(self, table: Any, missing: Any) -> float:
        mask, kind = np.asarray(missing), cast(Series, self.filler_.kind)
        if mask.dtype != bool or mask.shape != np.shape(table):
            raise CaesuraError(
                f"`missing` holds True and False in the shape {list(np.shape(table))} of the table."
            )
        without = table.mask(mask) if is_frame(table) else np.where(mask, np.nan, table)
        complete = kind.read_complete(table)
        places = kind.read(without).missing & ~np.isnan(complete.values)
        columns = [inside.start for inside in kind.places_in_frame[: kind.filled]]
        if places[:, columns].sum() != mask.sum():
            raise CaesuraError("`missing` names places that hold nothing, or that are not filled.")
        asked = Steps(complete.values, places)
        return score_series(self.filler_, asked, strategy=self.strategy, seed=self.seed_)

    def _fill(self, X: Any, fill: Callable[..., list[list[Any]]], *asked: Any) -> list[Any]:
        """The answers of `fill` in the form of X."""
        check_is_fitted(self)
        tables = self._tables(X, reset=False)
        answers = fill(self.filler_, tables, *asked, strategy=self.strategy, seed=self.seed_)
        if not _is_several(X):
            return [tables[0] for tables in answers]
        return [np.stack(tables) if isinstance(X, np.ndarray) else tables for tables in answers]

    def _tables(self, X: Any, reset: bool) -> list[Any]:
        """The series in X, their columns known to scikit-learn."""
        if _is_several(X):
            if not len(X):
                raise CaesuraError("There is no series.")
            return [self._table(one, reset and number == 0) for number, one in enumerate(X)]
        return [self._table(X, reset)]

    def _table(self, table: Any, reset: bool) -> Any:
        if is_frame(table):  # whose columns may hold anything
            validate_data(self, table, reset=reset, skip_check_array=True)
            return table
        return validate_data(
            self,
            table,
            reset=reset,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )


def _tell_nobody(net: str, progress: Progress) -> None:
    pass


def _is_several(X: Any) -> bool:
    """Whether it is a list of tables or an array of them, and not a table."""
    if isinstance(X, np.ndarray):
        return X.ndim == 3
    return isinstance(X, list | tuple) and (not X or np.ndim(X[0]) == 2)
