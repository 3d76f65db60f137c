"""Deterministic automata over the symbols of an alphabet: which letters may stand in a gap."""

from collections.abc import Callable, Hashable, Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Int32

State = TypeVar("State", bound=Hashable)

MOST_STATES = 1000
NOWHERE = -1


class TooLargeError(Exception):
    """An automaton would have too many states."""


@dataclass(frozen=True, eq=False)
class Automaton:
    """States with a transition for each symbol; the first state is where a word begins.

    Parameters
    ----------
    after
        The state after each state and symbol; `NOWHERE` if no word goes on like that.
    accepting
        The states in which a word may end.

    Examples
    --------
    >>> one = chain([[0, 1], [1]], 3)
    >>> one.accepts([0, 1]), one.accepts([1, 1]), one.accepts([1, 2])
    (True, True, False)
    >>> one.has_words(2), one.has_words(3)
    (True, False)
    """

    after: Int32[np.ndarray, "S K"]
    accepting: Bool[np.ndarray, " S"]

    @cached_property
    def _alive(self) -> list[Bool[np.ndarray, " S"]]:
        return [self.accepting]

    def alive(self, left: int) -> Bool[np.ndarray, " S"]:
        """Return from which states a word can end with exactly so many symbols more."""
        while len(self._alive) <= left:
            reached = np.append(self._alive[-1], False)  # which is what NOWHERE refers to
            self._alive.append(reached[self.after].any(axis=1))
        return self._alive[left]

    def has_words(self, length: int) -> bool:
        """Return whether any word of this length is accepted."""
        return bool(self.alive(length)[0])

    def accepts(self, word: Iterable[int]) -> bool:
        """Return whether a word is accepted."""
        state = 0
        for symbol in word:
            state = int(self.after[state, symbol])
            if state == NOWHERE:
                return False
        return bool(self.accepting[state])

    def both(self, other: "Automaton") -> "Automaton":
        """Return an automaton of the words that both accept."""

        def step(pair: tuple[int, int]) -> list[tuple[int, int] | None]:
            rows = self.after[pair[0]].tolist(), other.after[pair[1]].tolist()
            return [None if NOWHERE in both else both for both in zip(*rows, strict=True)]

        def accepts(pair: tuple[int, int]) -> bool:
            return bool(self.accepting[pair[0]] and other.accepting[pair[1]])

        return explore((0, 0), step, accepts)


def chain(symbols: List[List[int]], cardinality: int) -> Automaton:
    """Return an automaton of the words that have one of some symbols at each step."""
    after = np.full((len(symbols) + 1, cardinality), NOWHERE, np.int32)
    for state, allowed in enumerate(symbols):
        after[state, list(allowed)] = state + 1
    return Automaton(after, np.arange(len(after)) == len(symbols))


def explore(
    start: State,
    step: Callable[[State], List[State | None]],
    accepts: Callable[[State], bool],
) -> Automaton:
    """Return an automaton of all states that can be reached.

    Parameters
    ----------
    start
        The first state.
    step
        Gives the next state for each symbol, or None.
    accepts
        Whether a word may end in a state.

    Raises
    ------
    TooLargeError
        If there are more than `MOST_STATES`.
    """
    numbers, found = {start: 0}, [start]
    rows: list[list[int]] = []
    while len(rows) < len(found):
        row = []
        for state in step(found[len(rows)]):
            if state is None:
                row.append(NOWHERE)
                continue
            if state not in numbers:
                if len(found) == MOST_STATES:
                    raise TooLargeError
                numbers[state] = len(found)
                found.append(state)
            row.append(numbers[state])
        rows.append(row)
    return Automaton(np.array(rows, np.int32), np.array([accepts(state) for state in found]))
