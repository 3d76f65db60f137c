"""Stretches of many sequences, filled side by side: padded, drawn and scored.

What a stretch is filled with depends on its own key alone, neither on the others in its batch nor
on how many devices share the work. So an answer is the same alone and in company, up to rounding.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Key, Shaped, UInt32

from caesura.filler.middles import medians
from caesura.filler.tasks import PART, WINDOWS, Method, Task
from caesura.hardware import DRAWN_LANES
from caesura.later import Array, PyTree, eqx, jax, jit, jnp
from caesura.nets.bins import EDGES
from caesura.nets.frames import Continuous
from caesura.nets.pair import Nets
from caesura.programs import program
from caesura.strategies import Estimate, Marginals, Strategy, Window
from caesura.strategies.keys import Seeds


class Filled(NamedTuple):
    """What became of a stretch, at its missing places, step by step."""

    places: Int[np.ndarray, "places 2"]  # in the whole sequence
    drawn: Shaped[np.ndarray, "draws places"]
    log_probs: Float[np.ndarray, " scored"]
    errors: Float[np.ndarray, " scored"]
    best: Shaped[np.ndarray, " places"]
    best_log_prob: float
    best_error: float
    confidence: Float[np.ndarray, " places"]  # the probability of each value of `best`
    proposed: bool = False  # whether `best` is none of the draws, but what the kind proposed


def fill_pass(method: Method, tasks: Sequence[Task]) -> list[Filled]:
    """Fill some tasks of one shape side by side."""
    window, keys = prepare(method, tasks)
    with ThreadPoolExecutor(1) as aside:  # the first call compiles, on more than one core
        marginals = aside.submit(method.strategy.marginals, keys.marginals, method.net, window)
        drawn = _draw(method, window, keys.draw, tasks[0].draws)
        drawn = _mixed(method, tasks, _settled(method, tasks, drawn))
        spec, numbers = method.net.frame.spec, isinstance(method.net.frame, Continuous)
        if numbers:  # the best is the median, and scored before the samples that are asked for
            middle = medians(spec, np.asarray(window.missing), drawn)
            drawn = np.concatenate([middle[:, None], drawn], axis=1)
        scored = drawn[:, : tasks[0].scored + numbers]
        score = _score(method, window, keys.score, scored)
        chances = [one.log_probs for one in _chances(method, tasks, marginals.result())]
    log_probs, errors = (np.asarray(part, np.float64) for part in score)
    log_probs, errors = _pooled(method, tasks, scored, log_probs, errors)
    proposals = [None] * len(tasks) if numbers else _proposals(method, tasks, drawn)
    if any(proposal is not None for proposal in proposals):
        # Of one shape, if it is compiled: then nothing more is.
        fills = (scored[:, :1] if method.in_numpy else scored).copy()
        for row, (task, proposal) in enumerate(zip(tasks, proposals, strict=True)):
            if proposal is not None:
                fills[row, 0][task.inside] = proposal
        own = _score(method, window, keys.score, fills)
        own_log_probs, own_errors = (np.asarray(part, np.float64)[:, 0] for part in own)
    found = []
    for row, (task, proposal) in enumerate(zip(tasks, proposals, strict=True)):
        at_places = drawn[row][:, *task.inside]
        if proposal is None:
            best = 0 if numbers else method.kind.rank(at_places, log_probs[row])[0]
            answer = at_places[best], float(log_probs[row, best]), float(errors[row, best])
        else:
            answer = proposal, float(own_log_probs[row]), float(own_errors[row])
        chosen = np.asarray(method.net.frame.index(answer[0]))
        found.append(
            Filled(
                places=task.places,
                drawn=at_places[numbers:],
                log_probs=log_probs[row, numbers:],
                errors=errors[row, numbers:],
                best=answer[0],
                best_log_prob=answer[1],
                best_error=answer[2],
                confidence=np.exp(chances[row][np.arange(len(chosen)), chosen]),
                proposed=proposal is not None,
            )
        )
    return found


def _settled(
    method: Method, tasks: Sequence[Task], drawn: Shaped[np.ndarray, "B draws W D"]
) -> Shaped[np.ndarray, "B draws W D"]:
    """Return the draws as the kind can write them."""
    settled = drawn
    for row, task in enumerate(tasks):
        old = drawn[row][:, *task.inside]
        new = method.kind.settle(task.stretch.seen, old)
        if new is not old:
            settled = settled.copy() if settled is drawn else settled
            settled[row][:, *task.inside] = new
    return settled


def _proposals(
    method: Method, tasks: Sequence[Task], drawn: Shaped[np.ndarray, "B draws W D"]
) -> list[Shaped[np.ndarray, " places"] | None]:
    """Return what the kind prefers to the draws of each task, if anything."""
    found = []
    for task, row in zip(tasks, drawn, strict=False):  # the last rows may be padding
        of = task.stretch
        proposal = method.kind.propose(of.sequence, of.steps, row[:, *task.inside])
        if proposal is not None:
            proposal = method.kind.settle(of.seen, proposal[None].astype(drawn.dtype))[0]
        found.append(proposal)
    return found


def score_pass(method: Method, tasks: Sequence[Task]) -> list[tuple[float, float]]:
    """Return the log-probability of what each task's sequence has in its gaps, with its error."""
    window, keys = prepare(method, tasks)
    truth = np.asarray(window.values)[:, None]
    score = _score(method, window, keys.score, truth)
    log_probs, errors = (np.asarray(part, np.float64)[: len(tasks)] for part in score)
    log_probs, errors = _pooled(method, tasks, truth[: len(tasks)], log_probs, errors)
    return list(zip(log_probs[:, 0].tolist(), errors[:, 0].tolist(), strict=True))


