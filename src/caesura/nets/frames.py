"""The kinds of frames, and how a net sees them."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.later import Array, Module, PRNGKeyArray, field, jax, jnp
from caesura.nets.arrays import Numbers, namespace
from caesura.nets.bins import BINS, EDGES, OFF, ON
from caesura.sequence import UNKNOWN, FrameSpec

MOST_SYMBOLS = 0x110000  # all of Unicode: a limit for what a stranger's file may ask for


class Frame(Module):
    """The space of the vector at one step: D components, each with K possible values."""

    name: ClassVar[str]  # its key in FRAMES

    unknown_value: ClassVar[float]  # how an observed value that is not known is written

    @property
    @abstractmethod
    def size(self) -> int:
        """The size of the alphabet or keyboard, or the number of real components."""

    @property
    def spec(self) -> FrameSpec:
        """The description from which `make_frame` builds this frame."""
        return FrameSpec(self.name, self.size)

    @property
    @abstractmethod
    def components(self) -> int:
        """D."""

    @property
    @abstractmethod
    def cardinality(self) -> int:
        """K, the number of points at which a component's marginal distribution is given."""

    @property
    @abstractmethod
    def inputs(self) -> int:
        """N, the length of the vector that `encode` returns."""

    @property
    def fillable(self) -> Bool[np.ndarray, " D"]:
        """Which components may be filled; the others only inform."""
        return np.ones(self.components, bool)

    @property
    def categorical(self) -> Bool[np.ndarray, " D"]:
        """Which components are switches of a category."""
        return np.zeros(self.components, bool)

    @property
    def leaders(self) -> Int[np.ndarray, " D"]:
        """The first switch of each component's category; a number is its own leader."""
        return np.arange(self.components)

    @property
    def unseen(self) -> Float[np.ndarray, "D K"]:
        """The pseudo-counts of the one-gram: no value may be impossible."""
        return np.ones((self.components, self.cardinality))

    @abstractmethod
    def unknown(self, values: Shaped[Numbers, "*shape"]) -> Bool[Numbers, "*shape"]:
        """Return which values are observed but not known; a net sees them as missing."""

    @abstractmethod
    def index(self, values: Shaped[Numbers, "*shape"]) -> Shaped[Numbers, "*shape"]:
        """Return which of the K points of a marginal distribution each value belongs to."""

    @abstractmethod
    def encode(
        self, values: Shaped[Numbers, "D *B"], unknown: Bool[Numbers, "D *B"]
    ) -> Float[Numbers, "N *B"]:
        """Return x_t, the net's input; an unknown value is all zeros.

        Arrays may be of NumPy, with a batch in the last axis.
        """

    @abstractmethod
    def start(self, key: PRNGKeyArray) -> Shaped[Array, " D"]:
        """Return the start of a Markov chain over frames (the paper's choice for each task)."""

    @abstractmethod
    def check(
        self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]
    ) -> Shaped[np.ndarray, "T D"]:
        """Return the values as the net takes them, zero where missing; raise for a wrong one."""

    def known_numbers(
        self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]
    ) -> Shaped[np.ndarray, "T D"]:
        """Return the values, zero where missing; raise unless they are D numbers per step."""
        if values.shape[1] != self.components:
            raise CaesuraError(
                f"The model's frames have {self.components} components, not {values.shape[1]}."
            )
        if values.dtype.kind not in "biuf":
            raise CaesuraError(f"The values must be numbers, not {values.dtype}.")
        return np.where(missing, 0, values)


class Discrete(Frame):
    """Frames whose components take the values 0 to K − 1."""

    least: ClassVar[int] = 0  # the smallest observed value
    unknown_value: ClassVar[float] = UNKNOWN

    def unknown(self, values: Shaped[Numbers, "*shape"]) -> Bool[Numbers, "*shape"]:
        return values == UNKNOWN

    def index(self, values: Shaped[Numbers, "*shape"]) -> Shaped[Numbers, "*shape"]:
        return values

    def check(
        self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]
    ) -> Int[np.ndarray, "T D"]:
        known = self.known_numbers(values, missing)
        if np.isnan(known).any():
            step = int(np.flatnonzero(np.isnan(known).any(axis=1))[0])
            raise CaesuraError(f"The value at step {step} is NaN but not marked as missing.")
        strange = (known < self.least) | (known >= self.cardinality) | (known != np.floor(known))
        if strange.any():
            step, component = np.argwhere(strange)[0]
            raise CaesuraError(
                f"The value {known[step, component]} at step {step} is not among the model's "
                f"{self.cardinality} values, 0 to {self.cardinality - 1}."
            )
        return known.astype(np.int32)


