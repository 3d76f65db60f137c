"""Tables of polars and PyArrow whose columns, types and cells follow from a stranger's bytes."""

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from caesura.kinds import Series
from caesura.kinds.series import foreign
from hostile_answer import answer

NAMES = ["a", "b", "t", "", "a.1", "x" * 999, "\n", "0", "index", "é"]
DAY = dt.datetime(2024, 1, 1)
DAYS = [DAY + dt.timedelta(days=n) for n in range(250)]
CELLS: list[tuple[Any, Callable[[int], Any]]] = [  # a type, and its cell for a byte
    (pl.Float64, lambda b: [0.0, -0.0, float("nan"), float("inf"), 1e308, -1e308, b / 7][b % 7]),
    (pl.Float32, lambda b: b / 3),
    (pl.Int8, lambda b: b - 128),
    (pl.Int64, lambda b: [b, -(2**63), 2**63 - 1, 2**53 + 1][b % 4]),
    (pl.UInt64, lambda b: [b, 2**64 - 1][b % 2]),
    (pl.Boolean, lambda b: b % 2 == 0),
    (pl.String, lambda b: ["", "x", "nan", "1", "2024-01-01", "\x1b[2J", "y" * 999][b % 7]),
    (pl.Categorical, lambda b: "abc"[b % 3]),
    (pl.Enum(["u", "v"]), lambda b: "uv"[b % 2]),
    (pl.Datetime("us"), lambda b: DAYS[b % 250]),
    (pl.Datetime("ns", "Europe/Berlin"), lambda b: DAY.replace(tzinfo=dt.UTC) + dt.timedelta(b)),
    (pl.Datetime("ms"), lambda b: [dt.datetime.min, dt.datetime.max, DAY][b % 3]),
    (pl.Date, lambda b: [dt.date.min, dt.date.max, DAYS[b % 250].date()][b % 3]),
    (pl.Duration("us"), lambda b: dt.timedelta(seconds=b)),
    (pl.Time, lambda b: dt.time(b % 24)),
    (pl.Decimal(10, 2), lambda b: Decimal(b) / 4),
    (pl.List(pl.Int64), lambda b: [b] * (b % 3)),
    (pl.Struct({"p": pl.Int64}), lambda b: {"p": b}),
    (pl.Binary, lambda b: bytes([b])),
    (pl.Null, lambda b: None),
]


def read_as_polars(content: bytes) -> None:
    if (table := _table(content)) is not None:
        _fill(table)


def read_as_arrow(content: bytes) -> None:
    if (table := _table(content)) is not None:
        _fill(table.to_arrow())


def _table(content: bytes) -> pl.DataFrame | None:
    """The first byte gives the rows. A column is bytes for its name, its type and its cells."""
    rest = iter(content)
    rows = next(rest, 0) % 16
    columns: dict[str, pl.Series] = {}
    for byte in rest:
        kind, cell = CELLS[next(rest, 0) % len(CELLS)]
        cells = [None if b > 250 else cell(b) for b in _cells(rest, rows)]
        columns[NAMES[byte % len(NAMES)]] = pl.Series(cells, dtype=kind)
    return pl.DataFrame(columns) if columns else None


def _cells(rest: Iterator[int], rows: int) -> list[int]:
    return [next(rest, 255) for _ in range(rows)]


def _fill(table: Any) -> None:
    """What an imputer does with it, without a net: every gap gets the mean of its column."""
    assert foreign.is_foreign(table)
    frame = answer(foreign.to_pandas, table)
    kind = None if frame is None else answer(lambda: Series.learn([frame], least_observed=1))
    item = None if kind is None else answer(kind.open, frame)
    if item is None:
        return
    filled = answer(item.write, np.zeros(item.missing.shape), item.missing)
    if filled is not None:
        answer(foreign.like, table, filled)


def _frame(*columns: tuple[int, int, bytes]) -> bytes:
    return bytes([8]) + b"".join(bytes([name, kind]) + cells for name, kind, cells in columns)


FRAMES = [
    _frame((0, 0, b"\6\r\xff\x14\x1b\xff\x22)"), (1, 3, b"\4\b\xff\x0c\4\b\x0c\x10")),
    _frame((2, 9, bytes(range(8))), (0, 1, b"\1\2\xff\4\5\6\7\x08"), (1, 5, b"\1\2\1\xff\1\2\1\2")),
    _frame(
        (0, 7, b"\0\1\2\xff\1\2\1\0"), (4, 8, b"\0\1\0\1\xff\1\0\1"), (9, 6, b"\1\3\1\3\1\1\3\3")
    ),
]
