"""Fill gaps in sequences, and know how sure you are."""

from caesura.errors import CaesuraError
from caesura.fill import Fill
from caesura.filler import Filler, load
from caesura.learn import train
from caesura.version import __version__

__all__ = ["CaesuraError", "Fill", "Filler", "__version__", "load", "train"]
