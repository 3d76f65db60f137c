"""The part of a sequence that a strategy works on, with the states at its edges.

Nothing before the first or after the last missing step changes while gaps are filled. So the states
at the two edges stand for the rest of the sequence, however long it is.
"""

from collections import OrderedDict, abc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree, Shaped

from caesura.hardware import bucket, pad, sequence_length, window_width
from caesura.nets import eager
from caesura.nets.arrays import Numbers
from caesura.nets.cells import State
from caesura.nets.pair import Nets, Pair
from caesura.nets.rnn import Net, Stack
from caesura.programs import program
from caesura.sequence import Sequence, Span


class Window(eqx.Module):
    """B stretches of W steps, each from its first missing step on, padded on the right.

    The values at missing places may be anything; `Strategy.marginals` gives their probability.
    """

    values: Shaped[Numbers, "B W D"]
    missing: Bool[Numbers, "B W D"]
    valid: Bool[Numbers, "B W"]
    left: PyTree[Float[Numbers, "B ..."]]  # the forward state before the first step
    right: PyTree[Float[Numbers, "B ..."]]  # the backward state after the last; dicts for a pair

    @property
    def missing_steps(self) -> Bool[Array, "*B W"]:
        """Which steps have a missing value."""
        return jnp.any(self.missing, axis=-1)

    @property
    def gap_starts(self) -> Bool[Array, "*B W"]:
        """The first step of each gap."""
        missing = self.missing_steps
        before = jnp.concatenate([jnp.zeros_like(missing[..., :1]), missing[..., :-1]], axis=-1)
        return missing & ~before

    @property
    def longest_gap(self) -> Int[Array, "*B"]:
        """The length of the longest gap."""
        step = jnp.arange(self.missing.shape[-2])
        last_known = jax.lax.cummax(
            jnp.where(self.missing_steps, -1, step), axis=self.missing_steps.ndim - 1
        )
        return jnp.max(step - last_known, axis=-1)

    def repeat(self, times: int) -> "Window":
        """Return every stretch `times` times, its copies next to each other."""
        return jax.tree.map(lambda a: jnp.repeat(a, times, axis=0), self)

    def rows(self, first: int, count: int) -> "Window":
        """Return `count` of the stretches."""
        return jax.tree.map(lambda a: jax.lax.dynamic_slice_in_dim(a, first, count), self)

    def of(self, net: str) -> "Window":
        """Return the same stretches with the states of one net of a pair."""
        return replace(self, left=self.left[net], right=self.right[net])

    def with_fills(self, fills: Shaped[Array, "B S W D"]) -> "Window":
        """Return every stretch S times, with one of its fills each."""
        copies = self.repeat(fills.shape[1])
        return eqx.tree_at(lambda window: window.values, copies, fills.reshape(copies.values.shape))


class Place(NamedTuple):
    """A gap to be made in a complete sequence, with the end of its window."""

    sequence: int
    start: int
    stop: int  # of the gap
    end: int  # of the window


def around_missing(net: Nets, sequence: Sequence, stop: int) -> Window:
    """Return one window: from the first missing step up to `stop`, after the last one."""
    gaps = sequence.gaps
    return around_each(net, [sequence], [Span(gaps[0].start, gaps[-1].stop)], [stop])


def around_each(
    net: Nets,
    sequences: abc.Sequence[Sequence],
    spans: abc.Sequence[Span],
    ends: abc.Sequence[int],
    width: int | None = None,
) -> Window:
    """Return one window for each of several sequences: from the start of its span to its end.

    Outside its span, a sequence has nothing missing. Windows are padded to `width` steps.
    """
    places = [
        Place(row, *span, end) for row, (span, end) in enumerate(zip(spans, ends, strict=True))
    ]
    width = width or window_width(max(place.end - place.start for place in places))
    missing = [pad(sequences[p.sequence].missing[p.start : p.end], width) for p in places]
    length = sequence_length(max(map(len, sequences)))
    return _cut(net, sequences, length, np.array(places), np.stack(missing))


