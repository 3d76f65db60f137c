"""The base classes of kinds: a `Kind` opens a user's data as an `Item`."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from caesura.errors import CaesuraError
from caesura.kinds.finding import find_files
from caesura.sequence import FrameSpec, Gap, Sequence, Span

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Written:
    """A filled sequence in the user's own form, and where each of its steps is there.

    Attributes
    ----------
    sequence
        What `Item.write` gives.
    missing : array of bool
        What was missing, by step and component.
    starts, stops : arrays of int
        Where each step begins and ends in a text; None if a step is one of the sequence.
    """

    sequence: Any
    missing: Bool[np.ndarray, "T D"]
    starts: Int[np.ndarray, " T"] | None = None
    stops: Int[np.ndarray, " T"] | None = None

    @property
    def places(self) -> Int[np.ndarray, "places 2"]:
        """The step, or the place in the text, and the component of each missing value."""
        places = np.argwhere(self.missing)
        if self.starts is not None:
            places[:, 0] = self.starts[places[:, 0]]
        return places

    def span(self, gap: Span) -> Span:
        """Return from where to where a gap of some steps goes."""
        if self.starts is None or self.stops is None:
            return gap
        if gap.start < gap.stop:
            return Span(int(self.starts[gap.start]), int(self.stops[gap.stop - 1]))
        place = int(self.stops[gap.start - 1] if gap.start else self.starts[0])
        return Span(place, place)


class Item(ABC):
    """One piece of a user's data, parsed once; fills can be written back into it.

    `Kind.open` makes one. Every verb of a filler accepts an item in place of the data itself, so
    data that is used several times is parsed only once.

    Examples
    --------
    >>> from caesura.kinds import Text
    >>> item = Text("abc").open("a_c")
    >>> item.sequence.gaps
    [Span(start=1, stop=2)]
    >>> item.write(np.array([[0], [1], [2]]), item.missing)
    'abc'
    """

    suffix: ClassVar[str]  # of a file that holds the `content`
    original: Any  # the data in the user's own form: a string, a song or roll, a table

    @property
    @abstractmethod
    def sequence(self) -> Sequence:
        """The sequence to fill; it is zero where the data itself marks a gap."""

    @property
    def complete(self) -> Sequence:
        """The sequence to learn from or to score: nothing in it is missing.

        What marks a gap is a value here if the kind has such a value, and unknown if not.
        """
        return self.sequence

    @property
    def missing(self) -> Bool[np.ndarray, "T D"]:
        """True where the data itself marks a gap."""
        return self.sequence.missing

    @property
    def open_gaps(self) -> list[Gap]:
        """The gaps whose lengths are not known, from left to right; they have no steps."""
        return []

    def with_gaps(self, gaps: List[Gap], missing: Bool[np.ndarray, "T D"] | None = None) -> "Item":
        """Return the item with more open gaps, and with more steps missing.

        What is missing beside an open gap becomes a part of it.

        Parameters
        ----------
        gaps
            The gaps; their `at` counts the steps of `sequence`.
        missing
            What is missing in `sequence` beside what the data itself marks.

        Raises
        ------
        CaesuraError
            If the sequence cannot have such gaps.
        """
        if gaps or missing is not None:
            raise CaesuraError("Only texts can have gaps of unknown length.")
        return self

    def with_lengths(self, lengths: List[int]) -> "Item":
        """Return the item with so many missing steps in each of its open gaps."""
        if lengths:
            raise CaesuraError("Only texts can have gaps of unknown length.")
        return self

    @abstractmethod
    def write(self, values: Shaped[np.ndarray, "T D"], missing: Bool[np.ndarray, "T D"]) -> Any:
        """Return the user's data with only the missing values replaced, in the user's own form."""

    def written(
        self,
        values: Shaped[np.ndarray, "T D"],
        missing: Bool[np.ndarray, "T D"],
        readings: List[List[tuple[Any, float]]] = (),
        others: int | None = 0,
    ) -> Written:
        """Return what `write` gives, with the places of what is new.

        Parameters
        ----------
        values, missing
            As for `write`.
        readings
            For each gap, from left to right, what may stand there and how probable it is. A
            notation may say by it how certain the fill is.
        others
            How many other readings of a gap are written, too, if there is a notation for them; None
            for all.
        """
        return Written(self.write(values, missing), missing)

    def part(self, values: Shaped[np.ndarray, "T D"], gap: Span) -> Any:
        """Return what `values` have in one gap, in the user's own form where there is one."""
        return values[gap.start : gap.stop]

    @abstractmethod
    def content(self, filled: Any) -> str | bytes:
        """Return what `write` gave as the content of a file like the original."""

    def plain(self, filled: Any) -> Any:
        """Return what `write` gave as JSON can hold it."""
        return filled

    def view(self, filled: Any) -> dict[str, Any]:
        """Return what a page needs to draw `filled`, as JSON values; `original` can be drawn too.

        It is empty if the content is all that is needed.
        """
        return {}

    def probabilities(self, means: Shaped[np.ndarray, "T D"]) -> dict[str, Any]:
        """Return the probabilities of the levels of each category, from the means of the draws.

        A kind without categories has none.
        """
        return {}

    def doubts(self, missing: Bool[np.ndarray, "T D"]) -> list[str]:
        """Return what a user should be warned of if this is filled, in a sentence each."""
        return []

    def describe(self, step: int) -> str:
        """Return words for what is at a step, for an error message."""
        return f"value at step {step}"

    def _check_shape(self, missing: Bool[np.ndarray, "T D"]) -> None:
        if missing.shape != (shape := self.sequence.values.shape):
            raise CaesuraError(
                f"`missing` has the shape {list(missing.shape)}, but the data has {list(shape)}."
            )


