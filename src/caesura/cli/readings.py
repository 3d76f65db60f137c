"""The readings of each gap, as people read them: in words and percent."""

from typing import TYPE_CHECKING

from caesura.cli.output import answer_table, note, percent

if TYPE_CHECKING:
    from rich.text import Text

    from caesura.filler import Fill
    from caesura.filler.fill import GapFill, Reading

TOP = 5  # readings that are shown beside the chosen one
LENGTHS = 3  # that are shown of a gap whose length is not known
INDENT = "   "
AROUND = 14  # characters on either side of a gap
GUESS = 0.1  # of the probability: an answer that has less is little more than a guess


def show_gaps(fill: "Fill", top: int | None) -> None:
    """Show the chosen reading of each gap, its probability, and the `top` best others."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print()
    for number, gap in enumerate(fill.gaps, start=1):
        console.print(_chosen(fill.best, gap, f"{number}. " if len(fill.gaps) > 1 else ""))
        # Beside another gap, the reading of the best fill need not be the likeliest by itself.
        part = fill.best[slice(*gap.span)]
        others = [one for one in gap.candidates if one.part != part]
        for line in (_others(others, top), _lengths(gap)):
            for row in line.wrap(console, console.width - len(INDENT)) if line else []:
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


def _chosen(best: str, gap: "GapFill", number: str) -> "Text":
    """Return the chosen reading between what stands around it, with its probability."""
    from rich.text import Text

    start, stop = gap.span
    chances = (one.probability for one in gap.candidates if one.part == best[start:stop])
    first, last = max(0, start - AROUND), stop + AROUND
    return Text.assemble(
        (number, "bold"),
        (("…" if first else "") + _visible(best[first:start]), "dim"),
        (f"[{_visible(best[start:stop])}]", "bold green"),
        (_visible(best[stop:last]) + ("…" if last < len(best) else ""), "dim"),
        "  ",
        (percent(next(chances, 0.0)), "bold"),
        overflow="fold",
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
