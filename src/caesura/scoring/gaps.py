"""How well a strategy knows what it cannot see: the NLL of gaps made in complete sequences.

The states around all gaps of a sequence come from one pass over it, sequences of like length are
passed over side by side, and many gaps go through a strategy at once.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypedDict, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.hardware import EVALUATION_SIZES, bucket, room
from caesura.nets.frames import Binary, Categorical, Continuous
from caesura.nets.heads.base import Query
from caesura.nets.pair import Nets, Pair
from caesura.nets.rnn import Net
from caesura.scoring.calibration import Tally, tally_keys, tally_numbers, tally_symbols
from caesura.sequence import Sequence
from caesura.strategies import SIR, Place, Strategy, Window, around_gaps

Pieces = Iterable[Shaped[np.ndarray, "_ D"]]
Starts = Int[np.ndarray, " _"]  # the first steps of some gaps of a sequence
Report = Callable[[int, int], None]


GAP = 5  # steps


TALLIES = {Categorical: tally_symbols, Binary: tally_keys, Continuous: tally_numbers}


class GapScores(NamedTuple):
    """The mean negative log-likelihood of whole gaps, in nats.

    Standard errors take gaps as independent. Neighbouring ones overlap, so they are too small
    where few sequences give many gaps, and they know nothing of another training run.
    """

    nll: float
    standard_error: float
    gaps: int
    left_out: int  # gaps with a value that the model does not know, which has no probability


class PositionScores(NamedTuple):
    """Each step of a gap by itself: its mean negative log-likelihood, and how statements of it
    come true."""

    nll: Float[np.ndarray, " g"]
    standard_error: Float[np.ndarray, " g"]
    gaps: int
    left_out: int
    tally: Tally


class StepScores(NamedTuple):
    """The mean negative log-likelihood of single steps, given all others that the net may see."""

    nll: float
    standard_error: float
    steps: int


class Answers(NamedTuple):
    """What was asked of every gap, in the order of the sequences."""

    of_gaps: PyTree[Shaped[np.ndarray, "gaps ..."]]
    gaps: int
    left_out: int


Ask = Callable[[PRNGKeyArray, Window], PyTree[Shaped[Array, "B ..."]]]


def _tell_nobody(done: int, gaps: int) -> None:
    pass


class GapChoice(TypedDict, total=False):
    """Which gaps are made: the paper's, unless told otherwise."""

    gap: int
    margin: int  # how far they stay from the ends of a sequence
    limit: int | None  # at most so many of them, evenly spread
    seed: int


def score_gaps(
    net: Nets,
    strategy: Strategy,
    sequences: Pieces,
    *,
    report: Report = _tell_nobody,
    **choice: Unpack[GapChoice],
) -> GapScores:
    """The NLL of whole gaps; those that hold a value which the model does not know are left out."""

    def ask(key: PRNGKeyArray, windows: Window) -> Array:
        return strategy.log_prob(key, net, windows, windows.values[:, None]).log_prob[:, 0]

    answers = over_gaps(ask, net, strategy, sequences, report=report, **choice)
    nll, error = _mean(-answers.of_gaps)
    return GapScores(float(nll), float(error), answers.gaps, answers.left_out)


def score_positions(
    net: Nets,
    strategy: Strategy,
    sequences: Pieces,
    *,
    report: Report = _tell_nobody,
    **choice: Unpack[GapChoice],
) -> PositionScores:
    """What is known by position in the gap, of the same gaps as `score_gaps`."""
    gap = choice.get("gap", GAP)
    tallied = net.frame.fillable & ~net.frame.categorical  # a level has no median

    def ask(key: PRNGKeyArray, windows: Window) -> tuple[Array, ...]:
        values, steps = strategy.marginals(key, net, windows)
        some = (values.log_prob[:, :, tallied], windows.values[:, :, tallied])
        return tuple(a[:, :gap] for a in (steps.log_prob, *some))

    answers = over_gaps(ask, net, strategy, sequences, report=report, **choice)
    steps, values, truth = answers.of_gaps
    tally = TALLIES[type(net.frame)](values, truth)
    return PositionScores(*_mean(-steps), answers.gaps, answers.left_out, tally)


