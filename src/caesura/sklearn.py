"""`SeriesImputer`: a scikit-learn estimator that fills gaps in tables."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, no_type_check

import numpy as np

from caesura.errors import CaesuraError, CaesuraWarning, extra, lookup
from caesura.filler import Filler, Request, SeriesFill, load
from caesura.filler.rehearsal import Checked
from caesura.filler.tables import TableFiller
from caesura.hardware import use_all_cores
from caesura.kinds import Series
from caesura.kinds.series import foreign
from caesura.kinds.series.table import is_frame
from caesura.kinds.series.times import seconds_of
from caesura.strategies import Strategy
from caesura.training.pooling import CheckedPool
from caesura.training.progress import showing
from caesura.training.train import train
from caesura.training.tuning import tune

with extra("sklearn", "SeriesImputer needs scikit-learn"):
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data

ADAPTATIONS = ("none", "quick", "full")
WORSE = 1.1  # times the error of a line: less may be chance

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:
    import pandas as pd

    Tables: TypeAlias = pd.DataFrame | np.ndarray | Sequence[pd.DataFrame | np.ndarray]
    Names: TypeAlias = str | int | Sequence[str | int] | None
    Bounds: TypeAlias = tuple[float | None, float | None]


def _unchecked(function: F) -> F:
    """Mark a function whose arguments are not checked at run time, even in tests."""
    return no_type_check(function)


class SeriesImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill missing values in tables whose rows are steps in time.

    X is a DataFrame, an array [steps, columns], an array [series, steps, columns], or a list of
    tables, which may differ in length. DataFrames may be those of pandas or polars. NaN or null is
    missing. Answers have the form of X, and observed values stay the same, bit for bit.
    The order of the rows matters: do not shuffle them.

    By default the pretrained model `series` fills the table, and `fit` learns only the means and
    scales of the columns and how wide their intervals must be: that takes no time. To a column of
    numbers that stands alone, it also fits a Gaussian process, which takes a second. With
    ``adapt="quick"``, `fit` also fits a Gaussian model to the table, for as long as `budget` says,
    and pools it with the pretrained one.
    With ``adapt="full"``, it trains a net on the table alone, which takes a minute or more, and
    pools it with a Gaussian model that is fitted for as long as `budget` says. A column without any
    observed value stays as it is, with a warning.

    Some columns are learnt as categories: True and False, only 0 and 1, categories of pandas, and
    at most 20 different words. They have probabilities instead of densities. They help to fill the
    numbers, and their gaps are filled with one of their levels. Columns with more different words
    stay as they are.

    Parameters
    ----------
    columns : list of names or numbers, optional
        The columns to fill. By default all that hold numbers or levels.
    categorical : list of names or numbers, optional
        Columns to treat as categories, whatever they contain, such as codes.
    covariates : list of names or numbers, optional
        Complete columns that help to fill the others and are never filled.
    bounds : (least, most) or dict of such pairs by name, optional
        Bounds for all columns or for some; None for no bound.
    calendar : "auto" or list of "hour", "weekday", "yearday", default "auto"
        Calendar features to use, if the rows have times.
    freq : str, optional
        The frequency of the times as pandas writes it. By default it is inferred.
    time : str, optional
        The column that holds the times, if the index does not. By default the first column, if it
        holds times.
    add_rows : bool, default False
        Whether answers have rows for times that are absent between the others.
    samples : int, default 100
        How many random fills an answer is made of; of the pretrained model, how many quantiles.
    adapt : "none", "quick" or "full", default "none"
        "none" fills with the pretrained model. "quick" pools it with a Gaussian model of the
        table. "full" trains a net on the table, and pools this one with a Gaussian model.
    budget : str or float, default "30s"
        By the clock, how long ``adapt="quick"`` takes, and how long ``adapt="full"`` fits the
        Gaussian model, after the net: seconds, or such as "2min".
    strategy : str or Strategy, optional
        How gaps are filled. By default as the recipe says. Only with ``adapt="full"``.
    recipe : str, optional
        The name of a recipe, or the path of one. By default "series". Only with ``adapt="full"``.
    settings : dict, optional
        Fields of the recipe, such as ``{"steps": 500}``. Only with ``adapt="full"``.
    least_observed : int, optional
        A column with fewer observed values is refused. By default 1, and 100 with
        ``adapt="full"``.
    random_state : int, RandomState or None, default None
        The seed of the random numbers.
    verbose : bool, default False
        Whether `fit` shows its progress on stderr.

    Attributes
    ----------
    filler_ : caesura.Filler
        The model that fills. A trained one can be saved.
    report_ : DataFrame
        How good the model is on this table: for each column of numbers, the mean error
        on some of its observed numbers, which were hidden for this, that of a line between
        neighbours, both in standard deviations, and the share of these numbers in their intervals
        of 90 %. With ``adapt="quick"`` also the error of the pretrained model: the same numbers
        were held out, and if tuning did not make their mean error smaller, the pretrained model
        is kept. With ``adapt="full"`` also the errors of the net and of the Gaussian model alone;
        the numbers are from the part of the table that the net was not trained on.
    seed_ : int
        The seed of the answers: they are the same every time.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.sklearn import SeriesImputer
    >>> table = np.sin(np.arange(300.0))[:, None]
    >>> table[40:43] = np.nan
    >>> full = SeriesImputer().fit_transform(table)
    >>> bool(np.isnan(full).any())
    False
    """

    @_unchecked  # it stores what it is given; `fit` checks it, as scikit-learn wants
    def __init__(
        self,
        *,
        columns: "Names" = None,
        categorical: "Names" = None,
        covariates: "Names" = None,
        bounds: "Bounds | Mapping[str, Bounds] | None" = None,
        calendar: str | Sequence[str] | None = "auto",
        freq: str | None = None,
        time: str | None = None,
        add_rows: bool = False,
        samples: int = 100,
        adapt: str = "none",
        budget: str | float = "30s",
        strategy: str | Strategy | None = None,
        recipe: str | None = None,
        settings: Mapping[str, Any] | None = None,
        least_observed: int | None = None,
        random_state: "int | np.random.RandomState | None" = None,
        verbose: bool = False,
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
        self.adapt = adapt
        self.budget = budget
        self.strategy = strategy
        self.recipe = recipe
        self.settings = settings
        self.least_observed = least_observed
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: "Tables", y: object = None) -> "SeriesImputer":
        """Learn the columns of X, and with `adapt` tune or train a model on them.

        It uses all cores, unless JAX was used in this process before.

        Parameters
        ----------
        X : table or tables
            The tables to fill, in a form that the class lists.
        y : ignored
            Only here because scikit-learn passes it.

        Returns
        -------
        SeriesImputer
            This imputer, fitted.
        """
        lookup(dict.fromkeys(ADAPTATIONS), self.adapt, "way to adapt")
        seconds = seconds_of(self.budget)
        use_all_cores()
        tables = self._tables(X, reset=True)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        fields = {
            "columns": self.columns,
            "categorical": self.categorical,
            "covariates": self.covariates,
            "bounds": self.bounds,
            "calendar": self.calendar,
            "freq": self.freq,
            "time": self.time,
            "add_rows": self.add_rows,
        }
        if self.least_observed is not None:
            fields["least_observed"] = self.least_observed
        self.filler_: Filler
        if self.adapt == "full":
            self.filler_ = self._train(tables, fields, seconds)
            self.report_ = _report_of_pool(self.filler_)
        else:
            fitted = self._fitted(tables, fields)
            self.filler_ = fitted if self.adapt == "none" else self._tune(fitted, tables, seconds)
            self.report_ = _report(self.filler_)
            if self.adapt == "quick":
                place = self.report_.columns.get_loc("line_error")
                self.report_.insert(place, "pretrained_error", _report(fitted)["error"])
            _warn(self.report_)
        return self

    def _fitted(self, tables: list[Any], fields: dict[str, Any]) -> TableFiller:
        for name in ("strategy", "recipe", "settings"):
            if getattr(self, name) is not None:
                raise CaesuraError(f"The setting '{name}' is for training: it needs adapt='full'.")
        pretrained = load("series")
        assert isinstance(pretrained, TableFiller)
        return pretrained.fitted(tables, **fields)

    def _tune(self, fitted: TableFiller, tables: list[Any], seconds: float) -> TableFiller:
        with showing() if self.verbose else nullcontext(None) as report:
            return tune(fitted, tables, seconds, seed=self.seed_, report=report).filler

    def _train(self, tables: list[Any], fields: dict[str, Any], seconds: float) -> Filler:
        with showing() if self.verbose else nullcontext(lambda net, progress: None) as report:
            return train(
                tables,
                kind="series",
                recipe=self.recipe or "series",
                seed=self.seed_,
                report=report,
                pool=seconds,
                **fields,
                **(self.settings or {}),
            )

    def transform(self, X: "Tables") -> Any:
        """Return X with the medians of the random fills in its gaps.

        A category gets the level that was drawn most often.
        """
        return _like(X, [fill.best for fill in self._fill(X, self.samples)])

    def quantile(self, X: "Tables", q: float | Sequence[float]) -> Any:
        """Return X with quantiles of level `q` in its gaps; a list of them for a list of levels.

        Categories have no quantiles: they are filled as `transform` does.
        """
        levels = np.atleast_1d(q).tolist()
        tables = [fill.quantile(levels) for fill in self._fill(X, self.samples)]
        filled = [_like(X, list(of_level)) for of_level in zip(*tables, strict=True)]
        return filled if np.ndim(q) else filled[0]

    def sample(self, X: "Tables", n: int = 1) -> list[Any]:
        """Return X filled `n` times, each time with another random fill."""
        tables = [fill.samples for fill in self._fill(X, n, samples=n)]
        return [_like(X, list(of_sample)) for of_sample in zip(*tables, strict=True)]

    def probabilities(self, X: "Tables") -> Any:
        """Return a dict: for each category, how often each of its levels was drawn.

        The tables have a column for each level, and are DataFrames if X is one. Observed
        levels have probability 1. For several series, the answer is a list of such dicts.
        """
        found = [
            {name: _native(one, shares) for name, shares in fill.probabilities().items()}
            for one, fill in zip(_each(X), self._fill(X, self.samples), strict=True)
        ]
        return found if _is_several(X) else found[0]

    def log_prob(self, X: "Tables", missing: Any) -> float:
        """Return the log-density, in the units of X, of some values of X given the rest.

        For levels it is the log of their probability. `missing` is True at these places and has
        the form of X. A long series is cut into stretches, as for `transform`.
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
        mask = np.asarray(missing)
        if mask.dtype != bool or mask.shape != np.shape(table):
            raise CaesuraError(
                f"`missing` must hold True and False, in the shape {list(np.shape(table))} of the "
                "table."
            )
        without = table.mask(mask) if is_frame(table) else np.where(mask, np.nan, table)
        kind = cast(Series, self.filler_.kind)
        item = kind.open(table)
        places = kind.open(without).missing & ~np.isnan(item.complete.values)
        if item.cells(places) != mask.sum():
            raise CaesuraError("`missing` names places that hold nothing, or that are not filled.")
        return self.filler_.log_prob(item, missing=places, strategy=self.strategy, seed=self.seed_)

    def _fill(self, X: "Tables", draws: int, samples: int = 0) -> list[SeriesFill]:
        check_is_fitted(self)
        tables = self._tables(X, reset=False)
        requests = [
            Request(table, None, samples, draws, self.strategy, self.seed_) for table in tables
        ]
        return cast(list[SeriesFill], self.filler_.fill_many(requests))

    def _tables(self, X: "Tables", reset: bool) -> list[Any]:
        """The series in X, their columns known to scikit-learn."""
        if _is_several(X):
            if not len(X):
                raise CaesuraError("There is no series.")
            series: Sequence[Any] = X  # type: ignore[assignment]
            return [self._table(one, reset and n == 0) for n, one in enumerate(series)]
        return [self._table(X, reset)]

    def _table(self, table: Any, reset: bool) -> Any:
        if foreign.is_foreign(table):
            validate_data(self, table, reset=reset, skip_check_array=True)
            return foreign.to_pandas(table)
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


def _report(filler: TableFiller) -> "pd.DataFrame":
    """How good the model is, column by column."""
    import pandas as pd

    assert filler.learnt is not None
    return pd.DataFrame(filler.learnt.checked, columns=Checked._fields)


def _report_of_pool(filler: Filler) -> "pd.DataFrame":
    """How good the pool is, column by column; empty if no number could be held out."""
    import pandas as pd

    found = filler.training.get("pool", {"columns": []})["columns"]
    return pd.DataFrame(found, columns=CheckedPool._fields)


def _warn(report: "pd.DataFrame") -> None:
    """Say where a line between neighbours is better."""
    worse = report["column"][report["error"] > WORSE * report["line_error"]]
    if len(worse):
        names = ", ".join(f"'{name}'" for name in worse)
        warnings.warn(
            f"A line between neighbours fills {names} better than the model does: see report_.",
            CaesuraWarning,
            stacklevel=3,
        )


def _like(X: "Tables", tables: list[Any]) -> Any:
    """The tables in the form of X."""
    own = [_native(one, table) for one, table in zip(_each(X), tables, strict=True)]
    if not _is_several(X):
        return own[0]
    return np.stack(own) if isinstance(X, np.ndarray) else own


def _native(one: Any, filled: Any) -> Any:
    """The filled table as a table of the library that `one` is of."""
    return foreign.like(one, filled) if foreign.is_foreign(one) else filled


def _each(X: Any) -> list[Any]:
    return list(X) if _is_several(X) else [X]


def _is_several(X: Any) -> bool:
    """Whether it is a list of tables or an array of them, and not a table."""
    if isinstance(X, np.ndarray):
        return X.ndim == 3
    return isinstance(X, list | tuple) and (not X or np.ndim(X[0]) == 2)
