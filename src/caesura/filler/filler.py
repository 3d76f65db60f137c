"""A trained model, ready to use: a kind of data, the nets, and a strategy."""

import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.filler.anytime import improve
from caesura.filler.assemble import from_draws, from_search, nothing_missing
from caesura.filler.fill import Fill, LogProb, Marginals
from caesura.filler.passes import (
    Chances,
    Method,
    fill_pass,
    marginals_pass,
    score_pass,
    seed_of,
)
from caesura.filler.request import Missing, Request, mask_of, split_missing
from caesura.filler.running import Opened, Report, answer_one, method_key, run_all, work_of
from caesura.filler.searching import search_all, search_states, search_tasks
from caesura.filler.stretches import cut
from caesura.filler.surprise import warn_if_strange
from caesura.kinds.base import Item
from caesura.modelfile import Model, write_model
from caesura.nets.bins import CENTRES
from caesura.nets.frames import Frame
from caesura.nets.pair import Pair
from caesura.nets.rnn import Net, NetName
from caesura.scoring.gaps import Evaluation, evaluate
from caesura.sequence import Sequence
from caesura.strategies import STRATEGIES, Strategy

MOST_DRAWS = 100_000
RECIPES = {"bidirectional": "nade", "forward": "rnn"}  # which train such a net


