"""Gradient descent on random stretches of sequences; it knows nothing of kinds or files.

Everything random at an update depends only on the seed and the update's number, so a resumed run
ends with the same weights, bit for bit, as one that was not interrupted.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, Shaped

from caesura.errors import CaesuraError
from caesura.hardware import sharing, tuning_for
from caesura.nets.rnn import Net
from caesura.training import processes
from caesura.training.batches import (
    Chunks,
    Corpus,
    Example,
    Stretches,
    draw_example,
    hide,
    keys_of_update,
    make_example,
)
from caesura.training.corpus import feed
from caesura.training.corpus.stored import Stored
from caesura.training.objectives import Total, total_nll, total_objective
from caesura.training.optimiser import descend, make_optimiser
from caesura.training.recipe import Recipe

SECONDS_A_CALL = 1.0  # of updates on the device, before Python checks signals and the clock
MOST_SKIPPED = 50  # updates in a row whose gradient is not finite
EVERYWHERE = jax.sharding.PartitionSpec()
DEVICES = ("rows", "ways")  # the axes of the mesh; see `Tuning.ways`
ROWS = jax.sharding.PartitionSpec(None, DEVICES)  # of `Stretches`: each device has some


class Member(eqx.Module):
    """A net in training; with several learning rates there are several, side by side."""

    weights: PyTree[Float[Array, "..."]]
    optimiser: optax.OptState
    loss: Total  # since the last validation
    best: PyTree[Float[Array, "..."]]
    best_nll: Float[Array, "*members"]
    best_step: Int[Array, "*members"]


class State(NamedTuple):
    """The state of a training: everything needed to resume it."""

    members: Member  # the first axis is that of the learning rates
    step: int
    history: list[dict[str, Any]]  # at each validation: step, and loss and NLL of each rate
    seconds: float


class Progress(NamedTuple):
    """The progress of a training; with several learning rates, of the best one."""

    step: int
    steps: int
    loss: float
    validation: float | None
    steps_a_second: float  # steps of sequences, not updates
    seconds_left: float
    skipped: int  # updates whose gradient was not finite


class Trained(NamedTuple):
    """The best net on validation, and how it was trained."""

    net: Net
    nll: float
    step: int
    learning_rate: float
    history: list[dict[str, Any]]
    skipped: int
    seconds: float


class Stopped(Exception):  # noqa: N818 - it is no error
    """The training was asked to stop, and has saved its state."""


class Data(NamedTuple):
    """Complete sequences to learn from and to validate on; those in a `Stored` stay on disk."""

    train: Sequence[Shaped[np.ndarray, "_ D"]]
    valid: Sequence[Shaped[np.ndarray, "_ D"]]


def fit(
    key: PRNGKeyArray,
    net: Net,
    data: Data,
    recipe: Recipe,
    *,
    state: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    save_every: float = 60.0,
    report: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> Trained:
    """Train the net by the recipe, from the beginning or from a saved state.

    The state is saved at every validation and every `save_every` seconds. If several processes
    train together, each calls this with the same arguments and returns the same net.
    """
    program = Program(net, recipe)
    state = state or begin(net, recipe)
    members, chunks = program.everywhere((state.members, Chunks(data.valid, recipe)))
    step, history = state.step, list(state.history)
    key_updates, key_valid = jax.random.split(key)
    source = program.source(key_updates, data.train)
    began, saved, pace, stuck = time.monotonic() - state.seconds, time.monotonic(), 1, False
    while step < recipe.steps and not stuck and not _given_up(history, recipe):
        goal = min(recipe.steps, (step // recipe.validate_every + 1) * recipe.validate_every)
        last = min(goal, step + pace, source.end(step))
        started = time.monotonic()
        members = program.update(key_updates, members, source.at(step), step, last)
        jax.block_until_ready(members)
        took, count, step = time.monotonic() - started, last - step, last
        # The first call compiles; later ones show how many updates take a second.
        pace = max(1, min(int(count * SECONDS_A_CALL / took), 4 * pace))
        stuck, skipped = _stuck(members), np.asarray(members.optimiser.total_notfinite)
        loss = np.asarray(members.loss.nll) / np.maximum(np.asarray(members.loss.steps), 1)
        if step == goal:
            members, nll = program.validate(key_valid, members, chunks, step)
            history.append({"step": step, "loss": loss.tolist(), "nll": nll.tolist()})
        # A signal may reach only one process, and clocks differ.
        late = time.monotonic() - saved > save_every
        pace, asked, due = processes.largest(pace, stop(), late)
        if step == goal or asked or due:
            save(State(members, step, history, time.monotonic() - began))
            saved = time.monotonic()
        best = int(np.argmin(np.asarray(members.best_nll)))
        report(
            Progress(
                step=step,
                steps=recipe.steps,
                loss=float(loss[best]),
                validation=history[-1]["nll"][best] if step == goal else None,
                steps_a_second=count * recipe.batch * recipe.length * len(loss) / took,
                seconds_left=(recipe.steps - step) * took / count,
                skipped=int(skipped[best]),
            )
        )
        if asked and step < recipe.steps:
            raise Stopped
    best = int(np.argmin(np.asarray(members.best_nll)))
    winner = jax.tree.map(lambda a: jnp.asarray(np.asarray(a)[best]), members)
    return Trained(
        net=eqx.combine(winner.best, program.frozen),
        nll=float(winner.best_nll),
        step=int(winner.best_step),
        learning_rate=recipe.learning_rate[best],
        history=history,
        skipped=int(winner.optimiser.total_notfinite),
        seconds=time.monotonic() - began,
    )


def begin(net: Net, recipe: Recipe) -> State:
    """Return the state before the first update."""
    weights = eqx.filter(net, eqx.is_inexact_array)
    nothing = Total(jnp.zeros(()), jnp.zeros((), jnp.int32))
    optimiser = make_optimiser(recipe).init(weights)
    never = jnp.full((), jnp.inf, jnp.float32), jnp.zeros((), jnp.int32)
    member = Member(weights, optimiser, nothing, weights, *never)
    copies = len(recipe.learning_rate)
    return State(jax.tree.map(lambda a: jnp.stack([a] * copies), member), 0, [], 0.0)


def _given_up(history: list[dict[str, Any]], recipe: Recipe) -> bool:
    """Return whether no learning rate has improved for `patience` validations."""
    if not recipe.patience or not history:
        return False
    best = np.argmin([[np.nan_to_num(n, nan=np.inf) for n in h["nll"]] for h in history], axis=0)
    return bool(np.all(len(history) - 1 - best >= recipe.patience))


def _stuck(members: Member) -> bool:
    """Return whether all updates are skipped; raise an error if no net was validated before."""
    if np.any(np.asarray(members.optimiser.notfinite_count) < MOST_SKIPPED):
        return False
    if not np.any(np.isfinite(np.asarray(members.best_nll))):
        raise CaesuraError(
            f"The gradient was not finite in {MOST_SKIPPED} updates in a row: try a smaller "
            "learning_rate, or a smaller clip."
        )
    return True


class Source(NamedTuple):
    """Gives the data of an update, and the first later update that needs other data."""

    at: Callable[[int], Corpus | Stretches]
    end: Callable[[int], int]


class Program:
    """The two compiled functions of a training, on all devices that share a batch."""

    def __init__(self, net: Net, recipe: Recipe):
        self.frozen = eqx.filter(net, eqx.is_inexact_array, inverse=True)
        self.recipe = recipe
        devices, self.tuning = sharing(recipe.batch), tuning_for(recipe.precision)
        in_pairs = jax.default_backend() == "cpu" and len(devices) // jax.process_count() % 2 == 0
        if in_pairs:
            self.tuning = self.tuning._replace(ways="ways")
        shape = (len(devices) // 2, 2) if in_pairs else (len(devices), 1)
        self.mesh = jax.make_mesh(shape, DEVICES, devices=devices)
        self.update = self._compile(self._update)
        self.validate = self._compile(self._validate)

    def everywhere(self, tree: PyTree) -> PyTree:
        """Copy the arrays to all devices, as the compiled functions expect."""
        return jax.device_put(tree, jax.sharding.NamedSharding(self.mesh, EVERYWHERE))

    def source(self, key: PRNGKeyArray, pieces: Sequence[Shaped[np.ndarray, "_ D"]]) -> Source:
        """Return where updates get their stretches from: every device, or the disk."""
        if isinstance(pieces, Stored):
            rows = jax.sharding.NamedSharding(self.mesh, ROWS)
            blocks = feed.Feed(key, pieces, self.recipe, rows)
            return Source(blocks.block, lambda step: (step // feed.UPDATES + 1) * feed.UPDATES)
        corpus = self.everywhere(Corpus(pieces))
        return Source(lambda step: corpus, lambda step: self.recipe.steps)

    def _compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Compile a function that each device runs on its rows of a batch."""

        def sharded(*arguments: Any) -> Any:
            specs = tuple(ROWS if isinstance(a, Stretches) else EVERYWHERE for a in arguments)
            run = jax.shard_map(
                function, mesh=self.mesh, in_specs=specs, out_specs=EVERYWHERE, check_vma=False
            )
            return run(*arguments)

        return jax.jit(sharded)

    def _update(
        self,
        key: PRNGKeyArray,
        members: Member,
        source: Corpus | Stretches,
        first: Array,
        last: Array,
    ) -> Member:
        """Do updates `first` to `last` in one call, so that the device does not wait for Python."""
        rates = jnp.asarray(self.recipe.learning_rate)
        informing = self.frozen.frame.spec.informing

        def update(step: Array, members: Member) -> Member:
            keys, key_noise = keys_of_update(key, step, self.recipe.batch)
            keys = self._my_rows(keys)
            key_noise = jax.random.fold_in(key_noise, jax.lax.axis_index(DEVICES))
            if isinstance(source, Corpus):
                draw = partial(draw_example, corpus=source, recipe=self.recipe, informing=informing)
                batch = jax.vmap(draw, out_axes=1)(keys)
            else:
                make = partial(make_example, recipe=self.recipe, informing=informing)
                place = step % len(source.values)
                read = source.values[place], source.valid[place]
                batch = jax.vmap(make, out_axes=1)(keys, *read)
            return _each(partial(self._step, batch=batch, key=key_noise), members, rates)

        return jax.lax.fori_loop(first, last, update, members)

    def _step(self, member: Member, rate: Array, batch: Example, key: PRNGKeyArray) -> Member:
        def loss(weights: Any) -> tuple[Array, Array]:
            net = eqx.combine(weights, self.frozen)
            return total_objective(net, batch, self.tuning, key, self.recipe.dropout)

        (nll, steps), gradient = jax.value_and_grad(loss, has_aux=True)(member.weights)
        nll, steps, gradient = jax.lax.psum((nll, steps, gradient), DEVICES)
        gradient = jax.tree.map(lambda g: g / jnp.maximum(steps, 1), gradient)
        weights, state = descend(self.recipe, rate, gradient, member.weights, member.optimiser)
        total = Total(member.loss.nll + nll, member.loss.steps + steps)
        return eqx.tree_at(
            lambda m: (m.weights, m.optimiser, m.loss), member, (weights, state, total)
        )

    def _validate(
        self, key: PRNGKeyArray, members: Member, chunks: Chunks, step: Array
    ) -> tuple[Member, Float[Array, " members"]]:
        """Return the mean NLL of a predicted step, with the same steps unseen every time."""
        rows, batch = len(chunks.values), self.recipe.batch
        keys = jax.random.split(key, rows)
        batches = jax.tree.map(
            lambda a: a.reshape(rows // batch, batch, *a.shape[1:]),
            (keys, chunks.values, chunks.valid),
        )

        def nll(member: Member) -> Float[Array, ""]:
            net = eqx.combine(member.weights, self.frozen)

            def add(total: Total, some: Any) -> tuple[Total, None]:
                mine = jax.tree.map(self._my_rows, some)
                example = jax.vmap(partial(hide, recipe=self.recipe), out_axes=1)(*mine)
                more = total_nll(net, example, self.tuning)
                return Total(total.nll + more.nll, total.steps + more.steps), None

            start = Total(jnp.zeros(()), jnp.zeros((), jnp.int32))
            total = jax.lax.psum(jax.lax.scan(add, start, batches)[0], DEVICES)
            return total.nll / jnp.maximum(total.steps, 1)

        def compare(member: Member) -> tuple[Member, Array]:
            now = nll(member)
            better = now < member.best_nll
            best = jax.tree.map(partial(jnp.where, better), member.weights, member.best)
            found = (
                jnp.where(better, now, member.best_nll),
                jnp.where(better, step, member.best_step),
            )
            nothing = jax.tree.map(jnp.zeros_like, member.loss)
            return Member(member.weights, member.optimiser, nothing, best, *found), now

        return _each(compare, members)

    def _my_rows(self, array: Shaped[Array, "batch ..."]) -> Shaped[Array, "rows ..."]:
        rows = len(array) // self.mesh.size
        return jax.lax.dynamic_slice_in_dim(array, jax.lax.axis_index(DEVICES) * rows, rows)


def _each(function: Callable[..., Any], *members: Any) -> Any:
    """Apply the function to every member; a single one without the axis, which is faster."""
    if len(jax.tree.leaves(members)[0]) > 1:
        return jax.vmap(function)(*members)
    alone = function(*jax.tree.map(lambda a: a[0], members))
    return jax.tree.map(lambda a: a[None], alone)