@runtime_checkable
class Arranging(Protocol):
    """What says which parts of any piece are missing, such as a `Composition` for music."""

    def arrange(self, item: Any) -> Any:
        """Return an item whose `missing` says what is left to fill."""

    def _asdict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Kind(ABC):
    """A kind of data: it turns data of a user into numbers, and filled numbers back into data.

    A kind is a frozen dataclass. Its fields are plain values, so that a model file can hold them
    as JSON. `learn` is the only constructor that looks at data.

    Examples
    --------
    >>> from caesura.kinds import KINDS
    >>> kind = KINDS["text"].learn(["a cab"])
    >>> kind.alphabet
    ' abc'
    >>> kind.frame
    FrameSpec(name='categorical', size=4, informing=0, categories=())
    """

    name: ClassVar[str]  # its key in KINDS
    head: ClassVar[str]  # the default head, a key of HEADS
    options: ClassVar[tuple[str, ...]]  # the names of the fields that `learn` takes
    suffixes: ClassVar[tuple[str, ...]]  # of files found in directories; the first is for new files
    binary: ClassVar[bool] = False  # whether the content of a file is bytes, and not text
    draws: ClassVar[int] = 32  # random fills that an answer is made of
    fewer_draws: ClassVar[Mapping[str, int]] = {}  # by strategies whose draws take long
    stretch: ClassVar[int] = 512  # the longest stretch that is filled at once, in steps
    around: ClassVar[int] = 512  # steps that a stretch sees on either side
    arranging: ClassVar[type[Arranging] | None] = None  # what can say which parts are missing
    # Options of strategies that suit the kind better than their defaults, by the strategy's name.
    strategy_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @property
    @abstractmethod
    def frame(self) -> FrameSpec:
        """What a frame holds; nets are built for it."""

    @classmethod
    def find(cls, paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
        """Return the files that are named, and those of this kind inside directories, each once.

        Raises
        ------
        FileMissingError
            If a path does not exist.
        CaesuraError
            If a directory has no such file.
        """
        return list(dict.fromkeys(find_files(paths, cls.suffixes)))

    @classmethod
    def path_of(cls, data: Any) -> Path | None:
        """Return the data as a path if it is one; a string is, unless the kind is text."""
        return Path(data) if isinstance(data, str | os.PathLike) else None

    @classmethod
    @abstractmethod
    def load(cls, path: Path) -> Any:
        """Return the data of one file in the user's own form."""

    @classmethod
    def items(cls, data: Any) -> list[Any]:
        """Return the pieces of some data, loaded; a path stands for all files found there.

        Parameters
        ----------
        data
            One piece in the user's own form, one path, or a list of such.
        """
        one = isinstance(data, str | os.PathLike) or not isinstance(data, Iterable)
        if one or (isinstance(data, np.ndarray) and data.ndim == 2):
            data = [data]
        items: list[Any] = []
        for piece in data:
            path = cls.path_of(piece)
            items += [piece] if path is None else map(cls.load, cls.find([path]))
        return items

    @classmethod
    @abstractmethod
    def learn(cls, items: List[Any], **fields: Any) -> "Kind":
        """Return a kind for such items: its fields as given, and the others learnt."""

    @abstractmethod
    def open(self, data: Any) -> Item:
        """Return the data as an item; an item of this kind is returned as it is."""

    def open_content(self, content: Any) -> Item:
        """Return the item that the content of a file stands for: text, CSV text, MIDI bytes."""
        return self.open(content)

    def component(self, number: int) -> int:
        """Return the component that users know by this number, such as a key by its MIDI number."""
        return number

    def symbols(self) -> list[Any] | None:
        """Return what the K values of a component stand for; None if they are real numbers."""
        return None

    def log_scale(self, missing: Bool[np.ndarray, "T D"]) -> float:
        """Return the nats by which the density in the net's units exceeds that in the user's."""
        return 0.0

    def rank(
        self, drawn: Shaped[np.ndarray, "draws places"], scores: Float[np.ndarray, " draws"]
    ) -> Int[np.ndarray, " draws"]:
        """Return the numbers of some random fills of a gap, the best answer first.

        The likeliest is the best, unless a kind knows better.

        Parameters
        ----------
        drawn
            The values of each fill at the missing places.
        scores
            The nats of each fill.
        """
        return np.argsort(-scores, kind="stable")

    def settle(
        self, sequence: Sequence, drawn: Shaped[np.ndarray, "draws places"]
    ) -> Shaped[np.ndarray, "draws places"]:
        """Return random fills as the user's data can hold them; they are scored afterwards.

        Parameters
        ----------
        sequence
            What is to be filled, with what is around.
        drawn
            The values of each random fill at the missing places, step by step.
        """
        return drawn

    @property
    def is_word(self) -> Bool[np.ndarray, " K"] | None:
        """Which symbols are parts of words, for texts in which words recur; otherwise None."""
        return None

    def propose(
        self, sequence: Sequence, steps: Span, drawn: Shaped[np.ndarray, "draws places"]
    ) -> Shaped[np.ndarray, " places"] | None:
        """Return a fill that is a better answer than the random ones; None if there is none.

        Parameters
        ----------
        sequence
            The whole sequence, with all its gaps.
        steps
            The steps whose gaps are to be filled.
        drawn
            The values of each random fill at the missing places of these steps, step by step.
        """
        return None

    def plot(self, fill: Any) -> "Figure":
        """Return a matplotlib figure of a `caesura.Fill`."""
        raise CaesuraError(f"A fill of the kind '{self.name}' cannot be drawn.")

    def html(self, fill: Any) -> str:
        """Return a `caesura.Fill` as HTML for a notebook, without scripts."""
        from caesura.plots.html import readings_html

        return readings_html([gap.candidates for gap in fill.gaps])
