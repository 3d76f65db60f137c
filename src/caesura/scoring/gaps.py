"""The negative log-likelihood (NLL) and the calibration of gaps made in complete sequences.

One pass over a sequence gives the states around all of its gaps. Sequences of similar length are
passed over together, and many gaps go through a strategy at once.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.hardware import EVALUATION_SIZES, bucket, room
from caesura.later import Array, PRNGKeyArray, PyTree, jax, jnp
from caesura.nets.arrays import Numbers
from caesura.nets.heads.base import Query
from caesura.nets.pair import Nets
from caesura.nets.rnn import Net
from caesura.programs import program
from caesura.scoring.calibration import Tally, make_tally
from caesura.sequence import Sequence
from caesura.strategies import Place, Strategy, Window, around_gaps

Pieces = Iterable[Shaped[np.ndarray, "_ D"]]
Starts = Int[np.ndarray, " _"]  # the first steps of gaps in one sequence
Report = Callable[[int, int], None]  # takes the number of gaps done, and of all gaps
Ask = Callable[[PRNGKeyArray, Window], PyTree[Shaped[Numbers, "B ..."]]]

GAP = 5  # steps


class GapScores(NamedTuple):
    """The mean NLL of whole gaps, in nats.

    Standard errors treat gaps as independent. Neighbouring gaps overlap, so the errors are too
    small if few sequences give many gaps. They do not cover the variation between training runs.
    """

    nll: float
    standard_error: float
    gaps: int
    left_out: int  # gaps with a value that the model does not know, which has no probability


class PositionScores(NamedTuple):
    """The mean NLL of each step of a gap by itself, and the calibration of its marginals."""

    nll: Float[np.ndarray, " g"]
    standard_error: Float[np.ndarray, " g"]
    gaps: int
    left_out: int
    tally: Tally


class StepScores(NamedTuple):
    """The mean NLL of single steps, each given all others that the net may see."""

    nll: float
    standard_error: float
    steps: int


class Evaluation(NamedTuple):
    """All scores of one strategy on the same gaps.

    Attributes
    ----------
    strategy : str
        The name of the strategy.
    gaps : GapScores
        The NLL of whole gaps.
    positions : PositionScores
        The NLL and the calibration of each step of a gap by itself.
    effective_samples : float or None
        How many independent draws the particles of a fill are worth, on average over gaps; None
        for a strategy without particles.
    """

    strategy: str
    gaps: GapScores
    positions: PositionScores
    effective_samples: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as values that JSON can hold; an unknown number is None."""
        scores: dict[str, Any] = {"strategy": self.strategy} | self.gaps._asdict()
        if not math.isfinite(self.gaps.standard_error):
            scores["standard_error"] = None
        if self.effective_samples is not None:
            scores["effective_samples"] = self.effective_samples
        scores["nll_by_position"] = self.positions.nll.tolist()
        scores["calibration"] = self.positions.tally.to_dict()
        return scores


class Answers(NamedTuple):
    """What `ask` returned for every gap, in the order of the sequences."""

    of_gaps: PyTree[Shaped[np.ndarray, "gaps ..."]]
    gaps: int
    left_out: int


class GapChoice(TypedDict, total=False):
    """Which gaps are made, and what reports the progress; the defaults are those of the paper."""

    gap: int  # steps of a gap
    margin: int  # the distance of gaps from both ends of a sequence
    limit: int | None  # at most this many gaps, evenly spread
    seed: int
    report: Report


def evaluate(
    net: Nets, strategy: Strategy, pieces: Pieces, **choice: Unpack[GapChoice]
) -> Evaluation:
    """Return all scores of a strategy, from one pass over gaps made in complete sequences.

    Parameters
    ----------
    net : Net or Pair
        What the strategy works with.
    strategy : Strategy
        How the gaps are filled and scored.
    pieces : iterable of arrays [T, D]
        Complete sequences, as the net takes them.
    **choice
        `gap` (5), `margin` (10), `limit` (None), `seed` (0) and `report`: see `GapChoice`.

    Returns
    -------
    Evaluation
        The same scores as those of `score_gaps` and `score_positions`, and the effective samples.

    Raises
    ------
    CaesuraError
        If the net does not suit the strategy, or if there is no gap to score.
    """
    whole, steps = _ask_whole(net, strategy), _ask_steps(net, strategy, choice.get("gap", GAP))

    def ask(key: PRNGKeyArray, windows: Window) -> tuple[PyTree, ...]:
        effective = strategy.effective_samples(key, net, windows)
        return whole(key, windows), steps(key, windows), effective

    answers = over_gaps(ask, net, strategy, pieces, **choice)
    of_whole, of_steps, effective = answers.of_gaps
    return Evaluation(
        strategy.name,
        _gap_scores(answers._replace(of_gaps=of_whole)),
        _position_scores(net, answers._replace(of_gaps=of_steps)),
        None if effective is None else float(np.mean(effective)),
    )


