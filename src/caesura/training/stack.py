"""Several trainings in one program: one small net leaves a GPU idle, many of them keep it busy.

The nets of a stack have one shape. Their trainings may differ in data, seed and learning rates, and
in what is unseen and predicted. Each one draws the same stretches and ends with the same weights,
up to rounding, as if `fit` trained it alone.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from caesura.errors import CaesuraError
from caesura.hardware import pad, sharing, tuning_for
from caesura.nets.rnn import Net
from caesura.training.batches import (
    Chunks,
    Corpus,
    Example,
    Range,
    hide,
    keys_of_update,
    make_example,
)
from caesura.training.loop import (
    EVERYWHERE,
    MOST_SKIPPED,
    SECONDS_A_CALL,
    Data,
    Progress,
    State,
    Stopped,
    Trained,
)
from caesura.training.objectives import Total, total_nll, total_objective
from caesura.training.optimiser import descend, make_optimiser
from caesura.training.recipe import Recipe
from caesura.training.token import keep_token, with_token, without_token

TRAININGS = jax.sharding.PartitionSpec("trainings")  # each device has some


class Part(NamedTuple):
    """One training of a stack: what `fit` needs for it."""

    key: PRNGKeyArray
    net: Net
    data: Data
    recipe: Recipe


class Lesson(eqx.Module):
    """What distinguishes the trainings of a stack; the first axis is that of the trainings."""

    key_updates: Key[Array, "*n"]
    key_valid: Key[Array, "*n"]
    rates: Float[Array, "*n rates"]
    rows: Int[Array, "*n"]  # of its batches; a program has as many as the largest of them
    corpus: Range
    chunks: Chunks
    gaps: Bool[Array, "*n"]  # whether the net sees gaps
    only_gaps: Bool[Array, "*n"]  # whether it predicts nothing else
    token: Bool[Array, "*n"]  # whether it is told which steps it does not see


class Nets(eqx.Module):
    """The nets of all trainings, one for each learning rate, and the best one of each training."""

    weights: PyTree[Float[Array, "..."]]  # [trainings, rates, ...]
    optimiser: optax.OptState
    loss: Total  # since the last validation
    best: PyTree[Float[Array, "..."]]  # [trainings, ...]: of all learning rates
    best_nll: Float[Array, "*n"]
    best_step: Int[Array, "*n"]
    best_rate: Int[Array, "*n"]  # its number


def joinable(recipe: Recipe, other: Recipe) -> bool:
    """Return whether nets of these recipes can be trained in one program."""
    gaps = {recipe.gap, other.gap} - {0}
    return len(gaps) < 2 and _common(recipe) is not None and _common(recipe) == _common(other)


def _common(recipe: Recipe) -> Recipe | None:
    """Return what the recipes of a stack share; None if a net of this one is trained alone.

    With patience, trainings would end at different times. Dropout needs noise of its own.
    """
    if recipe.patience or recipe.dropout or recipe.in_order or recipe.parts or recipe.holes:
        return None
    told = "none" if recipe.missing_input == "added" else recipe.missing_input
    rates = tuple(1.0 for _ in recipe.learning_rate)
    gaps = replace(recipe, strategy="", missing_input=told, targets="all", gap=0)
    return replace(gaps, batch=1, learning_rate=rates)


def fit_stack(
    parts: Sequence[Part],
    *,
    state: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    save_every: float = 120.0,
    report: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Trained]:
    """Train the nets of all parts, from the beginning or from a saved state.

    The state is saved when the training ends or is stopped, and every `save_every` seconds: it
    holds all nets, so it is not small. The history has a list of the losses and of the NLLs of each
    training.
    """
    program = StackProgram([part.recipe for part in parts], [part.net for part in parts])
    recipe = program.recipe
    state = state or begin_stack(parts)
    lessons, corpus = make_lessons(parts, recipe)
    lessons, nets = program.shared((lessons, state.members))
    corpus = program.everywhere(corpus)
    step, history = state.step, list(state.history)
    began, saved, pace = time.monotonic() - state.seconds, time.monotonic(), 1
    while step < recipe.steps:
        goal = min(recipe.steps, (step // recipe.validate_every + 1) * recipe.validate_every)
        last = min(goal, step + pace)
        started = time.monotonic()
        nets = jax.block_until_ready(program.update(lessons, nets, corpus, step, last))
        took, count, step = time.monotonic() - started, last - step, last
        # The first call compiles; later ones show how many updates take a second.
        pace = max(1, min(int(count * SECONDS_A_CALL / took), 4 * pace))
        _check_finite(nets)
        loss = np.asarray(nets.loss.nll) / np.maximum(np.asarray(nets.loss.steps), 1)
        if step == goal:
            nets, nll = program.validate(lessons, nets, step)
            history.append({"step": step, "loss": loss.tolist(), "nll": nll.tolist()})
        asked = stop()
        if asked or step == recipe.steps or time.monotonic() - saved > save_every:
            save(State(nets, step, history, time.monotonic() - began))
            saved = time.monotonic()
        report(
            Progress(  # the loss and the validation are means over the trainings
                step=step,
                steps=recipe.steps,
                loss=float(np.mean(loss.min(axis=1))),
                validation=float(np.mean(np.asarray(nll).min(axis=1))) if step == goal else None,
                steps_a_second=count * recipe.batch * recipe.length * loss.size / took,
                seconds_left=(recipe.steps - step) * took / count,
                skipped=int(np.sum(np.asarray(nets.optimiser.total_notfinite))),
            )
        )
        if asked and step < recipe.steps:
            raise Stopped
    seconds = (time.monotonic() - began) / len(parts)  # which the trainings share
    nets = jax.tree.map(np.asarray, nets)
    return [
        _trained(number, part, nets, program.frozen, history, seconds)
        for number, part in enumerate(parts)
    ]


def begin_stack(parts: Sequence[Part]) -> State:
    """Return the state before the first update."""
    told = any(part.net.missing_input == "added" for part in parts)
    each = [with_token(part.net) if told else part.net for part in parts]
    nets = [eqx.filter(net, eqx.is_inexact_array) for net in each]
    rates, count = len(parts[0].recipe.learning_rate), len(parts)
    optimiser = make_optimiser(parts[0].recipe).init(nets[0])

    def tiled(leaf: Array) -> Array:
        return jnp.broadcast_to(leaf, (count, rates, *leaf.shape))

    best = jax.tree.map(lambda *leaves: jnp.stack(leaves), *nets)
    weights = jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], rates, axis=1), best)
    nothing = Total(jnp.zeros((count, rates)), jnp.zeros((count, rates), jnp.int32))
    never = jnp.full(count, jnp.inf, jnp.float32)
    none = jnp.zeros(count, jnp.int32)
    start = Nets(weights, jax.tree.map(tiled, optimiser), nothing, best, never, none, none)
    return State(start, 0, [], 0.0)  # type: ignore[arg-type]


def _trained(
    number: int,
    part: Part,
    nets: Nets,
    frozen: Net,
    history: list[dict[str, Any]],
    seconds: float,
) -> Trained:
    """Return the result of one training of the stack, in the form of `fit`."""
    best = jax.tree.map(lambda a: jnp.asarray(a[number]), nets.best)
    net = eqx.combine(best, frozen)
    rate = int(nets.best_rate[number])
    return Trained(
        net=net if net.missing_input == part.net.missing_input else without_token(net),
        nll=float(nets.best_nll[number]),
        step=int(nets.best_step[number]),
        learning_rate=part.recipe.learning_rate[rate],
        history=[
            {"step": h["step"], "loss": h["loss"][number], "nll": h["nll"][number]} for h in history
        ],
        skipped=int(nets.optimiser.total_notfinite[number, rate]),
        seconds=seconds,
    )


def _check_finite(nets: Nets) -> None:
    """Raise an error if a training skips all updates and none of its nets was validated before.

    If one was, the training keeps its best net, and the others go on.
    """
    stuck = np.all(np.asarray(nets.optimiser.notfinite_count) >= MOST_SKIPPED, axis=1)
    if np.any(stuck & ~np.isfinite(np.asarray(nets.best_nll))):
        raise CaesuraError(
            f"In one of the trainings, the gradient was not finite in {MOST_SKIPPED} updates in a "
            "row: try smaller learning rates."
        )


def make_lessons(parts: Sequence[Part], recipe: Recipe) -> tuple[Lesson, Corpus]:
    """Return what the trainings differ in, and one corpus with the data of all of them."""
    sets = {id(part.data): part.data for part in parts}
    ranges, first = {}, 0
    for name, data in sets.items():
        steps = sum(map(len, data.train))
        ranges[name] = Range(jnp.asarray(first, jnp.int32), jnp.asarray(steps, jnp.int32))
        first += steps
    chunks = [Chunks(part.data.valid, part.recipe) for part in parts]
    rows = -(-max(len(one.values) for one in chunks) // _rows(recipe)) * _rows(recipe)
    lessons = []
    for part, some in zip(parts, chunks, strict=True):
        key_updates, key_valid = jax.random.split(part.key)
        lessons.append(
            Lesson(
                key_updates=key_updates,
                key_valid=key_valid,
                rates=jnp.asarray(part.recipe.learning_rate),
                rows=jnp.asarray(part.recipe.batch),
                corpus=ranges[id(part.data)],
                chunks=jax.tree.map(lambda a: jnp.asarray(pad(np.asarray(a), rows)), some),
                gaps=jnp.asarray(bool(part.recipe.gap)),
                only_gaps=jnp.asarray(part.recipe.targets == "gaps"),
                token=jnp.asarray(part.net.missing_input == "added"),
            )
        )
    pieces = [piece for data in sets.values() for piece in data.train]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *lessons), Corpus(pieces)


def _rows(recipe: Recipe) -> int:
    """Return the rows of a validation batch, which needs less memory than one to learn from."""
    return 2 * recipe.batch


class StackProgram:
    """The two compiled functions of a stack; devices share its trainings."""

    def __init__(self, recipes: Sequence[Recipe], nets: Sequence[Net]):
        for recipe in recipes:
            if not joinable(recipes[0], recipe):
                raise CaesuraError("Trainings of these recipes cannot be stacked.")
        gap = next((recipe.gap for recipe in recipes if recipe.gap), 0)
        batch = max(recipe.batch for recipe in recipes)
        self.recipe = replace(recipes[0], gap=gap, targets="all", batch=batch)
        self.told = any(net.missing_input == "added" for net in nets)
        net = with_token(nets[0]) if self.told else nets[0]
        self.frozen = eqx.filter(net, eqx.is_inexact_array, inverse=True)
        self.tuning = tuning_for(self.recipe.precision)
        devices = sharing(len(recipes))
        self.mesh = jax.make_mesh((len(devices),), ("trainings",), devices=devices)
        some, every = TRAININGS, EVERYWHERE
        self.update = self._compile(self._update, (some, some, every, every, every), some)
        self.validate = self._compile(self._validate, (some, some, every), (some, some))

    def shared(self, tree: PyTree) -> PyTree:
        """Put on each device its trainings."""
        return jax.device_put(tree, jax.sharding.NamedSharding(self.mesh, TRAININGS))

    def everywhere(self, tree: PyTree) -> PyTree:
        """Copy the arrays to all devices."""
        return jax.device_put(tree, jax.sharding.NamedSharding(self.mesh, EVERYWHERE))

    def _compile(self, function: Any, in_specs: Any, out_specs: Any) -> Callable[..., Any]:
        specs = {"mesh": self.mesh, "in_specs": in_specs, "out_specs": out_specs}
        return jax.jit(jax.shard_map(function, **specs, check_vma=False))

    def _update(self, lessons: Lesson, nets: Nets, corpus: Corpus, first: Any, last: Any) -> Nets:
        """Do updates `first` to `last` in one call, so that the device does not wait for Python."""

        def update(step: Array, nets: Nets) -> Nets:
            return jax.vmap(partial(self._learn, corpus, step))(lessons, nets)

        return jax.lax.fori_loop(first, last, update, nets)

    def _learn(self, corpus: Corpus, step: Array, lesson: Lesson, nets: Nets) -> Nets:
        """Do one update of the nets of one training, which learn from the same batch."""
        keys, key_noise = keys_of_update(lesson.key_updates, step, self.recipe.batch)

        def draw(key: PRNGKeyArray) -> Example:
            key_crop, *_ = jax.random.split(key, 3)
            stretch = corpus.crop(key_crop, self.recipe.length, lesson.corpus)
            informing = self.frozen.frame.spec.informing
            make = partial(make_example, key, *stretch, informing=informing)
            return self._as_taught(lesson, make)

        batch = jax.vmap(draw, out_axes=1)(keys)
        mine = jnp.arange(self.recipe.batch) < lesson.rows
        batch = batch._replace(targets=batch.targets & mine)

        def descend_one(weights: Any, optimiser: Any, rate: Array) -> tuple[Any, Any, Total]:
            def loss(weights: Any) -> tuple[Array, Array]:
                return total_objective(
                    self._net(lesson, weights), batch, self.tuning, key_noise, 0.0
                )

            (nll, steps), gradient = jax.value_and_grad(loss, has_aux=True)(weights)
            gradient = jax.tree.map(lambda g: g / jnp.maximum(steps, 1), gradient)
            return *descend(self.recipe, rate, gradient, weights, optimiser), Total(nll, steps)

        changed = jax.vmap(descend_one)(nets.weights, nets.optimiser, lesson.rates)
        total = jax.tree.map(jnp.add, nets.loss, changed[2])
        return eqx.tree_at(lambda n: (n.weights, n.optimiser, n.loss), nets, (*changed[:2], total))

    def _net(self, lesson: Lesson, weights: PyTree) -> Net:
        net = eqx.combine(weights, self.frozen)
        return keep_token(net, lesson.token) if self.told else net

    def _as_taught(self, lesson: Lesson, make: Callable[..., Example]) -> Example:
        """Return an example with the gaps and the targets of one training."""
        example = make(recipe=self.recipe)
        if not self.recipe.gap:
            return example
        in_gaps = make(recipe=replace(self.recipe, targets="gaps")).targets
        return example._replace(
            unseen=example.unseen & lesson.gaps,
            targets=jnp.where(lesson.only_gaps, in_gaps, example.targets),
        )

    def _validate(self, lessons: Lesson, nets: Nets, step: Any) -> tuple[Nets, Array]:
        """Keep the best nets; return also the mean NLL of a predicted step of each net."""
        return jax.vmap(partial(self._compare, step))(lessons, nets)

    def _compare(
        self, step: Any, lesson: Lesson, nets: Nets
    ) -> tuple[Nets, Float[Array, " rates"]]:
        nll = self._nll(lesson, nets.weights)
        now = jnp.argmin(jnp.where(jnp.isnan(nll), jnp.inf, nll))
        better = nll[now] < nets.best_nll
        best = jax.tree.map(
            lambda new, old: jnp.where(better, new[now], old), nets.weights, nets.best
        )
        found = (
            jnp.where(better, nll[now], nets.best_nll),
            jnp.where(better, step, nets.best_step),
            jnp.where(better, now, nets.best_rate),
        )
        nothing = jax.tree.map(jnp.zeros_like, nets.loss)
        return Nets(nets.weights, nets.optimiser, nothing, best, *found), nll

    def _nll(self, lesson: Lesson, weights: PyTree) -> Float[Array, " rates"]:
        """Return the mean NLL of a predicted step, with the same steps unseen every time."""
        count, rows = len(lesson.chunks.values), _rows(self.recipe)
        keys = jax.random.split(lesson.key_valid, count)
        batches = jax.tree.map(
            lambda a: a.reshape(count // rows, rows, *a.shape[1:]),
            (keys, lesson.chunks.values, lesson.chunks.valid),
        )

        def taught(key: PRNGKeyArray, values: Array, valid: Array) -> Example:
            return self._as_taught(lesson, partial(hide, key, values, valid))

        def add(total: Total, some: Any) -> tuple[Total, None]:
            example = jax.vmap(taught, out_axes=1)(*some)

            def nll(weights: PyTree) -> Total:
                return total_nll(self._net(lesson, weights), example, self.tuning)

            return jax.tree.map(jnp.add, total, jax.vmap(nll)(weights)), None

        rates = len(lesson.rates)
        start = Total(jnp.zeros(rates), jnp.zeros(rates, jnp.int32))
        total, _ = jax.lax.scan(add, start, batches)
        return total.nll / jnp.maximum(total.steps, 1)
