"""Fill gaps in sequences, and know how sure you are."""

from caesura.errors import CaesuraError
from caesura.fill import Fill
from caesura.filler import Filler
from caesura.learn import train

__all__ = ["CaesuraError", "Fill", "Filler", "train"]
__version__ = "0.1.0"