class Categorical(Discrete):
    """One of K symbols, encoded as a one-hot vector, or an unknown symbol."""

    name: ClassVar[str] = "categorical"
    least: ClassVar[int] = UNKNOWN

    symbols: int = field(static=True)

    @property
    def size(self) -> int:
        return self.symbols

    @property
    def components(self) -> int:
        return 1

    @property
    def cardinality(self) -> int:
        return self.symbols

    @property
    def inputs(self) -> int:
        return self.symbols

    def encode(
        self, values: Int[Numbers, "D *B"], unknown: Bool[Numbers, "D *B"]
    ) -> Float[Numbers, "N *B"]:
        symbols = np.arange(self.symbols).reshape(-1, *[1] * (values.ndim - 1))
        return ((values == symbols) & ~unknown).astype(np.float32)

    def start(self, key: PRNGKeyArray) -> Int[Array, " D"]:
        return jax.random.randint(key, (1,), 0, self.symbols)


class Keyboard(Discrete):
    """D components that are off (0) or on in one of several ways, as the keys of a piano are."""

    @property
    def components(self) -> int:
        return self.size

    def start(self, key: PRNGKeyArray) -> Int[Array, " D"]:
        return jnp.zeros(self.size, jnp.int32)


class Binary(Keyboard):
    """D switches, each on or off, such as the keys of a piano."""

    name: ClassVar[str] = "binary"

    switches: int = field(static=True)

    @property
    def size(self) -> int:
        return self.switches

    @property
    def cardinality(self) -> int:
        return 2

    @property
    def inputs(self) -> int:
        return self.switches

    def encode(
        self, values: Int[Numbers, "D *B"], unknown: Bool[Numbers, "D *B"]
    ) -> Float[Numbers, "N *B"]:
        return namespace(values).where(unknown, 0, values).astype(np.float32)


class Keys(Keyboard):
    """Keys that are silent (0), held (1) or struck (2), and switches (0 or 1) that only inform.

    The last `informing` components are these switches, such as the place in the bar. They are
    never predicted. The net sees two numbers of each key: whether it sounds, and whether it is
    struck.
    """

    name: ClassVar[str] = "keys"

    keys_and_switches: int = field(static=True)
    informing: int = field(static=True, default=0)

    @property
    def size(self) -> int:
        return self.keys_and_switches

    @property
    def spec(self) -> FrameSpec:
        return FrameSpec(self.name, self.size, self.informing)

    @property
    def cardinality(self) -> int:
        return 3

    @property
    def inputs(self) -> int:
        return 2 * self.components - self.informing

    @property
    def fillable(self) -> Bool[np.ndarray, " D"]:
        return np.arange(self.components) < self.components - self.informing

    def encode(
        self, values: Int[Numbers, "D *B"], unknown: Bool[Numbers, "D *B"]
    ) -> Float[Numbers, "N *B"]:
        xp = namespace(values)
        seen = xp.where(unknown, 0, values)
        keys = seen[: self.components - self.informing]
        return xp.concatenate([seen > 0, keys > 1]).astype(np.float32)


