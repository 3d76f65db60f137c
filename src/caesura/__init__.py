"""Fill gaps in sequences, and know how sure you are."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caesura.errors import CaesuraError

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from caesura import datasets, strategies
    from caesura.filler.fill import Fill
    from caesura.filler.filler import Filler, load
    from caesura.training.train import train
else:
    # JAX takes a second to import, for which `caesura --help` need not wait.
    HOMES = {"Fill": "filler", "Filler": "filler", "load": "filler", "train": "training.train"}
    PARTS = ("datasets", "strategies")

    def __getattr__(name: str) -> Any:
        """What is asked for, imported at the first time."""
        if name in HOMES:
            value = getattr(import_module(f"caesura.{HOMES[name]}"), name)
        elif name in PARTS:
            value = import_module(f"caesura.{name}")
        else:
            raise AttributeError(f"module 'caesura' has no attribute '{name}'")
        globals()[name] = value
        return value


__all__ = [
    "CaesuraError",
    "Fill",
    "Filler",
    "__version__",
    "datasets",
    "load",
    "strategies",
    "train",
]