@dataclass(frozen=True, eq=False, repr=False)
class Filler(Model[Net]):
    """A trained model: it fills gaps, and gives the probability of what could stand in them.

    Fillers come from `caesura.load` and `caesura.train`.

    Attributes
    ----------
    kind : Kind
        What sequences are made of: text, music or series.
    nets : dict
        The nets by name: "bidirectional", "forward" and "onegram".
    strategy : str
        The name of the strategy that is used if none is asked for.
    training : dict
        How the model was trained, as JSON can hold it.

    Examples
    --------
    >>> import caesura
    >>> filler = caesura.load("text")
    >>> filler
    <Filler for text: bidirectional (2 x 432 lstm), forward (2 x 432 lstm), onegram; by 'search'>
    >>> filler.fill("The qu___ brown fox", strategy="nade").best
    'The quick brown fox'
    """

    def fill(
        self,
        data: Any,
        *,
        missing: Missing | None = None,
        samples: int = 0,
        draws: int | None = None,
        strategy: str | Strategy | None = None,
        seed: int = 0,
        seconds: float | int | None = None,
        report: Report | None = None,
    ) -> Fill:
        """Complete a sequence of any length; what is observed comes back untouched.

        Parameters
        ----------
        data
            The sequence in the user's own form. For text, a string with a gap character for each
            missing character, or a `Path`; for music, a MIDI file, a `Song` or an array; for
            series, a DataFrame, an array or the path of a table, in which NaN is missing.
        missing
            What is missing beside what the data itself marks: a slice, a list of steps, a mask over
            steps or values, or, for text, a `Gap` of unknown length or a list of such.
        samples
            How many random fills to return in `Fill.samples`.
        draws
            How many random fills the answer is made of: `Fill.candidates` are the distinct ones,
            and the medians and quantiles of a series are theirs. By default 32 for text, 8 for
            music and 100 for series, or `samples` if that is more.
        strategy
            The name of a strategy, or a strategy with its options, such as
            ``caesura.strategies.GSN(steps=20)``. By default the model's own.
        seed
            The source of all that is random: the same seed gives the same fill.
        seconds
            How long to search for better fills: a quick answer is improved by wider searches, or by
            more draws, until the ranking has settled or the next attempt would take too long.
            `Fill.ended` says which. The first answer is given in any case.
        report
            Called with the number of stretches that are filled and of all stretches.

        Returns
        -------
        Fill
            A `SeriesFill` for series.

        Raises
        ------
        CaesuraError
            If the data cannot be read, or the model cannot serve the strategy.

        Warns
        -----
        CaesuraWarning
            If what is observed is improbable itself, such as text in another language.

        Examples
        --------
        >>> import caesura
        >>> fill = caesura.load("text").fill("The qu___ brown fox", strategy="nade")
        >>> fill.best
        'The quick brown fox'
        >>> [reading.part for reading in fill.gaps[0].candidates][:2]
        ['ick', 'een']
        """
        item = self.kind.open(data)
        request = Request(item, missing, samples, draws, strategy, seed, seconds)
        fill = self.fill_many([request], report=report)[0]
        if "bidirectional" in self.nets:
            warn_if_strange(self.nets["bidirectional"], self.training, fill.sequence)
        return fill

    @overload
    def fill_many(
        self,
        requests: Iterable[Any],
        *,
        return_exceptions: Literal[False] = False,
        report: Report | None = None,
    ) -> list[Fill]: ...

    @overload
    def fill_many(
        self,
        requests: Iterable[Any],
        *,
        return_exceptions: Literal[True],
        report: Report | None = None,
    ) -> list[Fill | Exception]: ...

    def fill_many(
        self,
        requests: Iterable[Any],
        *,
        return_exceptions: bool = False,
        report: Report | None = None,
    ) -> Any:
        """Complete many sequences; those of like shape go through the nets side by side.

        An answer does not depend on the other requests, except for rounding.

        Parameters
        ----------
        requests
            `Request` objects, or data as `fill` takes it.
        return_exceptions
            If true, a request that fails gets its exception as its answer. Otherwise the first
            exception is raised.
        report
            Called with the number of stretches that are filled and of all stretches, after each
            pass. What it raises ends the work.

        Returns
        -------
        list of Fill
            One for each request, in their order.

        Examples
        --------
        >>> import caesura
        >>> filler, texts = caesura.load("text"), ["The qu___ brown fox", "The lazy d__ and a c__"]
        >>> fills = filler.fill_many(caesura.Request(text, strategy="nade") for text in texts)
        >>> [fill.best[:8] for fill in fills]
        ['The quic', 'The lazy']
        """
        answers: dict[int, Any] = {}
        opened: dict[int, Opened] = {}
        for number, one in enumerate(requests):
            request = one if isinstance(one, Request) else Request(one)
            try:
                if request.seconds is None:
                    opened[number] = self._open(request)
                else:
                    answers[number] = self._improve(request, report)
            except Exception as error:
                answers[number] = error
        answers |= self._fill_opened(opened, report)
        in_order = [answers[number] for number in sorted(answers)]
        for answer in in_order:
            if isinstance(answer, Exception) and not return_exceptions:
                raise answer
        return in_order

    def log_prob(
        self,
        data: Any,
        *,
        missing: Missing,
        strategy: str | Strategy | None = None,
        seed: int = 0,
    ) -> LogProb:
        """Return the log-probability of what complete data has at some places, given the rest.

        Parameters
        ----------
        data
            A complete sequence in the user's own form.
        missing
            The places: a slice, a list of steps, or a mask over steps or values.
        strategy, seed
            As for `fill`.

        Returns
        -------
        LogProb
            Nats of all these values together. For real numbers it is the log of a density in the
            user's own units.

        Examples
        --------
        >>> import caesura
        >>> filler = caesura.load("text")
        >>> filler.log_prob("The quick brown fox", missing=slice(6, 9), strategy="nade") > -3
        True
        """
        item = self.kind.open(data)
        nothing = item.complete.missing
        complete = Sequence(self._frame.check(item.complete.values, nothing), nothing)
        if complete.gaps:
            raise CaesuraError("The data must be complete, but some of it is missing.")
        mask = mask_of(missing, complete) & self._frame.fillable
        self._frame.check(complete.values, mask)  # a category is missing as a whole
        strange = mask & self._frame.unknown(complete.values)
        if strange.any():
            what = item.describe(int(np.argwhere(strange)[0, 0]))
            raise CaesuraError(f"The {what} is unknown to the model, so it has no probability.")
        request = Request(item, missing, strategy=strategy, seed=seed_of(seed))
        one = self._cut(request, item, Sequence(complete.values, mask))
        found: list[tuple[float, float]] = answer_one(score_pass, one)
        total = sum(nats for nats, _ in found) - self.kind.log_scale(mask)
        return LogProb(total, sum(error**2 for _, error in found) ** 0.5)

    def marginals(
        self,
        data: Any,
        *,
        missing: Missing | None = None,
        strategy: str | Strategy | None = None,
        seed: int = 0,
    ) -> Marginals:
        """Return the distribution at each missing place by itself.

        Parameters
        ----------
        data, missing, strategy, seed
            As for `fill`.

        Returns
        -------
        Marginals

        Examples
        --------
        >>> import caesura
        >>> marginals = caesura.load("text").marginals("The qu_ck brown fox", strategy="nade")
        >>> [symbol for symbol, _ in marginals.top(2)[0]]
        ['i', 'a']
        """
        one = self._open(Request(data, missing, strategy=strategy, seed=seed))
        if one.item.open_gaps:
            raise CaesuraError("A gap of unknown length has no places: ask for a fill instead.")
        symbols = self.kind.symbols() or CENTRES.tolist()
        parts: list[Chances] = answer_one(marginals_pass, one)
        nothing = Chances(np.zeros((0, 2), int), *[np.zeros((0, len(symbols)))] * 2)
        places, log_probs, errors = map(np.concatenate, zip(*(parts or [nothing]), strict=True))
        return Marginals(places, symbols, log_probs, errors)

    def evaluate(
        self,
        items: Iterable[Any],
        *,
        gap: int = 5,
        margin: int = 10,
        limit: int | None = None,
        strategy: str | Strategy | None = None,
        seed: int = 0,
        report: Report | None = None,
    ) -> Evaluation:
        """Measure the negative log-likelihood of gaps that are made in complete data.

        Parameters
        ----------
        items
            Complete sequences in the user's own form, or paths of files and directories.
        gap
            The length of the gaps, in steps. Every gap that fits is made in turn, as in the paper.
        margin
            How far gaps stay from the ends of a sequence, in steps.
        limit
            At most so many gaps, evenly spread over the data; by default all.
        strategy, seed
            As for `fill`.
        report
            Called with the number of gaps that are scored and of all gaps.

        Returns
        -------
        Evaluation
            The mean NLL of whole gaps with its standard error, the NLL by position in the gap, and
            how often what the model states comes true.

        Examples
        --------
        >>> import caesura
        >>> filler = caesura.load("text")
        >>> texts = ["The quick brown fox jumps over the lazy dog and runs away."]
        >>> filler.evaluate(texts, gap=2, limit=4, strategy="nade").gaps.gaps
        4
        """
        method = self.method(strategy)
        return evaluate(
            method.net,
            method.strategy,
            self.read(items),
            gap=gap,
            margin=margin,
            limit=limit,
            seed=seed_of(seed),
            report=report or (lambda done, gaps: None),
        )

    def read(self, items: Iterable[Any]) -> list[np.ndarray]:
        """Return complete data as the nets see it: an array [steps, components] for each item."""
        sequences = []
        for number, item in enumerate(self.kind.items(items)):
            complete = self.kind.open(item).complete
            if complete.missing.any():
                raise CaesuraError(f"Item {number} of the data has missing values.")
            sequences.append(complete.values)
        return sequences

    def group(self, request: Request) -> Hashable:
        """Return a value that is equal for requests which `fill_many` fills in one pass."""
        one = self._open(request)
        if not one.method.strategy.batched:
            return object()  # equal to no other
        tasks = search_tasks(one) if one.method.strategy.searches else one.tasks
        return method_key(one), tuple(task.shape(one.method) for task in tasks)

    def states(self, request: Request) -> int:
        """Return the cost of a request: how many states of the nets it holds at once at most.

        A search goes through all groups of gaps and all their lengths, and their states count
        together.
        """
        one = self._open(request)
        if one.method.strategy.searches:
            return search_states(one)
        return max((one.method.states(s, one.draws) for s in one.stretches), default=0)

    def method(self, strategy: str | Strategy | None = None) -> Method:
        """Return the strategy with the net it works on; an error if the model cannot serve it."""
        if not isinstance(strategy, Strategy):
            name = self.strategy if strategy is None else strategy
            make = lookup(STRATEGIES, name, "strategy")
            strategy = make(**self.kind.strategy_options.get(name, {}))
        names: tuple[NetName, ...] = (
            ("forward", "bidirectional") if strategy.net == "pair" else (strategy.net,)
        )
        for name in names:
            if name not in self.nets:
                raise CaesuraError(
                    f"The strategy '{strategy.name}' needs a {name} net, which this model lacks: "
                    f"train one with the recipe '{RECIPES.get(name, '')}'."
                )
        nets = [self.nets[name] for name in names]
        net = nets[0] if len(nets) == 1 else Pair(*nets)
        strategy.check(net)
        return Method(strategy, net, self.kind.rank)

    def with_kind(self, **fields: Any) -> "Filler":
        """Return the same filler with other fields of its kind, such as `gap_char`."""
        return replace(self, kind=replace(self.kind, **fields))

    def save(self, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Write the model file that `caesura.load` reads.

        Parameters
        ----------
        path
            Where to write it. The file is whole or not there.
        dtype
            "float32", or "float16" or "bfloat16" for half the size.
        """
        write_model(path, self, dtype)

    def __repr__(self) -> str:
        nets = ", ".join(_described(name, net) for name, net in self.nets.items())
        return f"<Filler for {self.kind.name}: {nets}; by '{self.strategy}'>"

    def _improve(self, request: Request, report: Report | None) -> Fill:
        once = replace(request, data=self.kind.open(request.data))
        strategy = self.method(request.strategy).strategy
        draws = self.kind.draws if request.draws is None else request.draws
        return improve(lambda one: self.fill_many([one], report=report)[0], once, strategy, draws)

    def _fill_opened(
        self, opened: dict[int, Opened], report: Report | None
    ) -> dict[int, Fill | Exception]:
        """Return the answer to each request."""
        whole = {number: one for number, one in opened.items() if not one.has_gaps}
        searched = {
            number: one
            for number, one in opened.items()
            if one.has_gaps and one.method.strategy.searches
        }
        drawn = {n: one for n, one in opened.items() if n not in whole and n not in searched}
        answers: dict[int, Any] = {n: nothing_missing(self.kind, one) for n, one in whole.items()}
        work = {number: work_of(one) for number, one in drawn.items()}
        for number, parts in run_all(fill_pass, work, report).items():
            failed = isinstance(parts, Exception)
            answers[number] = parts if failed else from_draws(self.kind, drawn[number], parts)
        for number, found in search_all(searched, report).items():
            if isinstance(found, Exception):
                answers[number] = found
            else:
                answers[number] = from_search(self.kind, searched[number], *found)
        return answers

    @property
    def _frame(self) -> Frame:
        return next(iter(self.nets.values())).frame

    def _open(self, request: Request) -> Opened:
        """Read the data of a request, once."""
        seed_of(request.seed)
        whole_number("samples", request.samples, 0, MOST_DRAWS)
        method = self.method(request.strategy)
        item = self.kind.open(request.data)
        steps, gaps = split_missing(request.missing)
        mask = item.sequence.missing
        if steps is not None:
            mask = mask | (mask_of(steps, item.sequence) & self._frame.fillable)
        if gaps or item.open_gaps:
            if not method.strategy.searches:
                raise CaesuraError(
                    f"The strategy '{method.name}' needs to know the length of every gap; "
                    "'search' does not."
                )
            item = item.with_gaps(gaps, mask)
            mask = item.sequence.missing
        values = self._frame.check(item.sequence.values, mask)
        return self._cut(request, item, Sequence(values, mask))

    def _cut(self, request: Request, item: Item, sequence: Sequence) -> Opened:
        draws = self.kind.draws if request.draws is None else request.draws
        draws = max(whole_number("draws", draws, 1, MOST_DRAWS), request.samples)
        stretches = cut(sequence, self._frame, self.kind.stretch, self.kind.around)
        method = self.method(request.strategy)
        return Opened(request, item, sequence, method, draws, self.kind.around, stretches)


def _described(name: str, net: Net) -> str:
    if not (cells := net.forward.cells):
        return name
    return f"{name} ({len(cells)} x {cells[0].size} {type(cells[0]).__name__.lower()})"
