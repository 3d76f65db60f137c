"""How rows are to be filled: what a run is told, the same for all of its rows."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from caesura.errors import CaesuraError, whole_number
from caesura.filler.filler import MOST_SAMPLES, Filler, load
from caesura.kinds import Composition, Music
from caesura.modelfile import read_info
from caesura.pretrained import find_model

TOGETHER = 32  # rows in one pass of the net; on two cores, twice as many are hardly a gain
BATCH = 256  # rows in one file of answers, and what a worker that dies has to do again

Report = Callable[["Summary"], None]


class Summary(NamedTuple):
    """What has become of the rows so far."""

    filled: int = 0
    failed: int = 0
    skipped: int = 0  # since an earlier run has filled them

    def plus(self, filled: int, failed: int, skipped: int) -> "Summary":
        """After some more rows."""
        return Summary(self.filled + filled, self.failed + failed, self.skipped + skipped)


@dataclass(frozen=True)
class Filling:
    """A model, by a name or path that every worker knows, and what is asked of it."""

    model: Any
    samples: int = 1
    strategy: str | None = None
    seed: int = 0
    kind_fields: dict[str, Any] = field(default_factory=dict)  # such as gap_char for texts
    composition: Composition | None = None  # for music
    together: int = TOGETHER

    def load(self) -> Filler:
        """The filler, if all that is asked can be asked of it."""
        filler = load(self.model)
        whole_number("samples", self.samples, 1, MOST_SAMPLES)
        whole_number("seed", self.seed, 0, 2**32 - 1)
        whole_number("together", self.together, 1)
        filler.method(self.strategy)
        if self.composition is not None and not isinstance(filler.kind, Music):
            raise CaesuraError("A composition is for music, and this model is not.")
        return replace(filler, kind=replace(filler.kind, **self.kind_fields))

    def record(self) -> dict[str, Any]:
        """What decides the answers, as JSON can hold it."""
        composition = None if self.composition is None else self.composition._asdict()
        return {
            "model": read_info(find_model(self.model))["sha256"],
            "samples": self.samples,
            "strategy": self.strategy,
            "seed": self.seed,
            "kind_fields": self.kind_fields,
            "composition": composition,
        }

    def seed_of(self, name: str) -> int:
        """The seed of the row with this id, wherever in the data it stands."""
        told = hashlib.sha256(f"{self.seed} {name}".encode()).digest()
        return int.from_bytes(told[:4], "big")
