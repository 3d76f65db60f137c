"""Whole fills, put together from those of stretches or of groups of gaps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from caesura.filler.candidates import Completion, LogProb, Readings
from caesura.filler.draft import Draft
from caesura.filler.fill import Fill
from caesura.filler.passes import Filled
from caesura.filler.readings import readings_of_draws
from caesura.filler.running import Opened
from caesura.filler.searching import Option, Searched
from caesura.filler.series_fill import SeriesFill
from caesura.kinds.base import Kind
from caesura.sequence import Sequence as Steps

MOST = 100  # candidates, of all gaps together and of each
LIKE_FOUND = 8


def from_draws(kind: Kind, opened: Opened, parts: Sequence[Filled]) -> Fill:
    """Return the fill of a whole sequence from random fills of its stretches.

    Stretches are independent given what is observed, so log-probabilities add up, and the best
    completion has the best fill of every stretch.
    """
    sequence, samples = opened.sequence, opened.request.samples
    lengths = tuple(gap.stop - gap.start for gap in sequence.gaps)
    numbers = kind.symbols() is None
    drawn = np.concatenate([part.drawn for part in parts], axis=1)
    scores = np.sum([part.log_probs for part in parts], axis=0) - kind.log_scale(sequence.missing)
    errors = np.sum([part.errors**2 for part in parts], axis=0) ** 0.5
    best_score = sum(part.best_log_prob for part in parts) - kind.log_scale(sequence.missing)
    best = Completion(np.concatenate([part.best for part in parts]), lengths, best_score)
    # Of real numbers, only the samples have scores.
    all_scores = np.append(scores, np.full(len(drawn) - len(scores), np.nan)).tolist()
    every = [Completion(row, lengths, score) for row, score in zip(drawn, all_scores, strict=True)]
    ranked = every if numbers else [every[n] for n in kind.rank(drawn, scores).tolist()]
    distinct: dict[bytes, Completion] = {}
    for one in [best, *ranked]:
        distinct.setdefault(one.values.tobytes(), one)
    completions = list(distinct.values())
    return (SeriesFill if numbers else Fill)(
        item=opened.item,
        kind=kind,
        sequence=sequence,
        confidence=np.concatenate([part.confidence for part in parts]),
        log_prob=LogProb(best_score, sum(part.best_error**2 for part in parts) ** 0.5),
        log_probs=scores[:samples],
        standard_errors=errors[:samples],
        strategy=opened.method.name,
        seed=opened.request.seed,
        ended="finished",
        between=between_gaps(sequence),
        unknown=(),
        completions=[best, *every] if numbers else completions,
        sampled=every[:samples],
        readings=[] if numbers else readings_of_draws(kind, sequence, best.values, parts),
    )


def nothing_missing(kind: Kind, opened: Opened) -> Fill:
    """Return the fill of a sequence in which nothing is missing."""
    samples = opened.request.samples
    nothing = np.zeros(0, opened.sequence.values.dtype)
    part = Filled(
        places=np.zeros((0, 2), int),
        drawn=np.stack([nothing] * max(samples, 1)),
        log_probs=np.zeros(max(samples, 1)),
        errors=np.zeros(max(samples, 1)),
        best=nothing,
        best_log_prob=0.0,
        best_error=0.0,
        confidence=np.zeros(0),
    )
    return from_draws(kind, opened, [part])


def between_gaps(sequence: Steps) -> tuple[int, ...]:
    """Return how many observed steps are before each gap."""
    gaps = sequence.gaps
    ends = [0, *(gap.stop for gap in gaps)]
    return tuple(gap.start - end for gap, end in zip(gaps, ends, strict=False))


def from_search(kind: Kind, opened: Opened, draft: Draft, found: Sequence[Searched]) -> Fill:
    """Return the fill of a whole sequence from what was found for each group of gaps.

    Groups are taken as independent of each other, each given the best of the others.
    """
    unknown = tuple(n for n, gap in enumerate(draft.gaps) if gap in opened.item.open_gaps)
    completions = _best_joint(found)
    best = completions[0]
    item = opened.item
    sequence = opened.sequence
    if unknown:
        sequence = item.with_lengths([best.lengths[number] for number in unknown]).sequence
    samples = [_sample(found, opened.request.seed, n) for n in range(opened.request.samples)]
    error = sum(one.standard_error**2 for one in found) ** 0.5
    return Fill(
        item=item,
        kind=kind,
        sequence=sequence,
        confidence=np.concatenate([_confidence(one) for one in found]),
        log_prob=LogProb(best.log_prob, error),
        log_probs=np.array([one.log_prob for one in samples]),
        standard_errors=np.full(len(samples), error),
        strategy=opened.method.name,
        seed=opened.request.seed,
        ended="finished",
        between=tuple(len(part) for part in draft.observed[:-1]),
        unknown=unknown,
        completions=completions,
        sampled=samples,
        readings=[
            readings
            for group, one in zip(draft.groups, found, strict=True)
            for readings in _readings_of_group(group, one)
        ],
    )


def _best_joint(found: Sequence[Searched]) -> list[Completion]:
    """Return the best ways to fill all groups, most probable first."""
    best = [Completion(found[0].options[0].values[:0, 0], (), 0.0)]
    for group in found:
        options = group.options[:MOST]
        sums = np.add.outer([one.log_prob for one in best], [one.log_prob for one in options])
        order = np.argsort(-sums, axis=None, kind="stable")[:MOST].tolist()
        pairs = [divmod(n, len(options)) for n in order]
        best = [_extended(best[i], options[j]) for i, j in pairs]
    return best


def _extended(one: Completion, option: Any) -> Completion:
    return Completion(
        np.concatenate([one.values, option.values[:, 0]]),
        (*one.lengths, *option.lengths),
        one.log_prob + option.log_prob,
    )


def _sample(found: Sequence[Searched], seed: int, number: int) -> Completion:
    """Return a random fill of all groups."""
    rng = np.random.default_rng([seed, number])
    sample = Completion(found[0].options[0].values[:0, 0], (), 0.0)
    for group in found:
        weights = np.array([option.weight for option in group.options])
        chosen = rng.choice(len(weights), p=weights / weights.sum())
        sample = _extended(sample, group.options[chosen])
    return sample


def _confidence(found: Searched) -> Float[np.ndarray, " places"]:
    """Return the probability of each value of the best option."""
    best = found.options[0]
    same = [option for option in found.options if option.lengths == best.lengths]
    weights = np.array([option.weight for option in same])
    total = sum(option.weight for option in found.options)
    values = np.stack([option.values[:, 0] for option in same])
    return weights @ (values == best.values[:, 0]) / total


def _readings_of_group(group: range, found: Searched) -> list[Readings]:
    """Return the readings of each gap of a group, averaged over its other gaps.

    The fill of an only gap has its own probability. Of several gaps, most fills may not be found.
    """
    alone = len(group) == 1
    shares = np.exp([option.log_prob for option in found.options])
    if not alone:
        shares = shares + _not_found(found.options, shares)
    readings = []
    for place in range(len(group)):
        chances: dict[bytes, list[Any]] = {}
        for option, share in zip(found.options, shares.tolist(), strict=True):
            start = sum(option.lengths[:place])
            part = option.values[start : start + option.lengths[place]]
            entry = chances.setdefault(part.tobytes(), [part, 0.0])
            entry[1] += share
        frames = sorted(chances.values(), key=lambda one: -one[1])[:MOST]
        length = found.options[0].lengths[place]
        lengths = found.lengths if alone else {length: 1.0}
        asked, matching = found.asked[place], found.matching[place]
        readings.append(Readings([tuple(one) for one in frames], lengths, asked, matching))
    return readings


def _not_found(
    options: Sequence[Option], shares: Float[np.ndarray, " options"]
) -> Float[np.ndarray, " options"]:
    """Return how much each option stands for of all fills that were not found.

    Such fills mostly differ from those found in one gap and not in another. So what was found
    counts as `LIKE_FOUND` random fills, beside those that were drawn: a few of these say little.
    """
    rest = max(0.0, 1 - float(shares.sum()))
    drawn = np.maximum([option.weight for option in options] - shares, 0.0)
    total = float(drawn.sum())
    count = total**2 / float(np.sum(drawn**2)) if total else 0.0  # that weigh alike
    found = LIKE_FOUND * shares / shares.sum() + (count / total * drawn if total else 0.0)
    return rest * found / (LIKE_FOUND + count)
