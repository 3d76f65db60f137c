"""The results in a CSV file, one per row; the whole file is rewritten after each of them."""

import csv
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from caesura.errors import CaesuraError
from caesura.files import cannot_read, write_text
from caesura.reproduce import paper

NAME = "reproduce.csv"
MODELS = "models"  # the item of a training's own row, whose value is the validation NLL


class Identity(NamedTuple):
    """What defines a result: one with the same identity need not be computed again."""

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
    """One result, with everything that it depends on and what it took."""

    item: str
    dataset: str
    strategy: str
    recipe: str
    x: int | None
    value: float | None  # nats
    standard_error: float | None
    gaps: int | None  # or steps, in Table 2
    seed: int
    settings: str
    updates: int  # made in the training
    planned_updates: int
    recipe_updates: int  # of the unchanged recipe
    fingerprint: str
    hardware: str
    seconds: float
    # An excerpt of a text: before and after the gap, the truth in it, and what was drawn.
    before: str = ""
    truth: str = ""
    filled: str = ""
    after: str = ""

    @property
    def nats(self) -> float:
        """The value; only an excerpt has none."""
        assert self.value is not None
        return self.value

    @property
    def identity(self) -> Identity:
        """What defines the result."""
        return Identity(*(getattr(self, name) for name in Identity._fields))


COLUMNS = tuple(field.name for field in fields(Result))


class Results:
    """The rows of one file, which is created with the first of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = _read(path) if os.path.exists(path) else []

    def __iter__(self) -> Iterator[Result]:
        return iter(self.rows)

    def hold(self, identities: Iterable[Identity]) -> bool:
        """Return whether all of these results are there."""
        return {row.identity for row in self.rows}.issuperset(identities)

    def find(self, identity: Identity | None) -> Result | None:
        """Return the result with this identity, if there is one."""
        return next((row for row in self.rows if row.identity == identity), None)

    def add(self, new: list[Result]) -> None:
        """Add the results of one place on the page, and write the file.

        They replace results with other settings in that place, and all results of another net of
        the same recipe on the same data set: a page shows one of each.
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
    """Return the place of a result on the page, which may have results for several x."""
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
        raise cannot_read(path, error) from error
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
            raise CaesuraError(f"{foreign}: row {number} is for nothing in the paper.")
        if (*_place(row), row.x) in rows:
            raise CaesuraError(f"{foreign}: row {number} repeats another row.")
        rows[*_place(row), row.x] = row
    return list(rows.values())


def _parse(column: str, cell: str) -> Any:
    kind = get_type_hints(Result)[column]
    if kind is str:
        return cell
    if not cell and kind in (int | None, float | None):
        return None
    return int(cell) if kind in (int, int | None) else float(cell)
