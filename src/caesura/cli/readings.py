"""The readings of each gap, as people read them: in words and percent."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from caesura.cli.output import answer_table, note, percent

if TYPE_CHECKING:
    from rich.text import Text

    from caesura.filler import Fill
    from caesura.filler.candidates import GapFill, Reading
    from caesura.parallels import Parallel

    Passages = Callable[[int, str], list[Parallel]]  # of a gap by its number, and a reading

TOP = 5  # readings that are shown beside the chosen one
LENGTHS = 3  # that are shown of a gap whose length is not known
INDENT = "   "
AROUND = 14  # characters on either side of a gap
GUESS = 0.1  # of the probability: an answer that has less is little more than a guess


def show_gaps(fill: "Fill", top: int | None, passages: "Passages | None" = None) -> None:
    """Show the chosen reading of each gap, its probability, and the `top` best others.

    Readings of the user's own are shown, too, and `passages` that are like the chosen one.
    """
    from rich.console import Console
    from rich.text import Text

    console, parts = Console(highlight=False), fill.candidates[0].parts
    console.print()
    for number, gap in enumerate(fill.gaps):
        # Beside another gap, the reading of the best fill need not be the likeliest by itself.
        part = parts[number]
        label = f"{number + 1}. " if len(fill.gaps) > 1 else ""
        console.print(_chosen(_around(fill, number), part, gap, label))
        others = [one for one in gap.candidates if one.part != part]
        like = passages(number, part) if passages else []
        lines = [_others(others, top), _lengths(gap), *_asked(gap), *map(_passage, like)]
        for line in filter(None, lines):
            for row in line.wrap(console, console.width - len(INDENT)):
                row.rstrip()
                console.print(Text(INDENT), row, sep="")


def show_details(fill: "Fill", top: int | None) -> None:
    """Show the best fills of all gaps together, and their log-probabilities."""
    shown = fill.candidates if top is None else fill.candidates[: top + 1]
    print()
    answer_table(
        ["all gaps together", "probability", "nats"],
        [
            [" … ".join(map(_visible, one.parts)), percent(_exp(one.log_prob)), _nats(one.log_prob)]
            for one in shown
        ],
    )
    error = fill.log_prob.standard_error
    estimated = f"; the nats are estimates, ± {error:.2g} for the best" if error else ""
    count = len(fill.candidates)
    print(
        f"{count} distinct {'fill was' if count == 1 else 'fills were'} found by "
        f"'{fill.strategy}', with {percent(fill.covered or 0.0)} of the probability{estimated}."
    )


def note_guesses(fill: "Fill") -> None:
    """Say so if what was found has little of the probability."""
    guesses = [number for number, gap in enumerate(fill.gaps, start=1) if gap.covered < GUESS]
    if not guesses:
        return
    if len(fill.gaps) == 1:
        what, they = "This is", "it"
    elif len(guesses) == len(fill.gaps):
        what, they = "These are", "any gap"
    else:
        what = f"Gap {guesses[0]} is" if len(guesses) == 1 else f"Gaps {_listed(guesses)} are"
        they = "it" if len(guesses) == 1 else "any of them"
    note(
        f"{what} little more than a guess: the readings that were found for {they} have less than "
        f"{percent(GUESS)} of the probability together."
    )


def _chosen(around: tuple[str, str], part: str, gap: "GapFill", number: str) -> "Text":
    """Return the chosen reading between what stands around it, with its probability."""
    from rich.text import Text

    before, after = around
    chances = (one.probability for one in gap.candidates if one.part == part)
    return Text.assemble(
        (number, "bold"),
        (_visible(before), "dim"),
        (f"[{_visible(part)}]", "bold green"),
        (_visible(after), "dim"),
        "  ",
        (percent(next(chances, 0.0)), "bold"),
        overflow="fold",
    )


def _around(fill: "Fill", number: int) -> tuple[str, str]:
    """Return what stands before and after a gap; of an edition, the letters that the net sees."""
    kind: Any = fill.kind
    if not kind.is_edited:
        start, stop = fill.gaps[number].span
        first, last = max(0, start - AROUND), stop + AROUND
        before, after = fill.best[first:start], fill.best[stop:last]
        return ("…" if first else "") + before, after + ("…" if last < len(fill.best) else "")
    lengths = fill.completions[0].lengths
    start = sum(fill.between[: number + 1]) + sum(lengths[:number])
    stop, end = start + lengths[number], len(fill.values)
    first, last = max(0, start - AROUND), min(end, stop + AROUND)
    before, after = _letters(fill, first, start), _letters(fill, stop, last)
    return ("…" if first else "") + before, after + ("…" if last < end else "")


def _letters(fill: "Fill", start: int, stop: int) -> str:
    """Return the letters of some steps; "…" stands for what the net does not know."""
    from caesura.sequence import UNKNOWN, Span, runs

    known = runs(fill.values[start:stop, 0] != UNKNOWN)
    parts = [fill.item.part(fill.values, Span(start + a, start + b)) for a, b in known]
    return "…".join(parts)


def _asked(gap: "GapFill") -> "list[Text]":
    """Return what is said of readings of the user's own, and of a pattern."""
    from rich.text import Text

    told = [
        f"yours: “{_visible(part)}” {percent(chance)}, number {rank} of all"
        for part, chance, rank in gap.asked
    ]
    if gap.matching is not None:
        told.append(f"given the pattern, which holds with {percent(gap.matching)}")
    return [Text(one, overflow="fold") for one in told]


def _passage(one: "Parallel") -> "Text":
    from rich.text import Text

    same = f"  ({one.matching} letters around it are the same)"
    reading = (f"[{one.part}]", "green")
    return Text.assemble(
        "like ", (one.id, "bold"), f": …{one.before} ", reading, f" {one.after}…", (same, "dim")
    )


def _others(readings: "list[Reading]", top: int | None) -> "Text | None":
    """Return the other readings; those below one percent share the words for that."""
    from rich.text import Text

    shown = readings if top is None else readings[:top]
    if not shown:
        return None
    probable = [one for one in shown if one.probability >= 0.01]
    rare = [one for one in shown if one.probability < 0.01]
    parts = [f"{_quoted(one)} {percent(one.probability)}" for one in probable]
    if rare:
        each = " each" if len(rare) > 1 else ""
        parts.append(f"{', '.join(map(_quoted, rare))}: {percent(0.0)}{each}")
    return Text("or " + " · ".join(parts), overflow="fold")


def _lengths(gap: "GapFill") -> "Text | None":
    from rich.text import Text

    if len(gap.lengths) < 2:
        return None
    likeliest = list(gap.lengths.items())[:LENGTHS]
    told = ", ".join(f"{length} ({percent(chance)})" for length, chance in likeliest)
    return Text(f"likeliest lengths: {told}", style="dim")


def _quoted(reading: "Reading") -> str:
    return f"“{_visible(reading.part)}”"


def _visible(text: str) -> str:
    return text.replace("\n", "↵").replace("\t", "→")


def _listed(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _exp(nats: float) -> float:
    import math

    return min(1.0, math.exp(nats))


def _nats(nats: float) -> str:
    return f"{nats:.3f}"
