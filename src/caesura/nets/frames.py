"""What a frame may hold, and how a net sees it."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from caesura.errors import CaesuraError
from caesura.nets.bins import BINS, EDGES, OFF, ON
from caesura.sequence import UNKNOWN

Numbers = Array | np.ndarray


class Frame(eqx.Module):
    """The space that the vector at one step lives in: D components, each with K possible values."""

    @property
    @abstractmethod
    def size(self) -> int:
        """What the frame is made with: of an alphabet, of a keyboard, or D."""

    @property
    @abstractmethod
    def components(self) -> int:
        """D."""

    @property
    @abstractmethod
    def cardinality(self) -> int:
        """K, the number of points on which a component's marginal distribution is given."""

    @property
    @abstractmethod
    def inputs(self) -> int:
        """N, the length of the vector that `encode` makes."""

    @property
    def fillable(self) -> Bool[np.ndarray, " D"]:
        """Which components may be asked for; the others only inform."""
        return np.ones(self.components, bool)

    @property
    def categorical(self) -> Bool[np.ndarray, " D"]:
        """Which components are switches of a category, among numbers."""
        return np.zeros(self.components, bool)

    @property
    def leaders(self) -> Int[np.ndarray, " D"]:
        """The first switch of each one's category; what is of none leads itself."""
        return np.arange(self.components)

    @property
    def unseen(self) -> Float[np.ndarray, "D K"]:
        """What a count of nothing is worth, so that no value is impossible."""
        return np.ones((self.components, self.cardinality))

    @abstractmethod
    def unknown(self, values: Shaped[Numbers, "*shape"]) -> Bool[Numbers, "*shape"]:
        """Which values are observed, but not known: a net sees them as if they were missing."""

    @abstractmethod
    def index(self, values: Shaped[Numbers, "*shape"]) -> Shaped[Numbers, "*shape"]:
        """On which of the K points the marginal distribution speaks of each value."""

    @abstractmethod
    def encode(self, values: Shaped[Array, " D"], unknown: Bool[Array, " D"]) -> Float[Array, " N"]:
        """x_t, the net's input; an unknown value is all zeros."""

    @abstractmethod
    def start(self, key: PRNGKeyArray) -> Shaped[Array, " D"]:
        """Where a Markov chain over frames starts (the paper's choice for each task)."""

    @abstractmethod
    def check(
        self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]
    ) -> Shaped[np.ndarray, "T D"]:
        """The values as the net takes them, zero where missing; a wrong one is an error."""

    def known_numbers(
        self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]
    ) -> Shaped[np.ndarray, "T D"]:
        """What is not missing, and zero where it is, if these are D numbers at each step."""
        if values.shape[1] != self.components:
            raise CaesuraError(
                f"The model's frames have {self.components} components, not {values.shape[1]}."
            )
        if values.dtype.kind not in "biuf":
            raise CaesuraError(f"The values must be numbers, not {values.dtype}.")
        return np.where(missing, 0, values)


class Discrete(Frame):
    """Frames whose components take the values 0 to K − 1."""

    least: ClassVar[int] = 0  # the smallest number that may stand for an observed value

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
    """One of K symbols, shown to the net as a one-hot vector, or a symbol that it does not know."""

    least: ClassVar[int] = UNKNOWN

    symbols: int = eqx.field(static=True)

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

    def encode(self, values: Int[Array, " D"], unknown: Bool[Array, " D"]) -> Float[Array, " N"]:
        return jax.nn.one_hot(values[0], self.symbols) * ~unknown[0]

    def start(self, key: PRNGKeyArray) -> Int[Array, " D"]:
        return jax.random.randint(key, (1,), 0, self.symbols)


class Binary(Discrete):
    """D switches, each on or off: the keys of a piano, say."""

    switches: int = eqx.field(static=True)

    @property
    def size(self) -> int:
        return self.switches

    @property
    def components(self) -> int:
        return self.switches

    @property
    def cardinality(self) -> int:
        return 2

    @property
    def inputs(self) -> int:
        return self.switches

    def encode(self, values: Int[Array, " D"], unknown: Bool[Array, " D"]) -> Float[Array, " N"]:
        return jnp.where(unknown, 0.0, values)

    def start(self, key: PRNGKeyArray) -> Int[Array, " D"]:
        return jnp.zeros(self.switches, jnp.int32)


class Continuous(Frame):
    """D real numbers, each of mean 0 and scale 1 in the training data, or 0 and 1 for categories.

    One that is not known is NaN. Marginal distributions are told in bins. The last `informing` of
    them are never asked for, neither in training nor later.

    Before those stand the categories. One of K levels is K − 1 switches, all of them missing or
    none: the one that is on says which level it is, and where all are off, it is the first.
    """

    numbers: int = eqx.field(static=True)
    informing: int = eqx.field(static=True, default=0)
    categories: tuple[int, ...] = eqx.field(static=True, default=())  # how many levels each has

    @property
    def size(self) -> int:
        return self.numbers

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
        """One for each bin, or for each level: all but a switch's own are in its bin of 0."""
        counts = np.ones((self.numbers, BINS))
        counts[self.categorical] = 0
        counts[self.categorical, ON] = 1
        counts[self.categorical, OFF] = np.repeat(self._switches, self._switches)
        return counts

    @property
    def _switches(self) -> list[int]:
        """How many each category has."""
        return [levels - 1 for levels in self.categories]

    def unknown(self, values: Shaped[Numbers, "*shape"]) -> Bool[Numbers, "*shape"]:
        return values != values  # NaN alone differs from itself

    def index(self, values: Shaped[Numbers, "*shape"]) -> Shaped[Numbers, "*shape"]:
        return jnp.searchsorted(jnp.asarray(EDGES, jnp.float32), values, side="right")

    def encode(self, values: Float[Array, " D"], unknown: Bool[Array, " D"]) -> Float[Array, " N"]:
        # No number could stand for what is not known, so each has a flag beside it. All of them
        # together weigh as much as one input, or many would saturate the cells.
        flagged = jnp.concatenate([jnp.where(unknown, 0.0, values), unknown])
        return flagged / self.numbers**0.5

    def decode(self, x: Float[Array, "*B N"]) -> tuple[Float[Array, "*B D"], Bool[Array, "*B D"]]:
        """The values that `encode` has shown, and which are unknown."""
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
        """One sentence where switches are no level."""
        first = self.leaders == np.arange(self.numbers)
        starts, unknown = np.flatnonzero(first & self.categorical), missing | np.isnan(values)
        strange = self.categorical & ~unknown & (values != 0) & (values != 1)
        strange |= (missing != missing[:, self.leaders]) | (unknown != unknown[:, self.leaders])
        for start, count in zip(starts, self._switches, strict=True):
            several = values[:, start : start + count].sum(axis=1) > 1
            strange[:, start] |= several
        if strange.any():
            step = int(np.argwhere(strange)[0, 0])
            raise CaesuraError(f"The switches of a category at step {step} are no level of it.")


FRAMES: dict[str, type[Categorical] | type[Binary] | type[Continuous]] = {
    "categorical": Categorical,
    "binary": Binary,
    "continuous": Continuous,
}


def make_frame(name: str, size: int, informing: int, categories: tuple[int, ...]) -> Frame:
    """A frame by its name in FRAMES, of which some components may inform or be of categories."""
    if name == "continuous":
        return Continuous(size, informing, categories)
    return FRAMES[name](size)
