"""Search for the best fills of many requests: the groups of gaps one after the other.

Gaps that are close to each other are searched as one. A group sees the best fills of the groups to
its left. Those to its right are unknown to it. Mostly they are so far away that only the
bidirectional net sees them, and it hardly matters to that net what they hold (docs/experiments.md).
Only gaps of unknown length may be nearer. They are searched again when all others have been.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from caesura.filler.candidates import Weighed
from caesura.filler.draft import Draft, make_draft
from caesura.filler.passes import prepare
from caesura.filler.questions import Questions
from caesura.filler.running import Opened, Report, Work, method_key, run_all
from caesura.filler.stretches import Stretch
from caesura.filler.tasks import Method, Task
from caesura.kinds.text.automaton import Automaton
from caesura.sequence import LONGEST_GAP, Span
from caesura.strategies import Search
from caesura.strategies.rules import Rule

LENGTH_DRAWS = (
    4  # times as many draws: to compare lengths takes a better estimate than to rank fills
)
NEAR = 100  # observed steps between groups; what is farther away hardly matters


Rules = tuple[Automaton | None, ...]  # what may stand in each gap of a group


class Row(NamedTuple):
    """What a search found in one stretch, at its missing steps."""

    values: Shaped[np.ndarray, "N places"]
    log_prob: Float[np.ndarray, " N"]
    log_weight: Float[np.ndarray, " N"]
    standard_error: float
    log_evidence: float
    log_total: float


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
    asked: list[list[Weighed]]  # for each gap, the user's own readings
    matching: list[float | None]  # for each gap, the probability that its pattern holds


class Job(NamedTuple):
    """A search of a group of gaps, each of which has a length and perhaps a rule."""

    lengths: tuple[int, ...]
    rules: Rules


def search_pass(method: Method, tasks: Sequence[Task]) -> list[Row]:
    """Search some stretches of one shape side by side."""
    window, keys = prepare(method, tasks)
    strategy: Any = method.strategy
    found = strategy.search(keys.draw, method.net, window, [task.rule for task in tasks])
    values, log_prob, log_weight, errors, evidence, total = found
    rows = []
    for row, task in enumerate(tasks):
        inside = task.stretch.seen.missing_steps[slice(*task.stretch.inside)]
        at_places = values[row, :, : len(inside), 0][:, inside]
        rows.append(
            Row(
                at_places,
                log_prob[row],
                log_weight[row],
                float(errors[row]),
                float(evidence[row]),
                float(total[row]),
            )
        )
    return rows


def search_all(
    opened: dict[int, Opened], report: Report | None
) -> dict[int, tuple[Draft, list[Searched]] | Exception]:
    """Return, by request, its draft with the best fills and what was found for each group."""
    drafts = {number: draft_of(one) for number, one in opened.items()}
    found: dict[int, Any] = {number: {} for number in opened}
    waves = {number: _waves(opened[number], draft) for number, draft in drafts.items()}
    for wave in range(max(map(len, waves.values()), default=0)):
        todo = {
            number: groups[wave]
            for number, groups in waves.items()
            if wave < len(groups) and not isinstance(found[number], Exception)
        }
        work = {n: _work(opened[n], drafts[n], groups) for n, groups in todo.items()}
        answers = run_all(search_pass, work, report)
        for number, groups in todo.items():
            if isinstance(rows := answers.get(number, []), Exception):
                found[number] = rows
                continue
            jobs = _jobs_of(opened[number], drafts[number], groups)
            _take(drafts[number], opened[number].questions, jobs, rows, found[number])
    return {
        number: one
        if isinstance(one, Exception)
        else (drafts[number], [one[group] for group in sorted(one)])
        for number, one in found.items()
    }


def _waves(one: Opened, draft: Draft) -> list[list[int]]:
    """Return the groups that can be searched at once, and then those that wait for them."""
    strategy: Any = one.method.strategy
    waves: list[list[int]] = []
    number = 0
    for group, gaps in enumerate(draft.groups):
        waits = group > 0 and draft.near(draft.groups[group - 1], gaps, NEAR)
        number = number + 1 if waits else 0
        if number == len(waves):
            waves.append([])
        waves[number].append(group)
    pairs = enumerate(pairwise(draft.groups))
    seen = [n for n, (gaps, after) in pairs if draft.near(gaps, after, strategy.lookahead)]
    return [*waves, seen] if seen else waves


def search_tasks(one: Opened) -> list[Task]:
    """Return what is searched for a request: every group of gaps, with each of its lengths."""
    draft = draft_of(one)
    return _work(one, draft, list(range(len(draft.groups)))).tasks


def search_states(one: Opened) -> int:
    """Return how many states of the nets these tasks hold; no task is made to know that."""
    draft, total = draft_of(one), 0
    for group in draft.groups:
        longest = draft.stretch(group, _lengths(draft, group)[-1], one.around)
        total += len(_jobs(draft, one.questions, group)) * one.method.states(longest, 1)
    return total


def draft_of(one: Opened) -> Draft:
    """Return a draft of the request's data in which nothing is filled."""
    strategy: Any = one.method.strategy
    frame = one.method.net.frame
    return make_draft(
        one.sequence.values,
        one.sequence.missing_steps,
        one.item.open_gaps,
        int(frame.unknown_value),
        strategy.lookahead,
    )