class Chances(NamedTuple):
    """The distribution at each missing place of a stretch."""

    places: Int[np.ndarray, "places 2"]
    log_probs: Float[np.ndarray, "places K"]
    errors: Float[np.ndarray, "places K"]


def marginals_pass(method: Method, tasks: Sequence[Task]) -> list[Chances]:
    """Return the distribution at each missing place of some tasks of one shape."""
    window, keys = prepare(method, tasks)
    return _chances(method, tasks, method.strategy.marginals(keys.marginals, method.net, window))


def _chances(method: Method, tasks: Sequence[Task], marginals: Marginals) -> list[Chances]:
    """Return the distribution at each missing place; pooled, if a Gaussian model is asked."""
    found, values = [], [np.asarray(part) for part in marginals.values]
    for row, task in enumerate(tasks):
        log_probs, errors = (part[row][task.inside] for part in values)
        if method.pool is not None:
            log_probs, errors = method.pool.marginals(task.gap, EDGES, log_probs, errors)
        found.append(Chances(task.places, log_probs, errors))
    return found


def _mixed(
    method: Method, tasks: Sequence[Task], drawn: Shaped[np.ndarray, "B draws W D"]
) -> Shaped[np.ndarray, "B draws W D"]:
    """Return the draws, some of them those of a Gaussian model, if one is asked."""
    if method.pool is None:
        return drawn
    mixed = drawn.copy()
    for row, task in enumerate(tasks):
        rng = np.random.default_rng([task.seed, task.number])
        mixed[row][:, *task.inside] = method.pool.mix(rng, task.gap, drawn[row][:, *task.inside])
    return mixed


def _pooled(
    method: Method,
    tasks: Sequence[Task],
    fills: Shaped[np.ndarray, "B S W D"],
    log_probs: Float[np.ndarray, "B S"],
    errors: Float[np.ndarray, "B S"],
) -> tuple[Float[np.ndarray, "B S"], Float[np.ndarray, "B S"]]:
    """Return the scores of fills; pooled, if a Gaussian model is asked."""
    if method.pool is None:
        return log_probs, errors
    log_probs, errors = log_probs.copy(), errors.copy()
    for row, task in enumerate(tasks):
        of_task = fills[row][:, *task.inside], log_probs[row], errors[row]
        log_probs[row], errors[row] = method.pool.log_prob(task.gap, *of_task)
    return log_probs, errors


class Keys(NamedTuple):
    """What is random in a pass: a key for each window."""

    draw: Seeds
    score: Seeds
    marginals: Seeds


def prepare(method: Method, tasks: Sequence[Task]) -> tuple[Window, Keys]:
    """Return the windows of some tasks, the last one repeated up to a batch, and their keys."""
    if method.in_numpy:
        numbers = np.array([[task.number, task.seed] for task in tasks], np.uint32)
        each = (np.insert(numbers, 0, use, axis=1) for use in range(3))
        return method.window([task.stretch for task in tasks]), Keys(*each)
    size = next(size for size in WINDOWS if size >= len(tasks))
    padded = list(tasks) + [tasks[-1]] * (size - len(tasks))
    window = method.window([task.stretch for task in padded])
    numbers = np.array([[task.number, task.seed] for task in padded], np.uint32)
    keys = Keys(*_keys(jnp.asarray(numbers)))
    if not method.strategy.batched:  # it takes one key, for its only window
        keys = keys._replace(score=keys.score[0], marginals=keys.marginals[0])
    return window, keys


