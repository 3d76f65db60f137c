"""Visiting the missing steps of windows in any order, at the cost of the distance between visits.

A cursor at step t keeps the forward states up to t and the backward states after t valid. Writing
x_t invalidates neither. Moving right recomputes the forward states on the way, moving left the
backward ones. So a visit costs as many cell steps as lie between two places, O(g) in a gap of g
steps, however long the sequence is. Many cursors, called lanes, run in parallel.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from jaxtyping import Bool, Float, Int, Key, Shaped

from caesura.later import Array, Module, PRNGKeyArray, PyTree, eqx, jax, jnp
from caesura.nets.heads.base import Head, Query
from caesura.nets.rnn import Net
from caesura.strategies.keys import fold, for_steps
from caesura.strategies.window import Window


class Cursor(Module):
    """L lanes, one window each; `unknown` marks the values that the net must not see yet."""

    values: Shaped[Array, "L W D"]
    unknown: Bool[Array, "L W D"]
    at: Int[Array, " L"]
    forward: PyTree[Float[Array, "L W+1 ..."]]  # valid up to [at]
    backward: PyTree[Float[Array, "L W+1 ..."]]  # valid from [at + 1] on


class Order(NamedTuple):
    """The steps that each lane visits in turn: the first `visits` of `steps`."""

    steps: Int[Array, "L W"]
    visits: Int[Array, " L"]


class Step(NamedTuple):
    """What a visit may use: the step as it stands, and the frame that is given for it."""

    query: Query
    given: Shaped[Array, " D"]

    @property
    def given_query(self) -> Query:
        """The same question about the given frame."""
        return self.query._replace(frame=self.given)


Visit = Callable[[Head, PRNGKeyArray, Step], tuple[Shaped[Array, " D"], PyTree]]


def draw(head: Head, key: PRNGKeyArray, step: Step) -> tuple[Array, None]:
    """Write a sample; note nothing."""
    return head.sample(key, step.query), None


def force(head: Head, key: PRNGKeyArray, step: Step) -> tuple[Array, Array]:
    """Write the given value, and note its log-probability."""
    return step.given, head.log_prob(step.given_query)


def draw_and_score(head: Head, key: PRNGKeyArray, step: Step) -> tuple[Array, Array]:
    """Write a sample, and note its log-probability."""
    drawn = head.sample(key, step.query)
    return drawn, head.log_prob(step.query._replace(frame=drawn))


class Noted(NamedTuple):
    """The distribution of one step by itself."""

    values: Float[Array, "*B D K"]  # log-probabilities of every value of each component
    given: Float[Array, "*B"]  # log-probability of the given frame


def note(head: Head, step: Step) -> Noted:
    """Return the distribution of a step, and its log-probability of the given frame."""
    return Noted(head.marginals(step.query), head.log_prob(step.given_query))


def draw_and_note(head: Head, key: PRNGKeyArray, step: Step) -> tuple[Array, Noted]:
    """Write a sample, and note the distribution that it came from."""
    return head.sample(key, step.query), note(head, step)


def keep_and_note(head: Head, key: PRNGKeyArray, step: Step) -> tuple[Array, Noted]:
    """Leave the step as it is, and note its distribution."""
    return step.query.frame, note(head, step)


def enter(
    net: Net, window: Window, values: Shaped[Array, "L W D"], unknown: Bool[Array, "L W D"]
) -> Cursor:
    """Return lanes at the first steps of their windows."""

    def states(values: Array, unknown: Array, valid: Array, left: PyTree, right: PyTree) -> PyTree:
        inputs = net.inputs(values, unknown)
        rest = len(values)
        forward = jax.tree.map(lambda h: jnp.pad(h[None], [(0, rest)] + [(0, 0)] * h.ndim), left)
        return forward, net.backward.run(right, inputs, valid, reverse=True)

    forward, backward = jax.vmap(states)(values, unknown, window.valid, window.left, window.right)
    return Cursor(values, unknown, jnp.zeros(len(values), jnp.int32), forward, backward)


def move(net: Net, cursor: Cursor, to: Int[Array, " L"]) -> Cursor:
    """Move every lane to its step; they move in lockstep, so the longest distances count."""
    far_right = jnp.max(to - cursor.at)
    far_left = jnp.max(cursor.at - to)

    def right(_: Array, cursor: Cursor) -> Cursor:
        return jax.vmap(partial(_step_right, net))(cursor, to)

    def left(_: Array, cursor: Cursor) -> Cursor:
        return jax.vmap(partial(_step_left, net))(cursor, to)

    return jax.lax.fori_loop(0, far_left, left, jax.lax.fori_loop(0, far_right, right, cursor))


def _step_right(net: Net, lane: Cursor, to: Int[Array, ""]) -> Cursor:
    t, go = lane.at, lane.at < to
    old = jax.tree.map(lambda h: h[t], lane.forward)
    new = net.forward.step(old, net.encode(lane.values[t], lane.unknown[t]))
    forward = jax.tree.map(
        lambda h, n: h.at[t + 1].set(jnp.where(go, n, h[t + 1])), lane.forward, new
    )
    return eqx.tree_at(lambda c: (c.at, c.forward), lane, (t + go, forward))


def _step_left(net: Net, lane: Cursor, to: Int[Array, ""]) -> Cursor:
    t, go = lane.at, lane.at > to
    old = jax.tree.map(lambda h: h[t + 1], lane.backward)
    new = net.backward.step(old, net.encode(lane.values[t], lane.unknown[t]))
    backward = jax.tree.map(lambda h, n: h.at[t].set(jnp.where(go, n, h[t])), lane.backward, new)
    return eqx.tree_at(lambda c: (c.at, c.backward), lane, (t - go, backward))


class Conditional(NamedTuple):
    """The distribution of the step at a cursor: a head, and a function for its context."""

    head: Head
    look: Callable[[Cursor], Float[Array, "L C"]]


def given_the_rest(net: Net) -> Conditional:
    """Return the net's own conditional of a step: Eq. (3), or Eq. (1) of a forward net."""

    def look(cursor: Cursor) -> Float[Array, "L C"]:
        before = jax.tree.map(lambda h: row(h, cursor.at), cursor.forward)
        after = jax.tree.map(lambda h: row(h, cursor.at + 1), cursor.backward)
        return jax.vmap(net.context)(before, after)

    return Conditional(net.head, look)


