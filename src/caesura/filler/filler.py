"""A trained model, ready to use: a kind of data, the nets, and a strategy."""

import os
import warnings
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from caesura.errors import CaesuraError, CaesuraWarning
from caesura.filler.answering import fill_opened
from caesura.filler.anytime import fill_in_time, first_attempt
from caesura.filler.candidates import LogProb
from caesura.filler.describing import as_html, described
from caesura.filler.fill import Fill
from caesura.filler.marginals import Marginals
from caesura.filler.opening import method_of, net_in_numpy, open_complete, open_request
from caesura.filler.passes import Chances, marginals_pass, score_pass
from caesura.filler.request import Missing, Patterns, Readings, Request
from caesura.filler.running import Opened, Report, answer_one, method_key
from caesura.filler.searching import search_states
from caesura.filler.surprise import warn_if_strange
from caesura.filler.tasks import Method, seed_of
from caesura.kinds.base import Item
from caesura.modelfile import Model, write_card, write_model
from caesura.nets.bins import CENTRES
from caesura.nets.rnn import Net
from caesura.scoring.gaps import Evaluation, evaluate
from caesura.strategies import Strategy


@dataclass(frozen=True, eq=False, repr=False)
class Filler(Model[Net]):
    """A trained model: it fills gaps, and gives the probabilities of fills.

    Fillers come from `caesura.load` and `caesura.train`.

    Attributes
    ----------
    kind : Kind
        The kind of data: text, music or series.
    nets : dict
        The nets by name: "bidirectional", "forward" and "onegram".
    strategy : str
        The name of the default strategy.
    training : dict
        How the model was trained, as values that JSON can hold. `strategy_options`, by the name of
        a strategy, are options that were fitted to the model: a strategy that is given by its
        name has them.
    pool : Pool or None
        For tables: a Gaussian model that is pooled with the net.

    Examples
    --------
    >>> import caesura
    >>> filler = caesura.load("text")
    >>> filler
    <Filler for text: bidirectional (2 x 432 lstm), forward (2 x 432 lstm), onegram; by 'search'>
    >>> filler.fill("The qu___ brown fox").best
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
        patterns: Patterns | None = None,
        readings: Readings | None = None,
        report: Report | None = None,
    ) -> Fill:
        """Fill the gaps of a sequence of any length; observed values do not change.

        Parameters
        ----------
        data
            The sequence in the user's own form. For text, a string with a gap character for each
            missing character, or a `Path`; for music, a MIDI file, a `Song` or an array; for
            series, a DataFrame, an array or the path of a table, in which NaN is missing.
        missing
            What is missing, in addition to what the data itself marks: a slice, a list of steps, a
            mask over steps or values, or, for text, a `Gap` of unknown length or a list of them.
        samples
            How many random fills to return in `Fill.samples`.
        draws
            How many random fills the answer is computed from: `Fill.candidates` are the distinct
            ones, and a series has their medians and quantiles. By default 32 for text, 8 for
            music and 100 for series, or `samples` if that is more.
        strategy
            The name of a strategy, or a strategy with its options, such as
            ``caesura.strategies.GSN(steps=20)``. By default the model's own.
        seed
            The seed of the random numbers: the same seed gives the same fill.
        seconds
            How long to search for better fills: a quick answer is improved by wider searches, or by
            more draws, until the ranking has settled or the next attempt would take too long.
            `Fill.ended` says which. The first answer is given in any case, however long it takes.
            The work may take longer by one pass of the nets, which cannot be interrupted. With
            strategies other than `search`, the first pass of each shape also compiles a program,
            which takes seconds.
        patterns
            For text and the strategy `search`: a regular expression over the letters of a gap, by
            the gap's number from left to right, as in ``{0: "th.*"}``, or as a string if there is
            one gap. The whole content of the gap must match. All probabilities assume that it
            matches, and `GapFill.matching` is the probability that it does. The syntax is that of
            `re`, without lookaround, references and flags. A `.` is any letter of the alphabet.
            Letters are normalised in the same way as those of the text. If the model marks the
            starts of words, a blank means that a word starts at the next letter. Where the pattern
            has no blank, a word may start or not.
        readings
            For text and the strategy `search`: your own readings, by the gap's number, as in
            ``{0: ["this", "that"]}``, or as a list if there is one gap. `GapFill.asked` has the
            probability and the rank of each.
        report
            Called with the number of stretches that are filled, and the number of all stretches.

        Returns
        -------
        Fill
            A `SeriesFill` for series.

        Raises
        ------
        CaesuraError
            If the data cannot be read, or the model does not have the nets that the strategy needs.

        Warns
        -----
        CaesuraWarning
            If the observed data is itself improbable, such as text in another language, if the
            music around the gap is finer than the grid of the model, or if the strategy cannot keep
            to the rules for a voice (docs/music.md).

        Examples
        --------
        >>> import caesura
        >>> fill = caesura.load("text").fill("The qu___ brown fox")
        >>> fill.best
        'The quick brown fox'
        >>> [reading.part for reading in fill.gaps[0].candidates][:2]
        ['ick', 'iet']
        """
        item = self.open(data)
        asked = (patterns, readings)
        request = Request(item, missing, samples, draws, strategy, seed, seconds, *asked)
        fill = self.fill_many([request], report=report)[0]
        if "bidirectional" in self.nets:
            net = net_in_numpy(self, "bidirectional")
            warn_if_strange(net, self.training, fill.sequence)
        for doubt in item.doubts(fill.sequence.missing):
            warnings.warn(doubt, CaesuraWarning, stacklevel=2)
        if fill.sequence.line is not None and not self.method(strategy).strategy.keeps_lines:
            doubt = "does not keep to the rules for a voice; 'bothways' does."
            warnings.warn(f"The strategy '{fill.strategy}' {doubt}", CaesuraWarning, stacklevel=2)
        return fill

    def open(self, data: Any) -> Item:
        """Return the user's data as an item of the kind, which `fill` and `Request` also take."""
        return self.kind.open(data)

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
        """Fill the gaps of many sequences; those of similar shape go through the nets together.

        An answer does not depend on the other requests, except for rounding.

        Parameters
        ----------
        requests
            `Request` objects, or data as `fill` takes it.
        return_exceptions
            If true, a request that fails gets its exception as its answer. Otherwise the first
            exception is raised.
        report
            Called after each pass with the number of stretches that are filled, and the number of
            all stretches. An exception that it raises ends the work.

        Returns
        -------
        list of Fill
            One for each request, in their order.

        Examples
        --------
        >>> import caesura
        >>> filler, texts = caesura.load("text"), ["The qu_ck brown fox", "The lazy d__ and a c__"]
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
                    opened[number] = open_request(self, request)
                else:
                    once = replace(request, data=self.kind.open(request.data))
                    answers[number] = fill_in_time(self.fill_many, open_request(self, once), report)
            except Exception as error:
                answers[number] = error
        answers |= fill_opened(self.kind, opened, report)
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
        strategy
            As for `fill`.
        seed
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
        request = Request(data, missing, strategy=strategy, seed=seed)
        one = open_complete(self, request)
        found: list[tuple[float, float]] = answer_one(score_pass, one)
        total = sum(nats for nats, _ in found) - self.kind.log_scale(one.sequence.missing)
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
        data
            As for `fill`.
        missing
            As for `fill`.
        strategy
            As for `fill`.
        seed
            As for `fill`.

        Returns
        -------
        Marginals
            The probability of each symbol at each missing place.

        Examples
        --------
        >>> import caesura
        >>> marginals = caesura.load("text").marginals("The qu_ck brown fox", strategy="nade")
        >>> [symbol for symbol, _ in marginals.top(2)[0]]
        ['i', 'a']
        """
        one = open_request(self, Request(data, missing, strategy=strategy, seed=seed))
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
            The largest number of gaps, evenly spread over the data; by default all.
        strategy
            As for `fill`.
        seed
            As for `fill`.
        report
            Called with the number of gaps that are scored and of all gaps.

        Returns
        -------
        Evaluation
            The mean NLL of whole gaps with its standard error, the NLL by position in the gap, and
            how often the model's statements are true.

        Examples
        --------
        >>> import caesura
        >>> filler = caesura.load("text")
        >>> texts = ["The quick brown fox jumps over the lazy dog and runs away."]
        >>> filler.evaluate(texts, gap=2, limit=4, strategy="nade").gaps.gaps
        4
        """
        if self.pool is not None:
            raise CaesuraError(
                "`evaluate` measures nets, but this model pools one with a Gaussian model: its "
                "errors on held-out numbers are in `training['pool']`."
            )
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
        """Return a value that is equal for all requests that `fill_many` fills in one pass."""
        one = open_request(self, request)
        if not one.method.strategy.batched:
            return object()  # equal to no other
        if one.method.strategy.searches:
            return method_key(one)
        return method_key(one), tuple(task.shape(one.method) for task in one.tasks)

    def states(self, request: Request) -> int:
        """Return the cost of a request: the most states of the nets that it needs at once.

        A search needs the states of all groups of gaps and of all their lengths.
        """
        one = open_request(self, request)
        if one.method.strategy.searches:
            return search_states(one)
        return max((one.method.states(s, one.draws) for s in one.stretches), default=0)

    def work(self, request: Request) -> int:
        """Return how long a request takes, in a unit of the strategy's own.

        For a request with `seconds`, this is the time of its first attempt, which is always made.
        """
        one = open_request(self, request)
        if request.seconds is not None:
            one = open_request(self, first_attempt(one))
        if one.method.strategy.searches:
            return search_states(one)
        return sum(one.method.work(stretch, one.draws) for stretch in one.stretches)

    def method(self, strategy: str | Strategy | None = None) -> Method:
        """Return the strategy with its net; an error if the model lacks the net that it needs."""
        return method_of(self, strategy)

    def with_kind(self, **fields: Any) -> "Filler":
        """Return the same filler with other fields of its kind, such as `gap_char`."""
        return replace(self, kind=replace(self.kind, **fields))

    def save(
        self, path: str | os.PathLike[str], *, dtype: str = "float32", card: bool = False
    ) -> None:
        """Write the model file that `caesura.load` reads.

        Parameters
        ----------
        path
            Where to write it. The file is written completely or not at all.
        dtype
            "float32"; "float16" or "bfloat16" for half the size; or "int8" for a quarter: each row
            of a matrix of weights is 8-bit numbers times a scale.
        card
            Whether to write a card, too: a Markdown file of the same name, in the form that the
            Hugging Face Hub requires. It has the information in the model file, and places to
            fill in the rest.
        """
        write_model(path, self, dtype)
        if card:
            write_card(Path(path))

    def __repr__(self) -> str:
        return described(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the kind, the nets, and how they were trained."""
        return as_html(self)