def _work(one: Opened, draft: Draft, groups: list[int]) -> Work:
    strategy: Search = one.method.strategy  # type: ignore[assignment]  # since it searches
    if one.item.open_gaps:
        strategy = replace(strategy, draws=strategy.draws * LENGTH_DRAWS)
    if one.questions is not None:
        # A pattern is compared with all fills: what echoes add does not add up over both.
        strategy = replace(strategy, echo=False)
    key = (method_key(one), strategy.width, strategy.draws, strategy.echo)
    tasks = []
    for group, jobs in _jobs_of(one, draft, groups).items():
        for lengths, rules in jobs:
            stretch = draft.stretch(draft.groups[group], lengths, one.around)
            # The first length is that of the only gap if it may vary: it has a key of its own.
            number = group * (LONGEST_GAP + 1) + (lengths[0] if one.item.open_gaps else 0)
            rule = _rule(stretch, rules)
            tasks.append(Task(stretch, one.request.seed, number, draws=1, scored=1, rule=rule))
    return Work(key, one.method._replace(strategy=strategy), tasks)


def _rule(stretch: Stretch, rules: Rules) -> Rule | None:
    """Return the rules of the gaps of a stretch; None if there is none, so that all is free."""
    first = stretch.inside.start
    gaps = tuple(Span(gap.start - first, gap.stop - first) for gap in stretch.seen.gaps)
    return Rule(gaps, rules) if gaps and any(one is not None for one in rules) else None


def _jobs_of(one: Opened, draft: Draft, groups: list[int]) -> dict[int, list[Job]]:
    """Return, by group, what is searched."""
    return {n: _jobs(draft, one.questions, draft.groups[n]) for n in groups}


def _jobs(draft: Draft, questions: Questions | None, group: range) -> list[Job]:
    """Return the searches of a group: with each of its lengths, and for each question.

    A pattern is compared with everything. A reading of the user's own is like a pattern that has
    only its letters.
    """
    rules = [_patterns(questions, group)]
    if questions is not None:
        free = _free(group)
        rules.append(free)
        for place, number in enumerate(group):
            rules.append(_with(free, place, questions.patterns[number]))
            rules += [_with(rules[0], place, own.allowed) for own in questions.readings[number]]
    jobs = (Job(lengths, each) for lengths in _lengths(draft, group) for each in rules)
    return list(dict.fromkeys(job for job in jobs if _possible(job)))


def _patterns(questions: Questions | None, group: range) -> Rules:
    if questions is None:
        return _free(group)
    return questions.patterns[group.start : group.stop]


def _free(group: range) -> Rules:
    return (None,) * len(group)


def _with(rules: Rules, place: int, rule: Automaton | None) -> Rules:
    return (*rules[:place], rule, *rules[place + 1 :])


def _possible(job: Job) -> bool:
    each = zip(job.lengths, job.rules, strict=True)
    return all(rule is None or rule.has_words(length) for length, rule in each)


