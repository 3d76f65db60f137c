"""Series: the rows of a table, one a step."""

from caesura.kinds.series.columns import Column
from caesura.kinds.series.item import TableItem
from caesura.kinds.series.series import Series
from caesura.kinds.series.table import TableFile, parse_csv, read_table

__all__ = ["Column", "Series", "TableFile", "TableItem", "parse_csv", "read_table"]