def around_each_eagerly(
    net: Pair,
    sequences: abc.Sequence[Sequence],
    spans: abc.Sequence[Span],
    ends: abc.Sequence[int],
    known: "KnownEnds | None" = None,
) -> Window:
    """Return the windows of `around_each` for a pair of nets of symbols, made by NumPy.

    `known` are the ends of texts that were read by these nets before.
    """
    known = known or KnownEnds()
    width = max(end - span.start for span, end in zip(spans, ends, strict=True))
    before, after, rows = [], [], []
    for one, span, end in zip(sequences, spans, ends, strict=True):
        here, inside = slice(span.start, end), np.ones(end - span.start, bool)
        before.append(one.values[: span.start, 0])
        after.append(one.values[end:, 0][::-1])
        rows.append([pad(a, width) for a in (one.values[here], one.missing[here], inside)])
    q, p = net.bidirectional, net.forward
    with ThreadPoolExecutor(2) as aside:  # with this thread, three for the three stacks
        of_p = aside.submit(known.read, "forward of p", p, p.forward, before)
        right = aside.submit(known.read, "backward of q", q, q.backward, after)
        left = known.read("forward of q", q, q.forward, before)
    values, missing, valid = (np.stack(part) for part in zip(*rows, strict=True))
    return Window(
        values=values,
        missing=missing,
        valid=valid,
        left={"forward": of_p.result(), "bidirectional": left},
        right={"forward": (), "bidirectional": right.result()},
    )


class KnownEnds:
    """The states of a pair of nets after the texts that they read last, so that none is read twice.

    A search reads the same text around a gap more than once, and so do the requests of a user who
    works on one text.
    """

    def __init__(self, most: int = 1024) -> None:
        self._most, self._lock = most, Lock()
        self._ends: OrderedDict[tuple[str, bytes], State] = OrderedDict()

    def read(
        self, name: str, net: Net, stack: Stack, texts: abc.Sequence[Int[np.ndarray, " _"]]
    ) -> State:
        """Return the states after some texts, with the texts in the first axis."""
        keys = [(name, text.astype(np.int32).tobytes()) for text in texts]
        with self._lock:
            found = {key: self._ends[key] for key in keys if key in self._ends}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if new:
            ways = eager.read(net, stack, eager.start(stack, len(new)), list(new.values()))
            found |= {
                # A copy, so that the states on the way are not kept.
                key: jax.tree.map(lambda a: a[..., -1].copy(), way)
                for key, way in zip(new, ways, strict=True)
            }
        with self._lock:
            for key in found:
                self._ends[key] = found[key]
                self._ends.move_to_end(key)
            while len(self._ends) > self._most:
                self._ends.popitem(last=False)
        return jax.tree.map(lambda *ends: np.stack(ends), *(found[key] for key in keys))


def around_gaps(
    net: Nets, sequences: abc.Sequence[Sequence], places: abc.Sequence[Place]
) -> Window:
    """Return a window for each gap to be made in complete sequences.

    All gaps of a sequence share one pass over it, and all sequences are run in parallel.
    """
    _, starts, stops, ends = np.array(places).T
    inside = np.arange(window_width(int(max(ends - starts)))) < (stops - starts)[:, None]
    length = bucket(max(map(len, sequences)))
    missing = inside[:, :, None] & net.frame.fillable
    return _cut(net, sequences, length, np.array(places), missing)


def _cut(
    net: Nets,
    sequences: abc.Sequence[Sequence],
    length: int,
    places: Int[np.ndarray, "B 4"],
    missing: Bool[np.ndarray, "B width D"],
) -> Window:
    # NumPy pads everything here, so that JAX compiles for few shapes; windows have fewer shapes
    # than sequences, because more is compiled for them.
    lengths = pad(np.array([len(sequence) for sequence in sequences]), bucket(len(sequences)))
    width = missing.shape[1]
    which, starts, _, ends = places.T
    steps = starts[:, None] + np.arange(width)
    values = pad(np.stack([pad(s.values, length) for s in sequences]), len(lengths))
    unknown = pad(np.stack([pad(s.missing, length) for s in sequences]), len(lengths))
    left, right = _edges(
        net,
        jnp.asarray(values),
        jnp.asarray(unknown),
        jnp.asarray(np.arange(length) < lengths[:, None]),
        jnp.asarray(np.stack([which, starts])),
        jnp.asarray(np.stack([which, ends])),
    )
    return Window(
        values=jnp.asarray(values[which[:, None], np.minimum(steps, length - 1)]),
        missing=jnp.asarray(missing),
        valid=jnp.asarray(steps < ends[:, None]),
        left=left,
        right=right,
    )


@program
def _edges(
    net: Nets,
    values: Shaped[Array, "n T D"],
    unknown: Bool[Array, "n T D"],
    valid: Bool[Array, "n T"],
    starts: Int[Array, "2 B"],
    ends: Int[Array, "2 B"],
) -> tuple[State, State]:
    states = jax.vmap(lambda v, u, ok: net.states(net.inputs(v, u), ok))(values, unknown, valid)
    left = jax.tree.map(lambda h: h[starts[0], starts[1]], states.forward)
    right = jax.tree.map(lambda h: h[ends[0], ends[1]], states.backward)
    return left, right