def walk(
    keys: Key[Array, " L"],
    net: Net,
    conditional: Conditional,
    cursor: Cursor,
    window: Window,
    order: Order,
    visit: Visit,
) -> tuple[Cursor, PyTree[Shaped[Array, "L W ..."]]]:
    """Visit the missing steps in the given order; return the cursor and the notes by step."""
    visit_all = jax.vmap(partial(visit, conditional.head))

    def visit_next(i: Int[Array, ""], cursor: Cursor) -> tuple[Cursor, Array, Array, PyTree]:
        here = i < order.visits  # a lane that has made its visits waits for the others
        t = jnp.where(here, order.steps[:, i], cursor.at)
        cursor = move(net, cursor, t)
        frame, missing, given = (row(a, t) for a in (cursor.values, window.missing, window.values))
        step = Step(Query(conditional.look(cursor), frame, missing), given)
        frame, noted = visit_all(fold(keys, i), step)
        values = write(cursor.values, t, here, frame)
        unknown = write(cursor.unknown, t, here, jnp.zeros_like(frame, bool))
        cursor = eqx.tree_at(lambda c: (c.values, c.unknown), cursor, (values, unknown))
        return cursor, t, here, noted

    def and_note(i: Int[Array, ""], carry: tuple[Cursor, PyTree]) -> tuple[Cursor, PyTree]:
        cursor, t, here, noted = visit_next(i, carry[0])
        return cursor, jax.tree.map(lambda a, n: write(a, t, here, n), carry[1], noted)

    noted = jax.eval_shape(visit_next, jnp.int32(0), cursor)[-1]
    width = order.steps.shape[1]
    notes = jax.tree.map(lambda n: jnp.zeros((len(n), width, *n.shape[1:]), n.dtype), noted)
    return jax.lax.fori_loop(0, jnp.max(order.visits), and_note, (cursor, notes))


def left_to_right(window: Window) -> Order:
    """Return the missing steps of each window from left to right."""
    missing = window.missing_steps
    return Order(jnp.argsort(~missing, axis=1, stable=True), jnp.sum(missing, axis=1))


def random_order(
    keys: Key[Array, " L"], lanes: Window, *, rightward: Bool[Array, ""] | bool = True
) -> Order:
    """Return the missing steps of each lane, gap by gap, in random order inside a gap.

    For one gap, as in the paper, this is any of the g! orders. For several gaps, one gap after
    another keeps the distances short, and lets `nade` be scored exactly.
    """
    # DEVIATION: the paper has one gap; several are filled one after another.
    missing = lanes.missing_steps
    gap = jnp.cumsum(lanes.gap_starts, axis=1) * jnp.where(rightward, 1, -1)
    chance = jax.vmap(jax.vmap(jax.random.uniform))(for_steps(keys, missing.shape[1]))
    steps = jnp.argsort(jnp.where(missing, gap + chance, jnp.inf), axis=1)
    return Order(steps, jnp.sum(missing, axis=1))


def row(array: Shaped[Array, "L W ..."], t: Int[Array, " L"]) -> Shaped[Array, "L ..."]:
    """Return what each lane has at its step."""
    return jax.vmap(lambda a, t: a[t])(array, t)


def write(
    array: Shaped[Array, "L W ..."],
    t: Int[Array, " L"],
    here: Bool[Array, " L"],
    new: Shaped[Array, "L ..."],
) -> Shaped[Array, "L W ..."]:
    """Return the array with `new` at the step of each lane that is `here`."""
    return jax.vmap(lambda a, t, h, n: a.at[t].set(jnp.where(h, n, a[t])))(array, t, here, new)
