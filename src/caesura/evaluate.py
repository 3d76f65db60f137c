"""How well a strategy knows what it cannot see: the NLL of gaps made in complete sequences."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.nets.rnn import Net
from caesura.sequence import UNKNOWN, Gap, Sequence
from caesura.strategies import Strategy, around_gaps
from caesura.strategies.window import bucket


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Mean negative log-likelihoods in nats.

    The standard error takes gaps as independent. Neighbouring ones overlap, so it is too small
    where few sequences give many gaps, and it knows nothing of another training run.
    """

    nll: float  # of a whole gap
    standard_error: float
    gaps: int
    nll_by_position: Float[np.ndarray, " g"]  # of each step of a gap by itself
    left_out: int  # gaps with a value that the model does not know, which has no probability


def gaps_inside(length: int, gap: int, margin: int) -> list[Gap]:
    """All gaps of a sequence that stay clear of its first and last `margin` steps."""
    return [Gap(t, t + gap) for t in range(margin, length - margin - gap + 1)]


def spread(gaps: list[list[Gap]], limit: int) -> list[list[Gap]]:
    """`limit` of the gaps of some sequences, evenly from the first to the last of them all."""
    counts = [len(some) for some in gaps]
    total = sum(counts)
    if limit >= total:
        return gaps
    chosen = np.zeros(total, bool)
    chosen[(2 * np.arange(limit) + 1) * total // (2 * limit)] = True
    parts = np.split(chosen, np.cumsum(counts)[:-1])
    return [
        [g for g, keep in zip(*pair, strict=True) if keep] for pair in zip(gaps, parts, strict=True)
    ]


@dataclass(frozen=True)
class GapScores:
    """The mean NLL of whole gaps in nats, with the error of that mean."""

    nll: float
    standard_error: float
    gaps: int
    left_out: int  # gaps with a value that the model does not know, which has no probability


@dataclass(frozen=True, eq=False)
class PositionScores:
    """The mean NLL of each step of a gap by itself."""

    nll: Float[np.ndarray, " g"]
    standard_error: Float[np.ndarray, " g"]
    gaps: int
    left_out: int


@dataclass(frozen=True)
class StepScores:
    """The mean NLL of a step given all the context that its net has for it."""

    nll: float
    standard_error: float
    steps: int


def evaluate(net: Net, strategy: Strategy, sequences: Any, **settings: Any) -> Evaluation:
    """Score every gap of complete sequences by the paper's protocol, `batch` of them at a time.

    The states around all gaps of a sequence come from one pass over it. Gaps that hold a value
    outside what the model knows are left out. `limit` takes that many of the others, evenly spread.
    """
    joint, single, left_out = _score(net, strategy, sequences, **settings)
    nll, error = _mean(joint)
    by_position = single.mean(axis=0)
    return Evaluation(float(nll), float(error), len(joint), by_position, left_out)


def score_gaps(net: Net, strategy: Strategy, sequences: Any, **settings: Any) -> GapScores:
    """The NLL of whole gaps, as `evaluate` makes them."""
    joint, _, left_out = _score(net, strategy, sequences, **settings)
    nll, error = _mean(joint)
    return GapScores(float(nll), float(error), len(joint), left_out)


def score_positions(
    net: Net, strategy: Strategy, sequences: Any, **settings: Any
) -> PositionScores:
    """The NLL of each step of a gap by itself, in gaps as `evaluate` makes them."""
    _, single, left_out = _score(net, strategy, sequences, **settings)
    return PositionScores(*_mean(single), len(single), left_out)


def score_steps(
    net: Net, sequences: Iterable[Shaped[np.ndarray, "_ D"]], *, limit: int | None = None
) -> StepScores:
    """The NLL of every step that the model knows, or of those of the first sequences."""
    scores: list[Float[np.ndarray, " T"]] = []
    for values in sequences:
        known = (values != UNKNOWN).all(axis=1)
        length = bucket(len(values))
        padded = np.pad(values, [(0, length - len(values)), (0, 0)])
        nll = np.asarray(_step_nll(net, jnp.asarray(padded), np.arange(length) < len(values)))
        scores.append(nll[: len(values)][known])
        if limit is not None and sum(map(len, scores)) >= limit:
            break
    nll = np.concatenate(scores)[:limit]
    mean, error = _mean(nll)
    return StepScores(float(mean), float(error), len(nll))


@eqx.filter_jit
def _step_nll(net: Net, values: Any, valid: Any) -> Any:
    nothing = jnp.zeros(values.shape, bool)
    contexts = net.contexts(net.states(net.inputs(values, nothing), valid))
    return -jax.vmap(net.head.log_prob)(contexts, values, ~nothing)


def _mean(nll: Float[np.ndarray, "n *g"]) -> tuple[Any, Any]:
    error = nll.std(axis=0, ddof=1) / len(nll) ** 0.5 if len(nll) > 1 else nll[0] * np.nan
    return nll.mean(axis=0), error


def _score(
    net: Net,
    strategy: Strategy,
    sequences: Iterable[Shaped[np.ndarray, "_ D"]],
    *,
    gap: int = 5,
    margin: int = 10,
    limit: int | None = None,
    batch: int = 64,
    seed: int = 0,
    report: Callable[[int, int], None] = lambda done, gaps: None,
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n g"], int]:
    """The NLL of each gap, that of each of its steps, and how many gaps were left out."""
    whole_number("gap", gap, 1)
    whole_number("margin", margin, 0)
    whole_number("batch", batch, 1)
    strategy.check(net)
    complete, gaps, left_out = [], [], 0
    for values in sequences:
        nothing = np.zeros(values.shape, bool)
        sequence = Sequence(net.frame.check(values, nothing), nothing)
        strange = (sequence.values == UNKNOWN).any(axis=1)
        places = gaps_inside(len(sequence), gap, margin)
        complete.append(sequence)
        gaps.append([place for place in places if not strange[slice(*place)].any()])
        left_out += len(places) - len(gaps[-1])
    if limit is not None:
        gaps = spread(gaps, whole_number("limit", limit, 1))
    joint, single, done, total = [], [], 0, sum(map(len, gaps))
    key = jax.random.key(seed)
    for sequence, some_gaps in zip(complete, gaps, strict=True):
        if not some_gaps:
            continue
        # Repetitions fill up the last batch: few shapes, few compilations.
        size = next(s for s in (1, 4, 16, batch) if s == batch or len(some_gaps) <= s <= batch)
        batches = bucket(-(-len(some_gaps) // size))
        padded = some_gaps + some_gaps[-1:] * (batches * size - len(some_gaps))
        stops = [strategy.stop(g.stop, len(sequence)) for g in padded]
        windows = around_gaps(net, sequence, padded, stops)
        for first in range(0, len(some_gaps), size):
            some = windows.rows(first, size)
            real = min(size, len(some_gaps) - first)
            key, key_joint, key_single = jax.random.split(key, 3)
            score = strategy.log_prob(key_joint, net, some, some.values[:, None]).log_prob[:, 0]
            steps = strategy.marginals(key_single, net, some).steps.log_prob
            joint.append(np.asarray(score)[:real])
            single.append(np.asarray(steps)[:real, :gap])
            done += real
            report(done, total)
    if not joint and left_out:
        raise CaesuraError(f"Every gap of {gap} steps holds a value that the model does not know.")
    if not joint:
        raise CaesuraError(
            f"No sequence is long enough for a gap of {gap} steps, {margin} clear of both ends."
        )
    return -np.concatenate(joint), -np.concatenate(single), left_out
