"""What every kind of sequence can do."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Shaped

from caesura.sequence import FrameSpec, Sequence


@dataclass(frozen=True)
class Kind(ABC):
    """Turns a user's data into a `Sequence` and a filled one back into the user's own form.

    A kind is a frozen dataclass whose fields are plain values, so that a model file can hold them
    as JSON; `learn` is the only constructor that looks at data.
    """

    frame: ClassVar[str]  # the name of what its frames hold, in FRAMES
    head: ClassVar[str]  # the name of the head that suits them, in HEADS
    options: ClassVar[tuple[str, ...]]  # the names of the fields that `learn` takes

    @classmethod
    @abstractmethod
    def find(cls, paths: Iterable[Path]) -> list[Any]:
        """The items in files and folders, in an order that does not depend on the machine."""

    @classmethod
    def items(cls, data: Iterable[Any]) -> list[Any]:
        """The items of some data, in which a path stands for all that is found there."""
        return [i for d in data for i in (cls.find([d]) if isinstance(d, Path) else [d])]

    @classmethod
    @abstractmethod
    def learn(cls, items: List[Any], **fields: Any) -> "Kind":
        """A kind for such items: its fields as given, and the others learnt."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The size of a frame: of an alphabet, or of a keyboard."""

    @property
    def informing(self) -> int:
        """How many components of a frame, the last ones, only inform and are never filled."""
        return 0

    @property
    def categories(self) -> tuple[int, ...]:
        """How many levels each category has, whose switches stand before those that inform."""
        return ()

    @property
    def frame_spec(self) -> FrameSpec:
        """The frames of the kind; to be replaced by `frame`."""
        return FrameSpec(self.frame, self.size, self.informing, self.categories)

    @abstractmethod
    def read(self, data: Any) -> Sequence:
        """Data to be filled as numbers; what it marks as missing stands as zero.

        What is there but outside the kind's values is `UNKNOWN`.
        """

    def read_complete(self, data: Any) -> Sequence:
        """Data to learn from or to score, as numbers: nothing in it is to be filled.

        What marks a gap is a value here if the kind has such a value, and `UNKNOWN` if not.
        """
        return self.read(data)

    @abstractmethod
    def write(
        self, data: Any, missing: Bool[np.ndarray, "T D"], values: Shaped[np.ndarray, "T D"]
    ) -> Any:
        """The user's own data with the missing values, and only those, replaced."""

    @abstractmethod
    def symbols(self) -> list[Any]:
        """What the K values of a component stand for."""

    def log_scale(self, missing: Bool[np.ndarray, "T D"]) -> float:
        """Nats by which the density of values as a net sees them exceeds that in the user's units.

        None, where values are no numbers on a scale.
        """
        return 0.0

    def describe(self, data: Any, step: int) -> str:
        """What the user's data has at a step, for a sentence about it."""
        return f"value at step {step}"
