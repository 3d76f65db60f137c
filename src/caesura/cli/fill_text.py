"""`caesura fill text`: the gaps of a text, on stdout or into a file."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.cli.engine import fill_many
from caesura.cli.filling import Asked, check_options, fill_one, load_for, write_best
from caesura.cli.options import (
    Context,
    DataColumn,
    Details,
    EngineOption,
    IdColumn,
    Json,
    Leiden,
    ModelOption,
    NotationOption,
    Seconds,
    Seed,
    StrategyOption,
    Workers,
    documented,
    notation_of,
)
from caesura.cli.output import in_terminal, note
from caesura.cli.parsing import parse_numbered, parse_span, steps_in
from caesura.cli.passages import passages_as_json, passages_of
from caesura.cli.readings import TOP, note_guesses, show_details, show_gaps
from caesura.errors import CaesuraError, FileMissingError

if TYPE_CHECKING:
    from caesura.filler import Fill, Filler
    from caesura.kinds import Item
    from caesura.sequence import Span

FEW = 8  # missing characters, for which compiling is nearly all of the work
SUFFIXES = (".txt", ".txt.xz", ".xml", ".md", ".tex")  # of what is surely meant as a file

Samples = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="How many random fills to add to the answer of --json. Strategies other than "
        "'search' choose their best fill from this many.",
        show_default="none; strategies other than 'search' choose from 32",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        help="How many other readings of each gap to show; a terminal shows some without it.",
        show_default=str(TOP),
    ),
]


@documented
def text(
    ctx: Context,
    given: str,
    model: ModelOption = None,
    gaps: list[str] | None = None,
    gap_char: str | None = None,
    brackets: str | None = None,
    notation: NotationOption = None,
    leiden: Leiden = False,
    lost: str | None = None,
    length: str | None = None,
    patterns: list[str] | None = None,
    readings: list[str] | None = None,
    parallels: Path | None = None,
    alternatives: bool = False,
    samples: Samples = None,
    strategy: StrategyOption = None,
    seed: Seed = 0,
    seconds: Seconds = None,
    output: Path | None = None,
    top: Top = None,
    every: bool = False,
    details: Details = False,
    engine: EngineOption = None,
    workers: Workers = None,
    id_column: IdColumn = "id",
    data_column: DataColumn = "data",
    json: Json = False,
) -> None:
    r"""Fill the gaps of a text.

    The most probable fill goes to stdout. A terminal also shows the chosen reading of each gap, its
    probability, and other readings. If stdout is not a terminal, ask for them with `--top`.

    Each `_` is one missing character. A gap can also be written by its length: `{5}` is the same as
    `_____`. The length need not be known: `{3-7}` are 3 to 7 missing characters, and `{?}` are 1 to
    12. A priori all these lengths are equally probable, and no gap is longer than 64. Marks beside
    each other are one gap: `__{1-3}` has 3 to 5 characters. A backslash before the brackets makes
    them a part of the text: `\{3-7}` stands for `{3-7}`. Other brackets, as in `{a}`, are text.

    Editions of papyri and inscriptions are read as they are: with `--leiden`, or if the model was
    trained on such texts. `[...]` are three lost letters, `[c.5]` about five, `[---]` an unknown
    number, and `[..τ..]` has a letter among four lost ones; an EpiDoc file has `<gap>`. A file
    comes back as it was, except for its gaps. Letters that an editor has restored count as known
    unless `--lost restored` is given.

    Parameters
    ----------
    given : TEXT
        The text itself, with '_' for each missing character; or the path of a file; or - for stdin.
    gaps : --gap FROM:TO
        Characters that are missing too, counted from 0: 10:15 is from 10 to before 15; may be given
        several times.
    gap_char : --gap-char C
        The character that marks a missing one. Default: the model's own.
    brackets : --brackets AB
        The two characters around the length of a gap; '' if the text has no lengths in brackets.
        Default: the model's own.
    lost : --lost WORDS
        Which letters of an edition count as lost: restored, doubtful, or restored,doubtful.
        Default: the model's own, usually none.
    length : --length-range, --length FROM-TO
        The length of every gap whose length is not in brackets, however many '_' mark it: 3-7 is
        from 3 to 7 characters. Default: a character for each '_', and 1-12 for '{?}' and '[---]'.
    patterns : --pattern N=REGEX
        A regular expression that the letters of gap N must match, as in 1=του.*; gaps are counted
        from 1, and N= may be left out if there is only one. May be given several times.
    readings : --reading N=TEXT
        A reading of your own, whose probability and rank are shown; may be given several times.
    parallels : --parallels INDEX
        Show passages that are like the chosen reading of each gap, from an index made by `caesura
        parallels build`.
    alternatives : --alternatives
        Write the other readings into an EpiDoc file, too, as <app> and <rdg>; --top says how many.
    output : --output, -o FILE
        Write the best fill there, not to stdout.
    every : --all
        Show all readings that were found of each gap.
    """
    from caesura.sequence import runs

    check_options(ctx, "gap_char", "brackets", "notation", "leiden", "lost")
    if every and top is not None:
        raise CaesuraError("Specify either --top or --all.")
    asked = Asked(samples, strategy, seed, output, engine, workers, id_column, data_column, json)
    marks = {"gap_char": gap_char, "brackets": brackets, "lost": lost}
    marks["notation"] = notation_of(notation, leiden)
    name, fields = model or "text", {key: mark for key, mark in marks.items() if mark is not None}
    if engine is not None:
        fill_many("text", name, Path(given), asked, kind_fields=fields)
        return
    spans = [parse_span(gap) for gap in gaps or []]
    lengths = _parse_lengths(length)
    filler = load_for("text", name, given, output).with_kind(**fields)
    kind: Any = filler.kind
    if lost is not None and kind.notation == "plain":
        raise CaesuraError("The option --lost is for editions: specify --leiden, too.")
    index = None if parallels is None else _load_index(parallels)
    item = _open(given, kind, bool(spans))
    item = item if lengths is None else item.with_range(lengths)
    if alternatives and item.suffix != ".xml":
        raise CaesuraError(
            "The option --alternatives is for EpiDoc files: --top shows them for other texts."
        )
    if spans and item.open_gaps:
        raise CaesuraError(
            "The option --gap counts characters, but the text has a gap of unknown length: mark "
            "all gaps in the text itself."
        )
    missing = steps_in(spans, len(item.sequence), "letters" if kind.is_edited else "characters")
    steps = item.sequence.missing_steps.copy()
    steps[missing or []] = True
    _save_compiling(filler, item, runs(steps), strategy)
    questions = _questions(patterns, readings, len(runs(steps)) + len(item.open_gaps))
    fill = fill_one(filler, item, asked, missing=missing, seconds=seconds, **questions)
    if not len(fill.places):
        note(f"Nothing is missing: mark it with '{kind.gap_char}', or specify it with --gap.")
    shown = None if every else TOP if top is None else top
    filled = fill.with_alternatives(shown) if alternatives else fill.best
    more = {"edition": filled} if alternatives else {}
    if index is not None and json:
        more["parallels"] = passages_as_json(index, fill, shown)
    write_best(fill, asked, filled, **more)
    if json:
        return
    if output is None:
        _show_best(fill, filled)
    if not len(fill.places):
        return
    if every or top is not None or in_terminal() or questions or index is not None:
        show_gaps(
            fill, shown, index and (lambda number, part: passages_of(index, fill, number, part))
        )
    if details:
        show_details(fill, shown)
    note_guesses(fill)


def _questions(patterns: list[str] | None, readings: list[str] | None, gaps: int) -> dict[str, Any]:
    """Return what is asked about single gaps, as `Filler.fill` takes it."""
    asked: dict[str, Any] = {}
    if patterns:
        found = parse_numbered(patterns, "--pattern", gaps)
        if any(len(given) > 1 for given in found.values()):
            raise CaesuraError("A gap has one --pattern: join several as in 'α.*|.*β'.")
        asked["patterns"] = {number: given[0] for number, given in found.items()}
    if readings:
        asked["readings"] = parse_numbered(readings, "--reading", gaps)
    return asked


def _load_index(path: Path) -> Any:
    from caesura.parallels import Parallels

    return Parallels.load(path)


def _parse_lengths(length: str | None) -> Any:
    from caesura.kinds.text.notation import parse_lengths

    return None if length is None else parse_lengths(length)


def _open(given: str, kind: Any, has_gaps: bool) -> Any:
    """Return the text, or that of a file, as an item."""
    from caesura.kinds.text.notation import has_notation

    if os.path.isfile(given):
        return kind.open(Path(given))
    marked = kind.gap_char in given or has_notation(given, kind.brackets)
    marked = marked or (kind.notation != "plain" and any(sign in given for sign in "[]<"))
    if _looks_like_path(given, has_gaps or marked):
        raise FileMissingError(
            f"There is no file '{given}'; a text to fill has '{kind.gap_char}' for each missing "
            "character, or --gap says what is missing."
        )
    content = sys.stdin.buffer.read() if given == "-" else os.fsencode(given)
    try:
        return kind.open_content(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        source = "The text from stdin" if given == "-" else "The text"
        raise CaesuraError(f"{source} is not UTF-8: byte {error.start} cannot be read.") from error


def _looks_like_path(given: str, has_gaps: bool) -> bool:
    suffix = given.lower().endswith(SUFFIXES)
    if has_gaps:  # even in these words, if they are one
        return suffix and not any(map(str.isspace, given))
    return suffix or os.sep in given or "/" in given


def _save_compiling(
    filler: "Filler", item: "Item", gaps: "list[Span]", strategy: str | None
) -> None:
    """For few characters, ask for programs that compile in 2/3 of the time and are half as fast."""
    if item.open_gaps:
        return
    sizes = [gap.stop - gap.start for gap in gaps]
    longest = max(sizes, default=0)
    if sum(sizes) <= FEW and filler.method(strategy).strategy.is_exact(longest):
        import jax

        jax.config.update("jax_disable_most_optimizations", True)


def _show_best(fill: "Fill", filled: str) -> None:
    end = "" if filled.endswith("\n") else "\n"
    if not in_terminal() or filled != fill.best:
        print(filled, end=end)
        return
    from rich.console import Console
    from rich.text import Text

    shown = Text(fill.best)
    for step, _ in fill.places:
        shown.stylize("bold green", int(step), int(step) + 1)
    Console(highlight=False).print(shown, end=end, soft_wrap=True)
