"""Fill gaps in sequences, and know how sure you are.

>>> import caesura
>>> filler = caesura.load("text")
>>> filler.fill("The qu_ck brown fox", strategy="nade").best
'The quick brown fox'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caesura.errors import CaesuraError, CaesuraWarning, ExtraMissingError, FileMissingError

__version__ = "0.2.0.dev0"

__all__ = [
    "Asked",
    "CaesuraError",
    "CaesuraWarning",
    "Candidate",
    "ExtraMissingError",
    "FileMissingError",
    "Fill",
    "Filler",
    "Gap",
    "GapFill",
    "LogProb",
    "Marginals",
    "Reading",
    "Request",
    "SeriesFill",
    "Song",
    "__version__",
    "datasets",
    "load",
    "strategies",
    "train",
]

if TYPE_CHECKING:
    from caesura import datasets, strategies
    from caesura.filler import (
        Asked,
        Candidate,
        Fill,
        Filler,
        GapFill,
        LogProb,
        Marginals,
        Reading,
        Request,
        SeriesFill,
        load,
    )
    from caesura.kinds import Song
    from caesura.sequence import Gap
    from caesura.training.train import train
else:
    # JAX takes a second to import, for which `caesura --help` need not wait.
    _MODULES = {"datasets": "datasets", "strategies": "strategies"}
    _HOMES = {"Gap": "sequence", "Song": "kinds", "train": "training.train"}

    def __getattr__(name: str) -> Any:
        """Import a name at its first use."""
        if name not in __all__:
            raise AttributeError(f"module 'caesura' has no attribute '{name}'")
        if name in _MODULES:
            value = import_module(f"caesura.{name}")
        else:
            value = getattr(import_module(f"caesura.{_HOMES.get(name, 'filler')}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
