"""What may stand in the gaps of a window, as tables that a compiled search can follow."""

from collections import abc
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from caesura.kinds.text.automaton import NOWHERE, Automaton
from caesura.sequence import Span

SIZES = (32, 256, 2048)  # numbers of states; each is compiled
FREE, DEAD = 0, 1  # states for a gap without a rule, and for what breaks one


class Rule(NamedTuple):
    """What may stand in each gap of one window, in which steps are counted from its first."""

    gaps: tuple[Span, ...]
    automata: tuple[Automaton | None, ...]

    @property
    def size(self) -> int:
        """The padded number of states."""
        states = 2 + sum(len(one.accepting) for one in self.automata if one is not None)
        return next(size for size in SIZES if size >= states)


class Rules(eqx.Module):
    """The automata of B windows, those of the gaps of a window end to end."""

    after: Int[Array, "B S K"]  # the state after a state and a symbol
    enter: Int[Array, "B W"]  # the state before the first step of a gap, and −1 at other steps
    allowed: Bool[Array, "B W S"]  # whether a gap can be completed if a state is reached by a step

    def entered(self, states: Int[Array, "B N"], t: Int[Array, ""]) -> Int[Array, "B N"]:
        """Return the states before step t."""
        first = self.enter[:, t, None]
        return jnp.where(first >= 0, first, states)

    def permitted(self, states: Int[Array, "B N"], t: Int[Array, ""]) -> Bool[Array, "B N K"]:
        """Return which symbols may stand at step t, given the states before it."""
        return jax.vmap(lambda after, state, allowed: allowed[after[state]])(
            self.after, states, self.allowed[:, t]
        )

    def moved(self, states: Int[Array, "B N"], symbols: Int[Array, "B N"]) -> Int[Array, "B N"]:
        """Return the states after some symbols; one that the model does not know is ignored."""
        return jax.vmap(lambda after, state, symbol: after[state, jnp.maximum(symbol, 0)])(
            self.after, states, symbols
        )


def make_rules(rules: abc.Sequence[Rule], width: int, cardinality: int) -> Rules:
    """Return the tables of some windows of one padded width, and of one padded size."""
    size = rules[0].size
    after = np.full((len(rules), size, cardinality), DEAD, np.int32)
    enter = np.full((len(rules), width), -1, np.int32)
    allowed = np.zeros((len(rules), width, size), bool)
    after[:, FREE] = FREE
    for row, rule in enumerate(rules):
        first = 2
        for gap, automaton in zip(rule.gaps, rule.automata, strict=True):
            if automaton is None:
                enter[row, gap.start] = FREE
                allowed[row, slice(*gap), FREE] = True
                continue
            states = slice(first, first + len(automaton.accepting))
            known = automaton.after
            after[row, states] = np.where(known == NOWHERE, DEAD, known + first)
            enter[row, gap.start] = first
            for step in range(*gap):
                allowed[row, step, states] = automaton.alive(gap.stop - 1 - step)
            first = states.stop
    return Rules(jnp.asarray(after), jnp.asarray(enter), jnp.asarray(allowed))