def score_gaps(
    net: Nets, strategy: Strategy, pieces: Pieces, **choice: Unpack[GapChoice]
) -> GapScores:
    """Return the NLL of whole gaps; gaps with a value that the model does not know are left out."""
    return _gap_scores(over_gaps(_ask_whole(net, strategy), net, strategy, pieces, **choice))


def score_positions(
    net: Nets, strategy: Strategy, pieces: Pieces, **choice: Unpack[GapChoice]
) -> PositionScores:
    """Return the scores by position in the gap, of the same gaps as `score_gaps`."""
    ask = _ask_steps(net, strategy, choice.get("gap", GAP))
    return _position_scores(net, over_gaps(ask, net, strategy, pieces, **choice))


def _ask_whole(net: Nets, strategy: Strategy) -> Ask:
    def ask(key: PRNGKeyArray, windows: Window) -> Float[Numbers, " B"]:
        return strategy.log_prob(key, net, windows, windows.values[:, None]).log_prob[:, 0]

    return ask


def _ask_steps(net: Nets, strategy: Strategy, gap: int) -> Ask:
    tallied = net.frame.fillable & ~net.frame.categorical  # a level has no median

    def ask(key: PRNGKeyArray, windows: Window) -> tuple[Numbers, ...]:
        values, steps = strategy.marginals(key, net, windows)
        some = (values.log_prob[:, :, tallied], windows.values[:, :, tallied])
        return tuple(a[:, :gap] for a in (steps.log_prob, *some))

    return ask


def _gap_scores(answers: Answers) -> GapScores:
    nll, error = _mean(-answers.of_gaps)
    return GapScores(float(nll), float(error), answers.gaps, answers.left_out)


def _position_scores(net: Nets, answers: Answers) -> PositionScores:
    steps, values, truth = answers.of_gaps
    tally = make_tally(net.frame, values, truth)
    return PositionScores(*_mean(-steps), answers.gaps, answers.left_out, tally)


def score_steps(net: Net, pieces: Pieces, *, limit: int | None = None) -> StepScores:
    """Return the NLL of every step by itself; `limit` takes only the first steps of the data."""
    complete = _complete(net, pieces)
    if limit is not None:
        ends = np.cumsum([len(s) for s in complete]) - whole_number("limit", limit, 1)
        kept = [s.values[: len(s) - max(end, 0)] for s, end in zip(complete, ends, strict=True)]
        complete = _complete(net, (values for values in kept if len(values)))
    nll = []
    for group in _groups(net, complete):
        some = [complete[i] for i in group]
        length, rows = bucket(max(map(len, some))), bucket(len(some))
        values = np.zeros((rows, length, some[0].values.shape[1]), some[0].values.dtype)
        valid = np.zeros((rows, length), bool)
        for row, sequence in enumerate(some):
            values[row, : len(sequence)] = sequence.values
            valid[row, : len(sequence)] = True
        log_probs = np.asarray(_step_log_probs(net, jnp.asarray(values), jnp.asarray(valid)))
        unknown = net.frame.unknown(values)[:, :, net.frame.fillable]
        nll.append(-log_probs[valid & ~unknown.all(axis=2)])
    mean, error = _mean(np.concatenate(nll))
    return StepScores(float(mean), float(error), sum(map(len, nll)))


@program
def _step_log_probs(
    net: Net, values: Shaped[Array, "n T D"], valid: Bool[Array, "n T"]
) -> Float[Array, "n T"]:
    def of_sequence(values: Array, valid: Array) -> Float[Array, " T"]:
        nothing = jnp.zeros(values.shape, bool)
        contexts = net.contexts(net.states(net.inputs(values, nothing), valid))
        return jax.vmap(net.head.log_prob)(Query(contexts, values, ~nothing & net.frame.fillable))

    return jax.vmap(of_sequence)(values, valid)