def _lengths(draft: Draft, group: range) -> list[tuple[int, ...]]:
    """Return the lengths that the gaps of a group may have; only one gap by itself may vary."""
    if len(group) > 1:
        return [tuple(draft.gaps[number].shortest for number in group)]
    gap = draft.gaps[group.start]
    possible = zip(gap.lengths, gap.weights.tolist(), strict=True)
    return [(length,) for length, weight in possible if weight]


def _take(
    draft: Draft,
    questions: Questions | None,
    jobs: dict[int, list[Job]],
    rows: list[Row],
    found: dict[int, Searched],
) -> None:
    """Keep what was found, and write the best into the draft."""
    rest = iter(rows)
    for group in jobs:
        numbers = draft.groups[group]
        answers = {job: next(rest) for job in jobs[group]}
        found[group] = _searched(draft, questions, numbers, answers)
        best = found[group].options[0]
        draft.fill(numbers, best.lengths, best.values)


def _searched(
    draft: Draft, questions: Questions | None, group: range, rows: dict[Job, Row]
) -> Searched:
    """Return all options on one scale: P(length) times P(fill | length), given the patterns."""
    patterns, free = _patterns(questions, group), _free(group)
    log_lengths = _log_lengths(draft, group, free, rows)
    log_shares = _log_shares(log_lengths, free, patterns, rows)
    log_holds = float(np.logaddexp.reduce(list(log_shares.values())))
    log_shares = {each: share - log_holds for each, share in log_shares.items()}
    options = []
    for each, log_share in log_shares.items():
        row = rows[Job(each, patterns)]
        weights: dict[bytes, float] = defaultdict(float)  # one fill may be drawn several times
        for values, log_weight in zip(row.values, row.log_weight, strict=True):
            weights[values.tobytes()] += float(np.exp(log_weight + log_share))
        for n in np.flatnonzero(np.isfinite(row.log_prob)).tolist():
            values, log_prob = row.values[n], float(row.log_prob[n]) + log_share
            options.append(Option(each, values[:, None], log_prob, weights[values.tobytes()]))
    options.sort(key=lambda option: -option.log_prob)
    chances = {each[0]: float(np.exp(share)) for each, share in log_shares.items()}
    ranked = dict(sorted(chances.items(), key=lambda one: -one[1]))
    error = max(rows[Job(each, patterns)].standard_error for each in log_shares)
    asked: list[list[Weighed]] = [[] for _ in group]
    matching: list[float | None] = [None] * len(group)
    for place, number in enumerate(group):
        if questions is None:
            break
        if pattern := questions.patterns[number]:
            alone = _with(free, place, pattern)
            matching[place] = _chance(_log_shares(log_lengths, free, alone, rows))
        for own in questions.readings[number]:
            shares = _log_shares(log_shares, patterns, _with(patterns, place, own.allowed), rows)
            asked[place].append(Weighed(own.text, own.letters, _chance(shares)))
    return Searched(options, ranked, error, asked, matching)


Shares = dict[tuple[int, ...], float]  # by the lengths of a group, log-probabilities


def _log_lengths(draft: Draft, group: range, rules: Rules, rows: dict[Job, Row]) -> Shares:
    """Return the log-probability of each length, from the evidence for it."""
    gap = draft.gaps[group.start]
    prior = dict(zip(gap.lengths, gap.weights.tolist(), strict=True))
    found = {job.lengths: row for job, row in rows.items() if job.rules == rules}
    evidence = np.array([row.log_evidence for row in found.values()])
    scores = (evidence if len(found) > 1 else np.zeros(1)) + np.log([prior[n[0]] for n in found])
    return dict(zip(found, (scores - np.logaddexp.reduce(scores)).tolist(), strict=True))


def _log_shares(shares: Shares, given: Rules, rules: Rules, rows: dict[Job, Row]) -> Shares:
    """Return the log-probabilities of each length and that rules hold, given other rules."""
    found = {}
    for each, share in shares.items():
        if (row := rows.get(Job(each, rules))) is not None:
            holds = row.log_total - rows[Job(each, given)].log_total
            found[each] = share + min(0.0, holds)  # both are estimates
    return found


def _chance(shares: Shares) -> float:
    return float(np.exp(np.logaddexp.reduce(list(shares.values())))) if shares else 0.0
