"""Rules for the content of the gaps of a window."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from caesura.kinds.text.automaton import Automaton
from caesura.sequence import Span


class Rule(NamedTuple):
    """What may stand in each gap of one window, in which steps are counted from its first."""

    gaps: tuple[Span, ...]
    automata: tuple[Automaton | None, ...]

    def step(
        self, t: int, states: Int[np.ndarray, " n"]
    ) -> tuple[Int[np.ndarray, "n K"], Bool[np.ndarray, "n K"]] | None:
        """Return the states after each symbol at the missing step t, and which symbols are allowed.

        `states` are those before the step; at the first step of a gap they do not matter. None if
        the gap has no rule.
        """
        at = next(number for number, gap in enumerate(self.gaps) if t < gap.stop)
        gap, automaton = self.gaps[at], self.automata[at]
        if automaton is None:
            return None
        first = np.zeros_like(states) if t == gap.start else states
        after = automaton.after[first]
        possible = np.append(automaton.alive(gap.stop - 1 - t), False)  # the last for NOWHERE
        return after, possible[after]
