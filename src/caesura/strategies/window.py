"""The part of a sequence that a strategy works on, with the states at its edges.

Nothing before the first or after the last missing step changes while gaps are filled. So the states
at the two edges stand for the rest of the sequence, however long it is.
"""

from collections import OrderedDict, abc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import blake2b
from threading import Lock
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from caesura.hardware import bucket, pad, sequence_length, window_width
from caesura.later import Array, Module, PyTree, eqx, jax, jnp, map_leaves
from caesura.nets import eager
from caesura.nets.arrays import Numbers
from caesura.nets.cells import State
from caesura.nets.pair import Nets, Pair
from caesura.nets.rnn import Net, Stack
from caesura.programs import program
from caesura.sequence import Sequence, Span
from caesura.strategies.echo import Echoes
from caesura.strategies.line import Lines

# Steps on either side of a gap that the bidirectional net of a pair reads. With more it is not
# better, other than the forward net: see docs/experiments.md.
READ_BOTH_WAYS = 96


class Window(Module):
    """B stretches of W steps, each from its first missing step on, padded on the right.

    The values at missing places may be anything; `Strategy.marginals` gives their probability.
    """

    values: Shaped[Numbers, "B W D"]
    missing: Bool[Numbers, "B W D"]
    valid: Bool[Numbers, "B W"]
    left: PyTree[Float[Numbers, "B ..."]]  # the forward state before the first step
    right: PyTree[Float[Numbers, "B ..."]]  # the backward state after the last; dicts for a pair
    lines: Lines | None = None  # for a strategy that `keeps_lines`
    echoes: Echoes | None = None  # for a strategy that `hears_echoes`

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
    net: Nets,
    sequences: abc.Sequence[Sequence],
    spans: abc.Sequence[Span],
    ends: abc.Sequence[int],
    known: "KnownEnds | None" = None,
) -> Window:
    """Return the windows of `around_each`, made by NumPy.

    `known` are the ends of texts that were read by these nets before.
    """
    known = known or KnownEnds()
    width = max(end - span.start for span, end in zip(spans, ends, strict=True))
    before, after, rows = [], [], []
    for one, span, end in zip(sequences, spans, ends, strict=True):
        here, inside = slice(span.start, end), np.ones(end - span.start, bool)
        steps = eager.steps_of(net.frame, one.values)
        far = max(end, span.stop + READ_BOTH_WAYS) if isinstance(net, Pair) else len(steps)
        before.append(steps[: span.start])
        after.append(steps[end:far][::-1])
        rows.append([pad(a, width) for a in (one.values[here], one.missing[here], inside)])
    values, missing, valid = (np.stack(part) for part in zip(*rows, strict=True))
    left, right = _read_ends(known, net, before, after)
    lines = Lines.around(sequences, [span.start for span in spans], width)
    return Window(values=values, missing=missing, valid=valid, left=left, right=right, lines=lines)


def _read_ends(
    known: "KnownEnds",
    net: Nets,
    before: abc.Sequence[eager.Steps],
    after: abc.Sequence[eager.Steps],
) -> tuple[PyTree, PyTree]:
    """Return the states at both edges of the windows; two threads read as much each."""
    q = net.bidirectional if isinstance(net, Pair) else net
    with ThreadPoolExecutor(1) as aside:
        if not isinstance(net, Pair):
            job = aside.submit(known.read, "forward of q", q, q.forward, before)
            right = known.read("backward of q", q, q.backward, after)
            return job.result(), right
        job = aside.submit(known.read, "forward of p", net.forward, net.forward.forward, before)
        near = [text[-READ_BOTH_WAYS:] for text in before]
        left = known.read("forward of q", q, q.forward, near)
        right = known.read("backward of q", q, q.backward, after)
        return (
            {"forward": job.result(), "bidirectional": left},
            {"forward": (), "bidirectional": right},
        )


class KnownEnds:
    """The states of some nets after the texts that they read last, so that none is read twice.

    A search reads the same text around a gap more than once, and so do the requests of a user who
    works on one text. States on the way are kept, too: a text that ends otherwise is read from
    there on.
    """

    PIECE = 32  # steps between the states that are kept

    def __init__(self, most: int = 2048) -> None:
        self._most, self._lock = most, Lock()
        self._states: OrderedDict[tuple[str, int, bytes], State] = OrderedDict()

    def read(self, name: str, net: Net, stack: Stack, texts: abc.Sequence[eager.Steps]) -> State:
        """Return the states after some texts, with the texts in the first axis."""
        each = [np.ascontiguousarray(text, np.int32) for text in texts]
        new = {text.tobytes(): text for text in each}
        with self._lock:
            begun = {key: self._longest(name, text) for key, text in new.items()}
        nothing = eager.take(eager.start(stack, 1), 0)
        found = {key: nothing if state is None else state for key, (_, state) in begun.items()}
        todo = {key: text[begun[key][0] :] for key, text in new.items()}
        todo = {key: text for key, text in todo.items() if len(text)}
        if todo:
            begin = map_leaves(lambda *a: np.stack(a).T, *(found[key] for key in todo))
            ways = eager.read(net, stack, begin, list(todo.values()))
            for key, way in zip(todo, ways, strict=True):
                first, end = begun[key][0], len(new[key])
                kept = [*range(first - first % self.PIECE + self.PIECE, end, self.PIECE), end]
                # Copies, so that the other states on the way are not kept.
                states = {n: map_leaves(np.copy, eager.take(way, n - first)) for n in kept}
                found[key] = states[end]
                with self._lock:
                    self._states |= {_key(name, new[key][:n]): states[n] for n in kept}
        with self._lock:
            while len(self._states) > self._most:
                self._states.popitem(last=False)
        return map_leaves(lambda *ends: np.stack(ends), *(found[text.tobytes()] for text in each))

    def _longest(self, name: str, text: eager.Steps) -> tuple[int, State | None]:
        """Return how much of a text was read before, with the state after it."""
        last = len(text) - len(text) % self.PIECE
        for steps in [len(text), *range(last, 0, -self.PIECE)]:
            key = _key(name, text[:steps])
            if key in self._states:
                self._states.move_to_end(key)
                return steps, self._states[key]
        return 0, None


def _key(name: str, text: eager.Steps) -> tuple[str, int, bytes]:
    """Return a name for what a stack has read: short, as the frames of music are long."""
    return name, len(text), blake2b(text.tobytes(), digest_size=16).digest()


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