def effective_samples(
    net: Nets, strategy: Strategy, sequences: Pieces, **choice: Unpack[GapChoice]
) -> float | None:
    """How many draws from the posterior the particles of a fill are worth, if it is made of any."""
    if not (isinstance(net, Pair) and isinstance(strategy, SIR)):
        return None

    def ask(key: PRNGKeyArray, windows: Window) -> Array:
        return strategy.effective_samples(key, net, windows)

    return float(np.mean(over_gaps(ask, net, strategy, sequences, **choice).of_gaps))


def score_steps(net: Net, sequences: Pieces, *, limit: int | None = None) -> StepScores:
    """The NLL of every step by itself; `limit` takes the first so many of all steps."""
    complete = _complete(net, sequences)
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


@eqx.filter_jit
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
    sequences: Pieces,
    *,
    gap: int = GAP,
    margin: int = 10,
    limit: int | None = None,
    seed: int = 0,
    report: Report = _tell_nobody,
) -> Answers:
    """What `ask` says of the windows of all gaps that are to be made in complete sequences."""
    whole_number("gap", gap, 1)
    whole_number("margin", margin, 0)
    strategy.check(net)
    complete = _complete(net, sequences)
    starts, left_out = _known_gaps(net, complete, gap, margin)
    if limit is not None:
        starts = spread(starts, whole_number("limit", limit, 1))
    total = sum(map(len, starts))
    if not total and left_out:
        raise CaesuraError(f"Every gap of {gap} steps holds a value that the model does not know.")
    if not total:
        raise CaesuraError(
            f"No sequence is long enough for a gap of {gap} steps, {margin} clear of both ends."
        )
    key, done, answers = jax.random.key(seed), 0, []
    groups = [group for group in _groups(net, complete) if any(len(starts[i]) for i in group)]
    end = strategy.stop  # looked up once: Equinox takes its time over methods
    for group in groups:
        places = [
            Place(row, start, start + gap, end(start + gap, len(complete[i])))
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
    """Where gaps may start in a sequence, clear of its first and last `margin` steps."""
    return np.arange(margin, length - margin - gap + 1)


def spread(starts: list[Starts], limit: int) -> list[Starts]:
    """`limit` of the gaps of some sequences, evenly from the first to the last of them all."""
    counts = [len(some) for some in starts]
    total = sum(counts)
    if limit >= total:
        return starts
    chosen = np.zeros(total, bool)
    chosen[(2 * np.arange(limit) + 1) * total // (2 * limit)] = True
    parts = np.split(chosen, np.cumsum(counts)[:-1])
    return [some[keep] for some, keep in zip(starts, parts, strict=True)]


def _complete(net: Nets, sequences: Pieces) -> list[Sequence]:
    """The sequences as the net takes them, with nothing missing."""
    nothing = ((values, np.zeros(values.shape, bool)) for values in sequences)
    return [Sequence(net.frame.check(values, none), none) for values, none in nothing]


def _known_gaps(
    net: Nets, complete: list[Sequence], gap: int, margin: int
) -> tuple[list[Starts], int]:
    """Where the gaps of every sequence start, and how many were left out for an unknown value."""
    starts, left_out = [], 0
    for sequence in complete:
        unknown = net.frame.unknown(sequence.values)[:, net.frame.fillable]
        strange = np.cumsum(np.append(0, unknown.any(axis=1)))
        places = starts_inside(len(sequence), gap, margin)
        starts.append(places[strange[places + gap] == strange[places]])
        left_out += len(places) - len(starts[-1])
    return starts, left_out


def _groups(net: Nets, complete: list[Sequence]) -> Iterator[list[int]]:
    """Which sequences are passed over side by side: as many of like length as there is room for."""
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
    """The windows in batches; repetitions fill up the last, so real ones are counted beside."""
    count = -(-len(places) // room().gaps)
    size = next(size for size in EVALUATION_SIZES if size * count >= len(places))
    padded = places + places[-1:] * (bucket(count) * size - len(places))
    windows = around_gaps(net, sequences, padded)
    for first in range(0, len(places), size):
        yield windows.rows(first, size), min(size, len(places) - first)


def _mean(
    values: Float[np.ndarray, "n *rest"],
) -> tuple[Float[np.ndarray, "*rest"], Float[np.ndarray, "*rest"]]:
    """With its standard error, unknown of a single value."""
    n, values = len(values), values.astype(np.float64)
    error = values.std(axis=0, ddof=1) / n**0.5 if n > 1 else np.full(values.shape[1:], np.nan)
    return np.asarray(values.mean(axis=0)), np.asarray(error)
