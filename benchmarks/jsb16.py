"""Bach's chorales in four voices at sixteenths: nats a note, as the literature measures them.

    python benchmarks/jsb16.py train past   --data DATA --out past.safetensors   [--minutes 6]
    python benchmarks/jsb16.py train around --data DATA --out around.safetensors [--minutes 6]
    python benchmarks/jsb16.py measure      --data DATA --past FILE --around FILE

DATA is a directory with `music/jsb16_separated.npz` (229 chorales to train on, 76 to validate, 77
to test). `train` trains several nets side by side, prints the NLL of the validation chorales, and
keeps the best of their averaged weights. `measure` averages the nets in probability:

- chronological: every step given all steps before it. The voices of a step follow each other; the
  probability of a step is its mean over all 24 orders, which is exact by a recursion over the 16
  sets of voices.
- orderless: every cell given those before it in a random order of all cells of the chorale. As
  Coconet does, the probability of a cell is its mean over several orders.

A rest is a value like the pitches, and all cells count.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from chorale_nets import (
    VOICES,
    Around,
    Chorales,
    Dropout,
    Past,
    kept,
)
from chorale_protocols import mean_in_probability, measure_chronological, measure_orderless
from chorale_sets import Set, draw, make_set, of_values, read, stretch
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from caesura.hardware import Tuning, tuning_for

NETS = {"past": Past, "around": Around}
AVERAGED = 0.999  # what the average of the weights keeps at each update
COPIES = 4096  # chorales in a batch of `measure`
ORDERS = 5


# ---- the losses: nats a note, as a mean over random orders ----


def past_loss(
    net: Past, key: PRNGKeyArray, chorales: Chorales, tuning: Tuning, dropout: Dropout | None
) -> Float[Array, ""]:
    """Return the NLL of the valid cells: the voices of each step in a random order.

    After each voice of the order, all that are left are predicted; their mean has the same
    expectation as the next one alone, and a smaller variance.
    """
    key_order, key_context, key_head = jax.random.split(key, 3)
    context = net.context(chorales, tuning, key_context, dropout)
    rank = jnp.argsort(jax.random.uniform(key_order, chorales.values.shape), axis=-1)
    keep = kept(key_head, context.shape[1:], dropout)

    @jax.checkpoint
    def after(count: Array) -> Float[Array, "T B"]:
        seen = rank < count
        log_probs = net.predict(context, chorales, seen, tuning, keep)
        nats = jnp.where(seen, 0.0, -of_values(log_probs, chorales.values))
        return nats.sum(-1) / (VOICES - count)

    nats = sum(after(jnp.asarray(count)) for count in range(VOICES)) / VOICES
    return jnp.sum(jnp.where(chorales.valid, nats, 0.0)) / jnp.sum(chorales.valid)


def around_loss(
    net: Around, key: PRNGKeyArray, chorales: Chorales, tuning: Tuning, dropout: Dropout | None
) -> Float[Array, ""]:
    """Return the mean NLL of the hidden cells of each stretch; any number of them is as likely."""
    key_seen, key_net, key_head = jax.random.split(key, 3)
    seen = random_cells(key_seen, chorales.valid)
    context = net.context(chorales, seen, tuning, key_net, dropout)
    keep = kept(key_head, (seen.shape[1], len(net.head.b)), dropout)
    log_probs = net.predict(context, tuning, keep)
    hidden = chorales.valid[..., None] & ~seen
    nats = jnp.where(hidden, -of_values(log_probs, chorales.values), 0.0)
    return jnp.mean(nats.sum((0, 2)) / hidden.sum((0, 2)))


def random_cells(key: PRNGKeyArray, valid: Bool[Array, "T B"]) -> Bool[Array, "T B 4"]:
    """Return a random set of cells of each chorale: any size is as likely, but at least one is
    left out."""
    key_place, key_count = jax.random.split(key)
    T, B = valid.shape
    place = jax.random.uniform(key_place, (T, B, VOICES))
    place = jnp.where(valid[..., None], place, 2.0)
    order = jnp.argsort(place.transpose(1, 0, 2).reshape(B, -1), axis=-1)
    rank = jnp.argsort(order, axis=-1).reshape(B, T, VOICES).transpose(1, 0, 2)
    count = jax.random.randint(key_count, (B,), 0, VOICES * valid.sum(0))
    return (rank < count[:, None]) & valid[..., None]


LOSSES: dict[str, Any] = {"past": past_loss, "around": around_loss}


# ---- training ----


class Member(NamedTuple):
    """One of the nets that are trained side by side."""

    weights: Any
    optimiser: optax.OptState
    averaged: Any
    loss: Float[Array, ""]


class Trainer:
    """The two compiled functions of a training."""

    def __init__(self, asked: argparse.Namespace, train: Set, valid: Set):
        self.asked = asked
        self.train, self.valid = jax.device_put((train, valid))
        self.loss = LOSSES[asked.net]
        self.tuning = tuning_for("auto")._replace(unroll=2)
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.scale_by_adam(b2=0.99),
            optax.add_decayed_weights(asked.weight_decay, mask=partial(jax.tree.map, _decays)),
        )
        make = partial(build, asked.net, asked.hidden, asked.layers, asked.head_hidden)
        self.frozen = eqx.filter(make(jax.random.key(0)), eqx.is_inexact_array, inverse=True)
        self.make = lambda key: eqx.filter(make(key), eqx.is_inexact_array)
        self.update = jax.jit(self._update, donate_argnums=0)
        self.validate = jax.jit(self._validate)

    def begin(self) -> Member:
        """Return the nets before the first update."""
        keys = jax.random.split(jax.random.key(self.asked.seed), self.asked.members)
        weights = jax.vmap(self.make)(keys)
        return Member(
            weights,
            jax.vmap(self.optimiser.init)(weights),
            jax.tree.map(jnp.copy, weights),
            jnp.zeros(self.asked.members),
        )

    def _update(
        self, members: Member, train: Set, key: PRNGKeyArray, first: Array, rate: Array
    ) -> Member:
        """Make `--chunk` updates in one call."""
        asked = self.asked
        shares = jnp.linspace(*asked.dropout, asked.members)

        def loss(weights: Any, key: PRNGKeyArray, share: Array) -> Array:
            key_draw, key_loss = jax.random.split(key)
            chorales = draw(key_draw, train, asked.batch, asked.length)
            net = eqx.combine(weights, self.frozen)
            dropout = Dropout(share, share * asked.weight_dropout, share * asked.input_dropout)
            return self.loss(net, key_loss, chorales, self.tuning, dropout)

        def one(member: Member, key: PRNGKeyArray, share: Array, step: Array) -> Member:
            nats, gradient = jax.value_and_grad(loss)(member.weights, key, share)
            change, state = self.optimiser.update(gradient, member.optimiser, member.weights)
            weights = jax.tree.map(lambda w, d: w - rate * d, member.weights, change)
            keep = jnp.minimum(AVERAGED, (1 + step) / (10 + step))
            averaged = jax.tree.map(
                lambda a, w: keep * a + (1 - keep) * w, member.averaged, weights
            )
            return Member(weights, state, averaged, 0.9 * member.loss + 0.1 * nats)

        def step(members: Member, step: Array) -> tuple[Member, None]:
            keys = jax.random.split(jax.random.fold_in(key, step), asked.members)
            return jax.vmap(partial(one, step=step))(members, keys, shares), None

        return jax.lax.scan(step, members, first + jnp.arange(asked.chunk))[0]

    def _validate(self, averaged: Any, valid: Set) -> Float[Array, " members"]:
        """Return the nats a note of the validation chorales, always with the same orders."""
        count = len(valid.lengths)
        piece = jnp.arange(count)
        chorales = stretch(valid, piece, jnp.zeros_like(piece), valid.values.shape[1])
        key = jax.random.key(1)

        def nll(weights: Any) -> Float[Array, ""]:
            net = eqx.combine(weights, self.frozen)
            keys = jax.random.split(key, 1 if self.asked.net == "past" else 8)
            evaluate = partial(self.loss, net, tuning=self.tuning, dropout=None)
            return jnp.mean(jax.lax.map(lambda k: evaluate(k, chorales), keys))

        return jax.lax.map(nll, averaged)


def _decays(weight: Array) -> bool:
    return weight.ndim > 1


def build(name: str, hidden: int, layers: int, head_hidden: int, key: PRNGKeyArray) -> Any:
    return NETS[name](key, hidden, layers, head_hidden)


def train(asked: argparse.Namespace) -> None:
    bank = read(asked.data, "train")
    trainer = Trainer(asked, make_set(bank, bank), make_set(read(asked.data, "valid"), bank))
    members, key = trainer.begin(), jax.random.key(asked.seed + 1)
    best = np.full(asked.members, np.inf)
    kept_weights = jax.tree.map(np.asarray, members.averaged)
    began, step, printed = time.monotonic(), 0, 0.0
    share = 0.0
    while share < 1:
        rate = asked.rate * min(1.0, (step + 1) / 200) * (0.5 + 0.5 * np.cos(np.pi * share))
        members = trainer.update(members, trainer.train, key, step, jnp.float32(rate))
        loss = np.asarray(members.loss)  # waits for the device
        step += asked.chunk
        seconds = time.monotonic() - began
        share = seconds / (60 * asked.minutes) if asked.minutes else step / asked.updates
        if seconds - printed > asked.validate_every or share >= 1:
            nll = np.asarray(trainer.validate(members.averaged, trainer.valid))
            now = jax.tree.map(np.asarray, members.averaged)
            better = nll < best
            best = np.minimum(best, nll)
            kept_weights = jax.tree.map(partial(_replace, better), kept_weights, now)
            save(asked, kept_weights, best)
            printed = time.monotonic() - began
            print(
                f"{printed:6.0f} s  update {step:6}  train {loss.round(4)}  valid {nll.round(4)}"
                f"  best {best.round(4)}",
                flush=True,
            )


def _replace(better: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.where(better.reshape(-1, *[1] * (old.ndim - 1)), new, old)


def save(asked: argparse.Namespace, weights: Any, best: np.ndarray) -> None:
    shape = {"net": asked.net, "hidden": asked.hidden, "layers": asked.layers}
    shape |= {"head_hidden": asked.head_hidden, "valid": best.tolist()}
    leaves = {f"{i:03}": np.ascontiguousarray(a) for i, a in enumerate(jax.tree.leaves(weights))}
    save_file(leaves, asked.out, {"shape": json.dumps(shape)})


def restore(path: Path, count: int) -> Any:
    """Return the best nets of a file, side by side in the first axis of every array."""
    with safe_open(path, "numpy") as file:
        shape = json.loads(file.metadata()["shape"])
    chosen = np.argsort(shape["valid"])[:count]
    make = partial(build, shape["net"], shape["hidden"], shape["layers"], shape["head_hidden"])
    leaves, structure = jax.tree.flatten(eqx.filter_eval_shape(make, jax.random.key(0)))
    arrays = load_file(path)
    best = [arrays[name][chosen] for name in sorted(arrays)]
    if [(len(chosen), *leaf.shape) for leaf in leaves] != [a.shape for a in best]:
        raise SystemExit(f"The file '{path}' does not hold the weights that it describes.")
    return jax.tree.unflatten(structure, [jnp.asarray(a) for a in best])


def measure(asked: argparse.Namespace) -> None:
    # Batches are large: to unroll the loops would only take long to compile.
    tuning = tuning_for("auto")._replace(unroll=1)
    pieces, splits = [], []
    for split in ("valid", "test"):
        of_split = read(asked.data, split)[: asked.pieces]
        pieces += of_split
        splits += [split] * len(of_split)
    # Both together, since every shape is compiled.
    chosen = make_set(pieces, read(asked.data, "train"))
    print("| protocol | valid | test | seconds |\n|---|---:|---:|---:|")
    if asked.past:
        began = time.monotonic()
        nets = restore(asked.past, asked.best)
        nats = measure_chronological(nets, chosen, tuning, tuple(asked.shifts))
        show("chronological", [n / VOICES for n in nats], splits, began)
    if asked.around:
        began, nets = time.monotonic(), restore(asked.around, asked.best)
        how = ORDERS, asked.seed, asked.copies, tuple(asked.shifts)
        nats = measure_orderless(nets, chosen, tuning, *how)
        show("orderless, one order", nats, splits, began)
        show(f"orderless, mean of {ORDERS}", list(map(mean_in_probability, nats)), splits, began)


def show(name: str, nats: list[np.ndarray], splits: list[str], began: float) -> None:
    """Print the mean over all notes of a split."""
    means = [
        np.concatenate(
            [n.flatten() for n, s in zip(nats, splits, strict=True) if s == split]
        ).mean()
        for split in ("valid", "test")
    ]
    numbers = " | ".join(f"{mean:.4f}" for mean in means)
    print(f"| {name} | {numbers} | {time.monotonic() - began:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("train")
    one.add_argument("net", choices=NETS)
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--minutes", type=float, default=0.0, help="how long; the rate falls with it")
    one.add_argument("--updates", type=int, default=20000, help="how many, without --minutes")
    one.add_argument("--members", type=int, default=4)
    one.add_argument("--hidden", type=int, default=384)
    one.add_argument("--layers", type=int, default=2)
    one.add_argument("--head-hidden", type=int, default=512)
    one.add_argument("--batch", type=int, default=64)
    one.add_argument("--length", type=int, default=256)
    one.add_argument("--rate", type=float, default=2e-3)
    one.add_argument("--weight-decay", type=float, default=0.02)
    one.add_argument("--dropout", type=float, nargs=2, default=[0.2, 0.5], help="from, to: shares")
    one.add_argument("--weight-dropout", type=float, default=0.5, help="a factor of --dropout")
    one.add_argument("--input-dropout", type=float, default=0.25, help="a factor of --dropout")
    one.add_argument("--chunk", type=int, default=20, help="updates in one call")
    one.add_argument("--validate-every", type=float, default=15.0, help="seconds")
    one.add_argument("--seed", type=int, default=0)
    one.set_defaults(run=train)
    two = commands.add_parser("measure")
    two.add_argument("--data", type=Path, required=True)
    two.add_argument("--past", type=Path)
    two.add_argument("--around", type=Path)
    two.add_argument("--pieces", type=int, help="only the first ones of each set")
    two.add_argument("--best", type=int, default=4, help="nets, by their NLL on validation")
    two.add_argument("--shifts", type=int, nargs="+", default=[0], help="keys to average over")
    two.add_argument("--copies", type=int, default=COPIES)
    two.add_argument("--seed", type=int, default=0)
    two.set_defaults(run=measure)
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
