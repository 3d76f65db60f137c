"""The results, one a row, in a CSV file that is rewritten whole after each of them."""

import csv
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from caesura.errors import CaesuraError
from caesura.files import write_text
from caesura.reproduce import paper

NAME = "reproduce.csv"
MODELS = "models"  # the item of a training's own row, whose value is the validation NLL


class Identity(NamedTuple):
    """All that defines a result: one of the same identity need not be computed again."""

    item: str
    dataset: str
    strategy: str  # empty where no gap is filled
    recipe: str
    x: int | None  # the position in the gap, the Gibbs steps, or the number of an excerpt
    seed: int
    settings: str  # of the evaluation, or the fields that the plan gives to a training
    fingerprint: str  # of the training


@dataclass(frozen=True)
class Result:
    """What was measured, of what, with what, on what."""

    item: str
    dataset: str
    strategy: str
    recipe: str
    x: int | None
    value: float | None  # nats
    standard_error: float | None
    gaps: int | None  # or steps, where the value is that of a step
    seed: int
    settings: str
    updates: int  # that the training made
    planned_updates: int
    recipe_updates: int  # those that the recipe has by itself
    fingerprint: str
    hardware: str
    seconds: float
    # An excerpt of a text: what stands around the gap, what stood in it, and what was drawn.
    before: str = ""
    truth: str = ""
    filled: str = ""
    after: str = ""

    @property
    def nats(self) -> float:
        """The value, which only an excerpt lacks."""
        assert self.value is not None
        return self.value

    @property
    def identity(self) -> Identity:
        """What defines it."""
        return Identity(*(getattr(self, name) for name in Identity._fields))


COLUMNS = tuple(field.name for field in fields(Result))


class Results:
    """The rows of one file, which is made with the first of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = _read(path) if os.path.exists(path) else []

    def __iter__(self) -> Iterator[Result]:
        return iter(self.rows)

    def hold(self, identities: Iterable[Identity]) -> bool:
        """Whether all of them are here."""
        return {row.identity for row in self.rows}.issuperset(identities)

    def add(self, new: list[Result]) -> None:
        """Write down results of one place on the page.

        What was measured there before with other settings makes room, and so does everything that
        came from another net of the same recipe on the same set: a page shows one of each.
        """
        first, xs = new[0], {row.x for row in new}

        def stays(row: Result) -> bool:
            if (row.dataset, row.recipe) != (first.dataset, first.recipe):
                return True
            if row.fingerprint != first.fingerprint:
                return False
            same = (row.seed, row.settings) == (first.seed, first.settings)
            return _place(row) != _place(first) or (same and row.x not in xs)

        self.rows = [row for row in self.rows if stays(row)] + new
        write_text(self.path, _text(self.rows))


def _place(row: Result) -> tuple[str, str, str, str]:
    """Where it stands on the page; one place may have results for several x."""
    return row.item, row.dataset, row.strategy, row.recipe


def _text(rows: list[Result]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(astuple, rows))  # None is an empty cell, a float all of its digits
    return text.getvalue()


def _read(path: Path) -> list[Result]:
    foreign = f"The file '{path}' is not a table of results"
    try:
        lines = csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""), strict=True)
        header, *cells = [line for line in lines if line] or [[]]
    except OSError as error:
        raise CaesuraError(f"Cannot read '{path}': {(error.strerror or '').lower()}.") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise CaesuraError(f"{foreign}: {error}.") from error
    if tuple(header) != COLUMNS:
        raise CaesuraError(f"{foreign}: its columns are not {', '.join(COLUMNS)}.")
    rows: dict[Any, Result] = {}
    for number, line in enumerate(cells, 1):
        try:
            row = Result(*(_parse(*pair) for pair in zip(COLUMNS, line, strict=True)))
        except ValueError as error:
            raise CaesuraError(f"{foreign}: row {number} does not fit its columns.") from error
        if (
            row.item not in (MODELS, *paper.ITEMS)
            or row.dataset not in paper.DATASETS
            or (row.value is None) != (row.item == "table3")
        ):
            raise CaesuraError(f"{foreign}: row {number} is of nothing that the paper has.")
        if (*_place(row), row.x) in rows:
            raise CaesuraError(f"{foreign}: row {number} is there twice.")
        rows[*_place(row), row.x] = row
    return list(rows.values())


def _parse(column: str, cell: str) -> Any:
    kind = get_type_hints(Result)[column]
    if kind is str:
        return cell
    if not cell and kind in (int | None, float | None):
        return None
    return int(cell) if kind in (int, int | None) else float(cell)
