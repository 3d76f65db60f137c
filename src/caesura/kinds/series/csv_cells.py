"""The cells of a CSV file: those that were there keep the very characters that they had."""

from io import StringIO
from pathlib import Path
from typing import Any

from caesura.kinds.series.table import read_csv

DIGITS = 9  # of what is new: more than a model of single precision knows


def fill_cells(source: Path | StringIO, given: Any, filled: Any) -> Any:
    """A table of words: the cells of `source`, which holds `given`, and in empty ones the fills."""
    text = read_csv(source, dtype=str, na_filter=False)
    for name in filled.columns:
        if name not in given.columns:
            text[name] = _words(filled[name], {})
            continue
        new = (given[name].isna() & filled[name].notna()).to_numpy()
        if new.any():
            # True may stand there as TRUE.
            as_written = dict(zip(given[name].tolist(), text[name], strict=True))
            text.loc[new, name] = _words(filled.loc[new, name], as_written)
    return text


def filled_csv(source: Path | StringIO | None, given: Any, filled: Any) -> str:
    """The filled table as the text of a CSV file, as like to its source, if that is one, as can be.

    Where rows were added, there is none that it could be like.
    """
    import pandas as pd

    if source is not None and len(given) == len(filled):
        filled = fill_cells(source, given, filled)
    return str(filled.to_csv(index=not isinstance(filled.index, pd.RangeIndex)))


def _words(column: Any, as_written: dict[Any, str]) -> list[str]:
    return [_word(value, as_written) for value in column]


def _word(value: Any, as_written: dict[Any, str]) -> str:
    if isinstance(value, bool | str):
        return as_written.get(value, str(value))
    return f"{value:.{DIGITS}g}" if value == value else ""