@jit
def _keys(numbers: UInt32[Array, "B 2"]) -> Key[Array, "3 B"]:
    def of_task(pair: UInt32[Array, " 2"]) -> Key[Array, " 3"]:
        return jax.random.split(jax.random.fold_in(jax.random.key(pair[1]), pair[0]), 3)

    return jax.vmap(of_task, out_axes=1)(numbers)


def _draw(
    method: Method, window: Window, keys: Seeds, draws: int
) -> Shaped[np.ndarray, "B draws W D"]:
    """Draw fills in parts of a fixed size, each with its own key; some parts at once.

    NumPy needs no parts: there is nothing to compile.
    """
    if method.in_numpy:
        return np.asarray(method.strategy.draw(keys, method.net, window, draws))
    part = PART if method.alone else min(draws, PART)
    parts = -(-draws // part)
    windows = len(window.valid)
    at_once = 1 if method.alone else max(1, min(parts, DRAWN_LANES // (windows * part)))
    found = []
    for first in range(0, parts, at_once):
        rows = window.repeat(at_once)
        row_keys = _part_keys(keys, first + jnp.arange(at_once))
        drawn = np.asarray(_on_devices(method.strategy, method.net, row_keys, rows, part))
        found.append(drawn.reshape(windows, at_once * part, *drawn.shape[2:]))
    return np.concatenate(found, axis=1)[:, :draws]


def _score(
    method: Method, window: Window, key: Any, fills: Shaped[np.ndarray, "B S W D"]
) -> Estimate:
    """Return the log-probability of each fill, some fills at once."""
    samples, score = fills.shape[1], method.strategy.log_prob
    if method.in_numpy:
        return score(key, method.net, window, fills)
    if not method.alone:
        return score(key, method.net, window, jnp.asarray(fills))
    widths = [(0, 0), (0, -samples % PART), (0, 0), (0, 0)]
    parts = np.split(np.pad(fills, widths, mode="edge"), -(-samples // PART), axis=1)
    # JAX compiles the transfer of an array, too: there is one shape, that of a whole part.
    scores = [score(key, method.net, window, jnp.asarray(part)) for part in parts]
    log_probs, errors = (np.concatenate(part, axis=1) for part in zip(*scores, strict=True))
    return Estimate(log_probs[:, :samples], errors[:, :samples])


@jit
def _part_keys(keys: Any, parts: Int[Array, " P"]) -> Key[Array, " BP"]:
    each = jax.vmap(jax.vmap(jax.random.fold_in, (None, 0)), (0, None))
    return each(keys, parts).reshape(-1)


def _on_devices(
    strategy: Strategy, net: Nets, keys: Key[Array, " rows"], rows: Window, samples: int
) -> Shaped[Array, "rows samples W D"]:
    """Draw on all devices that share the rows evenly."""
    if not strategy.batched:
        each = [strategy.draw(key, net, rows.rows(n, 1), samples) for n, key in enumerate(keys)]
        return jnp.concatenate(each)
    here = jax.local_devices()
    count = max(n for n in range(1, len(here) + 1) if len(keys) % n == 0)
    if count == 1:
        return strategy.draw(keys, net, rows, samples)
    return _shared_draw(strategy, net, keys, rows, samples, tuple(here[:count]))


@program
def _shared_draw(
    strategy: Strategy,
    net: Nets,
    keys: Key[Array, " rows"],
    rows: Window,
    samples: int,
    devices: "tuple[jax.Device, ...]",
) -> Shaped[Array, "rows samples W D"]:
    split: Any = jax.sharding.PartitionSpec
    arrays, rest = eqx.partition(net, eqx.is_array)

    def draw(keys: Key[Array, " some"], rows: Window, arrays: PyTree) -> Array:
        return strategy.draw(keys, eqx.combine(arrays, rest), rows, samples)

    run = jax.shard_map(
        draw,
        mesh=jax.sharding.Mesh(np.array(devices), ("rows",)),
        in_specs=(split("rows"), split("rows"), split()),
        out_specs=split("rows"),
        check_vma=False,
    )
    return run(keys, rows, arrays)
