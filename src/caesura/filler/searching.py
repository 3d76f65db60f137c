"""Search for the best fills of many requests: every group of gaps by itself, then reconciled.

Gaps that are close to each other are searched as one. The other gaps are at their best then, which
is found in a quick search before, in which they are unknown. Where the best changes, what is near
is searched again.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from caesura.filler.draft import Draft, make_draft
from caesura.filler.passes import Method, Task, prepare
from caesura.filler.running import Opened, Report, Work, method_key, run_all
from caesura.sequence import LONGEST_GAP
from caesura.strategies import Search

QUICK = 8  # the quick search keeps so many times fewer fills
LENGTH_DRAWS = (
    4  # times as many draws: to compare lengths takes a better estimate than to rank fills
)
ROUNDS = 2  # of the full search, at most
NEAR = 100  # observed steps; what is farther away hardly matters


class Row(NamedTuple):
    """What a search found in one stretch, at its missing steps."""

    values: Shaped[np.ndarray, "N places"]
    log_prob: Float[np.ndarray, " N"]
    log_weight: Float[np.ndarray, " N"]
    standard_error: float
    log_evidence: float


class Option(NamedTuple):
    """One way to fill a group of gaps."""

    lengths: tuple[int, ...]
    values: Shaped[np.ndarray, "places 1"]
    log_prob: float
    weight: float  # its share; a random fill also stands for fills that were not found


class Searched(NamedTuple):
    """What was found for a group of gaps: the options, most probable first."""

    options: list[Option]
    lengths: dict[int, float]  # the probability of each length of the first gap
    standard_error: float


def search_pass(method: Method, tasks: Sequence[Task]) -> list[Row]:
    """Search some stretches of one shape side by side."""
    window, keys = prepare(method, tasks)
    strategy: Any = method.strategy
    found = strategy.search(keys.draw, method.net, window)
    values, log_prob, log_weight, errors, evidence = (np.asarray(part) for part in found)
    rows = []
    for row, task in enumerate(tasks):
        inside = task.stretch.seen.missing_steps[slice(*task.stretch.steps)]
        at_places = values[row, :, : len(inside), 0][:, inside]
        rows.append(
            Row(
                at_places,
                log_prob[row].astype(np.float64),
                log_weight[row].astype(np.float64),
                float(errors[row]),
                float(evidence[row]),
            )
        )
    return rows


def search_all(
    opened: dict[int, Opened], report: Report | None
) -> dict[int, tuple[Draft, list[Searched]] | Exception]:
    """Return, by request, its draft with the best fills and what was found for each group."""
    drafts = {number: _draft_of(one) for number, one in opened.items()}
    found: dict[int, Any] = {number: {} for number in opened}

    def search(todo: dict[int, list[int]], quick: bool) -> dict[int, list[int]]:
        """Search some groups of each request; return those next to which something changed."""
        work = {
            number: _work(opened[number], drafts[number], groups, quick)
            for number, groups in todo.items()
        }
        answers = run_all(search_pass, work, report)
        again: dict[int, list[int]] = {}
        for number, groups in todo.items():
            if isinstance(rows := answers.get(number, []), Exception):
                found[number] = rows
                continue
            changed = _take(drafts[number], groups, rows, found[number])
            if near := _near(drafts[number], changed):
                again[number] = near
        return again

    several = {n: list(range(len(d.groups))) for n, d in drafts.items() if len(d.groups) > 1}
    search(several, quick=True)
    todo = {
        number: list(range(len(draft.groups)))
        for number, draft in drafts.items()
        if not isinstance(found[number], Exception)
    }
    for _ in range(ROUNDS):
        if todo:
            todo = search(todo, quick=False)
    return {
        number: one
        if isinstance(one, Exception)
        else (drafts[number], [one[group] for group in sorted(one)])
        for number, one in found.items()
    }


def search_tasks(one: Opened) -> list[Task]:
    """Return what is searched for a request: every group of gaps, with each of its lengths."""
    draft = _draft_of(one)
    return _work(one, draft, list(range(len(draft.groups))), quick=False).tasks


def search_states(one: Opened) -> int:
    """Return how many states of the nets these tasks hold; no task is made to know that."""
    draft, total = _draft_of(one), 0
    for group in draft.groups:
        lengths = _lengths(draft, group)
        longest = draft.stretch(group, lengths[-1], one.around)
        total += len(lengths) * one.method.states(longest, 1)
    return total


def _draft_of(one: Opened) -> Draft:
    strategy: Any = one.method.strategy
    frame = one.method.net.frame
    return make_draft(
        one.sequence.values,
        one.sequence.missing_steps,
        one.item.open_gaps,
        int(frame.unknown_value),
        strategy.lookahead,
    )


def _work(one: Opened, draft: Draft, groups: list[int], quick: bool) -> Work:
    strategy: Search = one.method.strategy  # type: ignore[assignment]  # since it searches
    if quick:
        strategy = replace(strategy, width=max(1, strategy.width // QUICK))
    elif one.item.open_gaps:
        strategy = replace(strategy, draws=strategy.draws * LENGTH_DRAWS)
    key = (method_key(one), strategy.width, strategy.draws)
    tasks = []
    for group in groups:
        for lengths in _lengths(draft, draft.groups[group]):
            stretch = draft.stretch(draft.groups[group], lengths, one.around)
            # The first length is that of the only gap if it may vary: it has a key of its own.
            number = group * (LONGEST_GAP + 1) + (lengths[0] if one.item.open_gaps else 0)
            tasks.append(Task(stretch, one.request.seed, number, draws=1, scored=1))
    return Work(key, one.method._replace(strategy=strategy), tasks)


def _lengths(draft: Draft, group: range) -> list[tuple[int, ...]]:
    """Return the lengths that the gaps of a group may have; only one gap by itself may vary."""
    if len(group) > 1:
        return [tuple(draft.gaps[number].shortest for number in group)]
    gap = draft.gaps[group.start]
    possible = zip(gap.lengths, gap.weights.tolist(), strict=True)
    return [(length,) for length, weight in possible if weight]


def _take(
    draft: Draft, groups: list[int], rows: list[Row], found: dict[int, Searched]
) -> list[int]:
    """Keep what was found, write the best into the draft, and return the groups that changed."""
    changed, rest = [], iter(rows)
    for group in groups:
        numbers = draft.groups[group]
        lengths = _lengths(draft, numbers)
        found[group] = _searched(draft, numbers, lengths, [next(rest) for _ in lengths])
        best = found[group].options[0]
        if draft.fill(numbers, best.lengths, best.values):
            changed.append(group)
    return changed


def _searched(
    draft: Draft, group: range, lengths: list[tuple[int, ...]], rows: list[Row]
) -> Searched:
    """Return all options on one scale: P(length) times P(fill | length)."""
    gap = draft.gaps[group.start]
    prior = dict(zip(gap.lengths, gap.weights.tolist(), strict=True))
    evidence = np.array([row.log_evidence for row in rows]) if len(rows) > 1 else np.zeros(1)
    scores = evidence + np.log([prior[each[0]] for each in lengths])
    log_shares = scores - np.logaddexp.reduce(scores)
    options = []
    for each, row, log_share in zip(lengths, rows, log_shares.tolist(), strict=True):
        weights: dict[bytes, float] = defaultdict(float)  # one fill may be drawn several times
        for values, log_weight in zip(row.values, row.log_weight, strict=True):
            weights[values.tobytes()] += float(np.exp(log_weight + log_share))
        for n in np.flatnonzero(np.isfinite(row.log_prob)).tolist():
            values, log_prob = row.values[n], float(row.log_prob[n]) + log_share
            options.append(Option(each, values[:, None], log_prob, weights[values.tobytes()]))
    options.sort(key=lambda option: -option.log_prob)
    chances = {
        each[0]: float(np.exp(share)) for each, share in zip(lengths, log_shares, strict=True)
    }
    ranked = dict(sorted(chances.items(), key=lambda one: -one[1]))
    error = max(row.standard_error for row in rows)
    return Searched(options, ranked, error)


def _near(draft: Draft, changed: list[int]) -> list[int]:
    """Return the groups that are near one that changed."""
    near = set()
    for group in changed:
        for other in (group - 1, group + 1):
            inside = 0 <= other < len(draft.groups)
            if inside and draft.near(draft.groups[group], draft.groups[other], NEAR):
                near.add(other)
    return sorted(near)