class Continuous(Frame):
    """D real numbers, standardised to mean 0 and scale 1, or switches (0 or 1) of categories.

    An unknown value is NaN. Marginal distributions are given in bins. The last `informing`
    components are never predicted, neither in training nor later. The categories stand before them.
    A category of K levels is K − 1 switches, which are missing together: the switch that is on
    names the level; if all are off, it is the first level.
    """

    name: ClassVar[str] = "continuous"
    unknown_value: ClassVar[float] = np.nan

    numbers: int = field(static=True)
    informing: int = field(static=True, default=0)
    categories: tuple[int, ...] = field(static=True, default=())  # how many levels each has

    @property
    def size(self) -> int:
        return self.numbers

    @property
    def spec(self) -> FrameSpec:
        return FrameSpec(self.name, self.numbers, self.informing, self.categories)

    @property
    def components(self) -> int:
        return self.numbers

    @property
    def cardinality(self) -> int:
        return BINS

    @property
    def inputs(self) -> int:
        return 2 * self.numbers

    @property
    def fillable(self) -> Bool[np.ndarray, " D"]:
        return np.arange(self.numbers) < self.numbers - self.informing

    @property
    def categorical(self) -> Bool[np.ndarray, " D"]:
        first = self.numbers - self.informing - sum(self._switches)
        return self.fillable & (np.arange(self.numbers) >= first)

    @property
    def leaders(self) -> Int[np.ndarray, " D"]:
        numbers = self.numbers - self.informing - sum(self._switches)
        sizes = [1] * numbers + self._switches + [1] * self.informing
        return np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)

    @property
    def unseen(self) -> Float[np.ndarray, "D K"]:
        """One for each bin or level; a switch counts all levels but its own in the bin of 0."""
        counts = np.ones((self.numbers, BINS))
        counts[self.categorical] = 0
        counts[self.categorical, ON] = 1
        counts[self.categorical, OFF] = np.repeat(self._switches, self._switches)
        return counts

    @property
    def _switches(self) -> list[int]:
        """The number of switches of each category."""
        return [levels - 1 for levels in self.categories]

    def unknown(self, values: Shaped[Numbers, "*shape"]) -> Bool[Numbers, "*shape"]:
        return values != values  # NaN alone differs from itself

    def index(self, values: Shaped[Numbers, "*shape"]) -> Shaped[Numbers, "*shape"]:
        return jnp.searchsorted(jnp.asarray(EDGES, jnp.float32), values, side="right")

    def encode(
        self, values: Float[Numbers, "D *B"], unknown: Bool[Numbers, "D *B"]
    ) -> Float[Numbers, "N *B"]:
        # Every number has a flag beside it, since no number can stand for "unknown". The scale
        # keeps the sum of many inputs from saturating the cells.
        xp = namespace(values)
        flagged = xp.concatenate([xp.where(unknown, 0.0, values), unknown])
        return flagged / self.numbers**0.5

    def decode(self, x: Float[Array, "*B N"]) -> tuple[Float[Array, "*B D"], Bool[Array, "*B D"]]:
        """Return the encoded values, and which of them are unknown."""
        values, flags = jnp.split(x, 2, axis=-1)
        return values * self.numbers**0.5, flags > 0

    def start(self, key: PRNGKeyArray) -> Float[Array, " D"]:
        return jnp.where(self.categorical, 0.0, jax.random.normal(key, (self.numbers,)))

    def check(
        self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]
    ) -> Float[np.ndarray, "T D"]:
        known = self.known_numbers(values, missing).astype(np.float32)
        if np.isinf(known).any():
            step = int(np.argwhere(np.isinf(known))[0, 0])
            raise CaesuraError(f"The value at step {step} is infinite.")
        self._check_categories(known, missing)
        return known

    def _check_categories(
        self, values: Float[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]
    ) -> None:
        """Raise if the switches of a category do not make a level."""
        first = self.leaders == np.arange(self.numbers)
        starts, unknown = np.flatnonzero(first & self.categorical), missing | np.isnan(values)
        strange = self.categorical & ~unknown & (values != 0) & (values != 1)
        strange |= (missing != missing[:, self.leaders]) | (unknown != unknown[:, self.leaders])
        for start, count in zip(starts, self._switches, strict=True):
            several = values[:, start : start + count].sum(axis=1) > 1
            strange[:, start] |= several
        if strange.any():
            step = int(np.argwhere(strange)[0, 0])
            raise CaesuraError(
                f"The switches of a category at step {step} are not one of its levels."
            )


FRAMES: dict[str, type[Categorical] | type[Binary] | type[Keys] | type[Continuous]] = {
    "categorical": Categorical,
    "binary": Binary,
    "keys": Keys,
    "continuous": Continuous,
}


def make_frame(spec: FrameSpec) -> Frame:
    """Return the frame that `spec` describes, or raise if no frame is like that."""
    frame = lookup(FRAMES, spec.name, "frame")
    whole_number("size", spec.size, 1, MOST_SYMBOLS)
    informs = frame in (Keys, Continuous)
    whole_number("informing", spec.informing, 0, spec.size - 1 if informs else 0)
    for levels in spec.categories:
        whole_number("categories", levels, 2, spec.size + 1)
    switches = sum(levels - 1 for levels in spec.categories)
    if spec.categories and (frame is not Continuous or switches + spec.informing > spec.size):
        raise CaesuraError(f"The categories do not fit into a {spec.name} frame of {spec.size}.")
    if frame is Continuous:
        return Continuous(spec.size, spec.informing, spec.categories)
    if frame is Keys:
        return Keys(spec.size, spec.informing)
    return frame(spec.size)