def over_gaps(
    ask: Ask,
    net: Nets,
    strategy: Strategy,
    pieces: Pieces,
    *,
    gap: int = GAP,
    margin: int = 10,
    limit: int | None = None,
    seed: int = 0,
    report: Report = lambda done, gaps: None,
) -> Answers:
    """Return what `ask` gives for the windows of all gaps that are made in complete sequences."""
    whole_number("gap", gap, 1)
    whole_number("margin", margin, 0)
    strategy.check(net)
    complete = _complete(net, pieces)
    starts, left_out = _known_gaps(net, complete, gap, margin)
    if limit is not None:
        starts = spread(starts, whole_number("limit", limit, 1))
    total = sum(map(len, starts))
    if not total and left_out:
        raise CaesuraError(f"Every gap of {gap} steps has a value that the model does not know.")
    if not total:
        raise CaesuraError(
            f"No sequence is long enough for a gap of {gap} steps between two margins of {margin}."
        )
    key, done, answers = jax.random.key(seed), 0, []
    groups = [group for group in _groups(net, complete) if any(len(starts[i]) for i in group)]
    for group in groups:
        places = [
            Place(row, start, start + gap, strategy.stop(start + gap, len(complete[i])))
            for row, i in enumerate(group)
            for start in starts[i].tolist()
        ]
        for windows, real in _batches(net, [complete[i] for i in group], places):
            key, key_batch = jax.random.split(key)
            answer = ask(key_batch, windows)
            answers.append(jax.tree.map(lambda a, n=real: np.asarray(a)[:n], answer))
            done += real
            report(done, total)
    firsts = np.cumsum([0, *map(len, starts)])
    numbers = [np.arange(firsts[i], firsts[i + 1]) for group in groups for i in group]
    in_order = np.argsort(np.concatenate(numbers))
    of_gaps = jax.tree.map(lambda *a: np.concatenate(a)[in_order], *answers)
    return Answers(of_gaps, total, left_out)


def starts_inside(length: int, gap: int, margin: int) -> Starts:
    """Return where gaps may start in a sequence, outside its first and last `margin` steps."""
    return np.arange(margin, length - margin - gap + 1)


def spread(starts: list[Starts], limit: int) -> list[Starts]:
    """Return `limit` of the gaps, evenly spread over all sequences."""
    counts = [len(some) for some in starts]
    total = sum(counts)
    if limit >= total:
        return starts
    chosen = np.zeros(total, bool)
    chosen[(2 * np.arange(limit) + 1) * total // (2 * limit)] = True
    parts = np.split(chosen, np.cumsum(counts)[:-1])
    return [some[keep] for some, keep in zip(starts, parts, strict=True)]


def _complete(net: Nets, pieces: Pieces) -> list[Sequence]:
    """Return the sequences as the net takes them, with nothing missing."""
    nothing = ((values, np.zeros(values.shape, bool)) for values in pieces)
    return [Sequence(net.frame.check(values, none), none) for values, none in nothing]


def _known_gaps(
    net: Nets, complete: list[Sequence], gap: int, margin: int
) -> tuple[list[Starts], int]:
    """Return where the gaps of every sequence start, and how many have an unknown value."""
    starts, left_out = [], 0
    for sequence in complete:
        unknown = net.frame.unknown(sequence.values)[:, net.frame.fillable]
        strange = np.cumsum(np.append(0, unknown.any(axis=1)))
        places = starts_inside(len(sequence), gap, margin)
        starts.append(places[strange[places + gap] == strange[places]])
        left_out += len(places) - len(starts[-1])
    return starts, left_out


def _groups(net: Nets, complete: list[Sequence]) -> Iterator[list[int]]:
    """Yield the sequences that are passed over together: of similar length, as memory allows."""
    states = jax.tree.leaves(net.initial())
    bytes_a_step = 4 * max(1, sum(h.size for h in states))
    most = room().state_bytes // bytes_a_step
    group: list[int] = []
    for i in np.argsort([len(sequence) for sequence in complete], kind="stable").tolist():
        if group and (len(group) + 1) * bucket(len(complete[i])) > most:
            yield group
            group = []
        group.append(i)
    yield group


def _batches(
    net: Nets, sequences: list[Sequence], places: list[Place]
) -> Iterator[tuple[Window, int]]:
    """Yield batches of windows and how many of each are real: the last one is padded."""
    count = -(-len(places) // room().gaps)
    size = next(size for size in EVALUATION_SIZES if size * count >= len(places))
    padded = places + places[-1:] * (bucket(count) * size - len(places))
    windows = around_gaps(net, sequences, padded)
    for first in range(0, len(places), size):
        yield windows.rows(first, size), min(size, len(places) - first)


def _mean(
    values: Float[np.ndarray, "n *rest"],
) -> tuple[Float[np.ndarray, "*rest"], Float[np.ndarray, "*rest"]]:
    """Return the mean and its standard error, which is NaN for a single value."""
    n, values = len(values), values.astype(np.float64)
    error = values.std(axis=0, ddof=1) / n**0.5 if n > 1 else np.full(values.shape[1:], np.nan)
    return np.asarray(values.mean(axis=0)), np.asarray(error)
