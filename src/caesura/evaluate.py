"""How well a strategy knows what it cannot see: the NLL of gaps made in complete sequences."""

from collections.abc import Iterable
from dataclasses import dataclass

import jax
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


def evaluate(
    net: Net,
    strategy: Strategy,
    sequences: Iterable[Shaped[np.ndarray, "_ D"]],
    *,
    gap: int = 5,
    margin: int = 10,
    batch: int = 64,
    seed: int = 0,
) -> Evaluation:
    """Score every gap of complete sequences by the paper's protocol, `batch` of them at a time.

    The states around all gaps of a sequence come from one pass over it. Gaps that hold a value
    outside what the model knows are left out.
    """
    whole_number("gap", gap, 1)
    whole_number("margin", margin, 0)
    whole_number("batch", batch, 1)
    strategy.check(net)
    joint, single, left_out = [], [], 0
    key = jax.random.key(seed)
    for values in sequences:
        nothing = np.zeros(values.shape, bool)
        sequence = Sequence(net.frame.check(values, nothing), nothing)
        strange = (sequence.values == UNKNOWN).any(axis=1)
        places = gaps_inside(len(sequence), gap, margin)
        gaps = [place for place in places if not strange[slice(*place)].any()]
        left_out += len(places) - len(gaps)
        if not gaps:
            continue
        # Repetitions fill up the last batch: few shapes, few compilations.
        batches = bucket(-(-len(gaps) // batch))
        padded = gaps + gaps[-1:] * (batches * batch - len(gaps))
        stops = [strategy.stop(g.stop, len(sequence)) for g in padded]
        windows = around_gaps(net, sequence, padded, stops)
        for first in range(0, len(gaps), batch):
            some = windows.rows(first, batch)
            real = min(batch, len(gaps) - first)
            key, key_joint, key_single = jax.random.split(key, 3)
            score = strategy.log_prob(key_joint, net, some, some.values[:, None]).log_prob[:, 0]
            steps = strategy.marginals(key_single, net, some).steps.log_prob
            joint.append(np.asarray(score)[:real])
            single.append(np.asarray(steps)[:real, :gap])
    if not joint and left_out:
        raise CaesuraError(f"Every gap of {gap} steps holds a value that the model does not know.")
    if not joint:
        raise CaesuraError(
            f"No sequence is long enough for a gap of {gap} steps, {margin} clear of both ends."
        )
    nll = -np.concatenate(joint)
    error = float(nll.std(ddof=1) / len(nll) ** 0.5) if len(nll) > 1 else float("nan")
    by_position = -np.concatenate(single).mean(axis=0)
    return Evaluation(float(nll.mean()), error, len(nll), by_position, left_out)
