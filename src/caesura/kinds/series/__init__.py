"""Series: the rows of a table, one a step."""

from caesura.kinds.series.series import Series

__all__ = ["Series"]
