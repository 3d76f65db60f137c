"""The readings of each gap that random fills have, and how probable each is."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.filler.candidates import Readings
from caesura.filler.passes import Filled
from caesura.kinds.base import Kind
from caesura.sequence import Sequence as Steps


def readings_of_draws(
    kind: Kind, sequence: Steps, best: Shaped[np.ndarray, " places"], parts: Sequence[Filled]
) -> list[Readings]:
    """Return the readings of each gap, in the order in which the kind ranks them.

    Stretches are independent given what is observed: the probability of a reading of a gap that is
    cut by the end of a stretch is the product of those of its parts.

    Parameters
    ----------
    kind
        Knows which fills are better.
    sequence
        What was filled.
    best
        The best fill of the whole sequence; it need not be one of the draws.
    parts
        The random fills of each stretch.
    """
    where = np.concatenate([part.places[:, 0] for part in parts])
    drawn = np.concatenate([part.drawn for part in parts], axis=1)
    found = []
    for gap in sequence.gaps:
        inside = (where >= gap.start) & (where < gap.stop)
        rows, first = drawn[:, inside], []
        if not (rows == best[inside]).all(axis=1).any():
            rows = np.concatenate([rows, best[None, inside]])
            first = [len(rows) - 1] * any(part.proposed for part in parts)
        log_chances, at = np.zeros(len(rows)), 0
        for part in parts:
            here = (part.places[:, 0] >= gap.start) & (part.places[:, 0] < gap.stop)
            own = rows[:, at : at + here.sum()]
            if own.size:
                known = _log_chances(part, here)
                # A proposal has the probability of a fill, which is that of an only gap.
                log_chances += [known.get(row.tobytes(), part.best_log_prob) for row in own]
            at += own.shape[1]
        distinct: dict[bytes, int] = {}
        for number in [*first, *kind.rank(rows, log_chances).tolist()]:
            distinct.setdefault(rows[number].tobytes(), number)
        frames = []
        for number in distinct.values():
            values = sequence.values[gap.start : gap.stop].copy()
            values[sequence.missing[gap.start : gap.stop]] = rows[number]
            frames.append((values, float(np.exp(min(0.0, log_chances[number])))))
        found.append(Readings(frames, {gap.stop - gap.start: 1.0}))
    return found


def _log_chances(part: Filled, inside: Bool[np.ndarray, " places"]) -> dict[bytes, float]:
    """Return an estimate of log P(reading) for all readings that were drawn in one gap.

    P(reading) is a sum over what could be in the other gaps of the stretch. It has two parts:

    - The fills that were drawn have known probabilities. With one gap, this is all.
    - The rest of the probability belongs to fills that were not drawn. What they are like is seen
      in those that were drawn once: each of them is missing from all other draws. The share of
      them whose reading no other draw has is the share of the rest that belongs to unseen readings
      (the Good–Turing estimate). The other readings have what remains, by how often they occur
      among them; every such count is smaller by the same amount, so that they sum to that.
    """
    fills = [row.tobytes() for row in part.drawn]
    readings = [row.tobytes() for row in part.drawn[:, inside]]
    times, times_read = Counter(fills), Counter(readings)
    log_prob = dict(zip(fills, part.log_probs.tolist(), strict=True))
    rest = max(0.0, 1.0 - float(np.sum(np.exp(list(log_prob.values())))))
    pairs = zip(fills, readings, strict=True)
    once = Counter(reading for fill, reading in pairs if times[fill] == 1)
    unseen = sum(times_read[reading] == 1 for reading in once)
    chances = dict.fromkeys(readings, -np.inf)
    for fill, reading in dict(zip(fills, readings, strict=True)).items():
        chances[reading] = float(np.logaddexp(chances[reading], log_prob[fill]))
    for reading, count in once.items():
        if share := rest * (count - unseen / len(once)) / once.total():
            chances[reading] = float(np.logaddexp(chances[reading], np.log(share)))
    return chances
