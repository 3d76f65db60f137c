"""Filled tables as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from caesura.cli.filling import write_filled
from caesura.files import replacing

if TYPE_CHECKING:
    from caesura.kinds import Item


def write_table(output: Path, item: "Item", table: Any) -> None:
    """Write a filled table as CSV, like the table that was read, or as Parquet."""
    if output.suffix.lower() != ".parquet":
        write_filled(output, item, table)
        return
    import pandas as pd

    with replacing(output) as part:
        table.to_parquet(part, index=None if isinstance(table.index, pd.RangeIndex) else True)


def stack(tables: list[Any]) -> Any:
    """Return tables below each other, with the number of each in a column 'sample'."""
    import pandas as pd

    numbered = [table.assign(sample=number) for number, table in enumerate(tables, 1)]
    return pd.concat(numbered, ignore_index=isinstance(tables[0].index, pd.RangeIndex))
