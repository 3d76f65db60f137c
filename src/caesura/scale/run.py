"""A run over many rows: a model, and the options for every row."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from caesura.errors import CaesuraError, whole_number
from caesura.filler import Filler, Request, load
from caesura.kinds.base import Arranging
from caesura.modelfile import read_info
from caesura.pretrained import find_model
from caesura.scale.rows import ID, MISSING, open_row

BATCH = 256  # rows in one file of answers, and what a worker that dies has to do again


class Summary(NamedTuple):
    """How many rows are filled, failed, or skipped since an earlier run has filled them.

    Examples
    --------
    >>> from caesura.scale import Summary
    >>> Summary(filled=3).plus(Summary(filled=1, failed=1))
    Summary(filled=4, failed=1, skipped=0)
    """

    filled: int = 0
    failed: int = 0
    skipped: int = 0

    def plus(self, more: "Summary") -> "Summary":
        """Return the summary after some more rows."""
        return Summary(*(mine + theirs for mine, theirs in zip(self, more, strict=True)))


Report = Callable[[Summary], None]


@dataclass(frozen=True)
class Run:
    """A model, by a name or path that every worker can reach, and the options of its fills.

    Parameters
    ----------
    model
        The name of a model that comes with the library, or the path of a model file.
    draws
        How many random fills each answer is computed from; the default depends on the kind.
    strategy
        The name of a strategy; by default the model's own.
    seed
        The seed of the run. The seed of each row follows from it and from the id of the row.
    kind_fields
        Other fields of the model's kind, such as ``{"gap_char": "?"}`` for text.
    arrangement
        For music, a `Composition`: which bars are missing in every song, and what stays in them.
    """

    model: Any
    draws: int | None = None
    strategy: str | None = None
    seed: int = 0
    kind_fields: Mapping[str, Any] = field(default_factory=dict)
    arrangement: Arranging | None = None

    def load(self) -> Filler:
        """Load the model, and check that it can do everything that is asked."""
        filler = load(self.model)
        if self.draws is not None:
            whole_number("draws", self.draws, 1)
        whole_number("seed", self.seed, 0, 2**32 - 1)
        filler.method(self.strategy)
        wanted = filler.kind.arranging
        if self.arrangement is not None and not isinstance(self.arrangement, wanted or ()):
            raise CaesuraError(
                f"A {type(self.arrangement).__name__} cannot be used for {filler.kind.name}."
            )
        return filler.with_kind(**self.kind_fields)

    def record(self) -> dict[str, Any]:
        """Return everything that determines the answers, as values that JSON can hold."""
        return {
            "model": read_info(find_model(self.model))["sha256"],
            "draws": self.draws,
            "strategy": self.strategy,
            "seed": self.seed,
            "kind_fields": dict(self.kind_fields),
            "arrangement": self.arrangement and self.arrangement._asdict(),
        }

    def seed_of(self, name: str) -> int:
        """Return the seed of the row with this id; its place does not matter."""
        digest = hashlib.sha256(f"{self.seed} {name}".encode()).digest()
        return int.from_bytes(digest[:4], "big")

    def request(self, filler: Filler, row: Mapping[str, Any]) -> Request:
        """Return the request of one row, whose data is read here."""
        item, missing = open_row(filler.kind, row), row.get(MISSING)
        if self.arrangement is not None:
            if missing is not None:
                raise CaesuraError(
                    "Both the row and the run say what is missing in it: only one of them may."
                )
            item = self.arrangement.arrange(item)
        return Request(
            item, missing, draws=self.draws, strategy=self.strategy, seed=self.seed_of(row[ID])
        )
