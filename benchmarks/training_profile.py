"""Where the time of an update of an LSTM goes on a CPU: products, elementwise operations, the rest.

    taskset -c 0 python benchmarks/training_profile.py --hidden 256 512

Everything runs on one core with half of a batch of 40, as each of two devices does in training.
"Products" are those of an update, in their shapes and numbers: by XLA in a loop like that of
training, by PyTorch (`torch.mm`) and by NumPy (OpenBLAS). PyTorch's own update has the whole batch
on the same core, and is divided by two. "Memory" is what an update gains if a call makes updates
for two seconds and not for half a second: memory is slow when a call uses it for the first time.
All take turns. A figure is the best of some rounds, since other programs can only make it worse.
Needs the extra `bench`.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from training import SYMBOLS, our_updates, torch_update

from caesura.nets.cells import LSTM, LSTMState

LENGTH, BATCH = 100, 40
HALF = BATCH // 2
ROUNDS = 5


class Product(NamedTuple):
    """Some products of an m × k and a k × n matrix, the first of which may be transposed."""

    name: str
    count: int
    m: int
    k: int
    n: int
    transposed: bool = False

    @property
    def gflop(self) -> float:
        return 2e-9 * self.count * self.m * self.k * self.n


def products(c: int) -> list[Product]:
    """Return the products of an update of a bidirectional LSTM; the first layer needs no more."""
    steps, inputs = LENGTH * HALF, SYMBOLS + 2  # a missing-value token, and 1 for the bias
    return [
        Product("W_h h, at each step", 2 * LENGTH, HALF, c, 4 * c),
        Product("back through W_h, at each step", 2 * LENGTH, HALF, 4 * c, c),
        Product("gradient of W_h and W_x", 2, c + inputs, steps, 4 * c, transposed=True),
        Product("W_x x", 2, steps, inputs, 4 * c),
        Product("head", 1, steps, 2 * c, SYMBOLS),
        Product("back through the head", 1, steps, SYMBOLS, 2 * c),
        Product("gradient of the head", 1, 2 * c, steps, SYMBOLS, transposed=True),
    ]


def operands(product: Product) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    shape = (product.k, product.m) if product.transposed else (product.m, product.k)
    first, second = (rng.standard_normal(s, np.float32) for s in (shape, (product.k, product.n)))
    return first, second


def by_xla(product: Product) -> Callable[[], None]:
    a, b = map(jnp.asarray, operands(product))

    @jax.jit
    def run(a: jax.Array, b: jax.Array) -> jax.Array:
        def step(_: int, a: jax.Array) -> jax.Array:
            found = jax.lax.optimization_barrier((a.T if product.transposed else a) @ b)
            return a.at[0, 0].set(found[0, 0])  # so that the next product must wait for this one

        return jax.lax.fori_loop(0, product.count, step, a)

    return lambda: jax.block_until_ready(run(a, b))


def by_torch(product: Product) -> Callable[[], None]:
    a, b = map(torch.from_numpy, operands(product))
    a, out = a.T if product.transposed else a, torch.empty(product.m, product.n)

    def run() -> None:
        for _ in range(product.count):
            torch.mm(a, b, out=out)

    return run


def by_numpy(product: Product) -> Callable[[], None]:
    a, b = operands(product)
    a, out = a.T if product.transposed else a, np.empty((product.m, product.n), np.float32)

    def run() -> None:
        for _ in range(product.count):
            np.matmul(a, b, out=out)

    return run


def elementwise(c: int) -> Callable[[], None]:
    """All steps of both directions and their gradients, without the products."""
    cell = LSTM(jax.random.key(0), 1, c, from_frame=True, gated=False)
    u = jax.random.normal(jax.random.key(1), (LENGTH, 2, HALF, 4 * c))
    start = LSTMState(jnp.zeros((2, HALF, c)), jnp.zeros((2, HALF, c)))

    @jax.jit
    @jax.grad
    def run(u: jax.Array) -> jax.Array:
        def step(state: LSTMState, u_t: jax.Array) -> tuple[LSTMState, jax.Array]:
            a_t = jnp.concatenate([state.h] * 4, axis=-1)  # in place of W_h h
            m_t = jnp.zeros((2, HALF))
            new = jax.vmap(jax.vmap(cell.finish))(state, a_t, u_t, m_t)
            return new, new.h

        return jnp.sum(jax.lax.scan(step, start, u)[1])

    return lambda: jax.block_until_ready(run(u))


def clock(run: Callable[[], None]) -> Callable[[], float]:
    """Return a function that measures another one, which is called once before."""
    run()

    def seconds() -> float:
        began = time.perf_counter()
        run()
        return time.perf_counter() - began

    return seconds


def profile(c: int) -> None:
    each = products(c)
    runs: dict[tuple[str, str], Callable[[], float]] = {
        ("ours", ""): our_updates("lstm", c, LENGTH, HALF, "float32"),
        ("many", ""): our_updates("lstm", c, LENGTH, HALF, "float32", call=2.0),
        ("theirs", ""): torch_update("lstm", c, LENGTH, BATCH, "float32"),
        ("elementwise", ""): clock(elementwise(c)),
    }
    for name, by in {"xla": by_xla, "torch": by_torch, "numpy": by_numpy}.items():
        runs |= {(name, product.name): clock(by(product)) for product in each}
    times = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        times = {key: min(times[key], run()) for key, run in runs.items()}
    ours, theirs, rest = times["ours", ""], times["theirs", ""] / 2, times["elementwise", ""]

    def row(name: str, gflop: float, *seconds: float | None) -> None:
        cells = ("" if s is None else f"{s * 1e3:.1f} ms" for s in seconds)
        print(f"| {name} | {f'{gflop:.1f}' if gflop else ''} | " + " | ".join(cells) + " |")

    print(f"\n| {c} units | GFLOP | XLA | PyTorch | NumPy |\n|---|---:|---:|---:|---:|")
    for product in each:
        by = (times[name, product.name] for name in ("xla", "torch", "numpy"))
        row(product.name, product.gflop, *by)
    total = {n: sum(times[n, product.name] for product in each) for n in ("xla", "torch", "numpy")}
    gflop = sum(product.gflop for product in each)
    row("**products together**", gflop, *total.values())
    row("elementwise", 0, rest, None, None)
    memory = ours - times["many", ""]
    row("memory, new in each call", 0, memory, None, None)
    row("all else", 0, ours - total["xla"] - rest - memory, theirs - total["torch"], None)
    row("**an update**", 0, ours, theirs, None)
    print(f"\nPyTorch / caesura: {theirs / ours:.2f}")
    speeds = {"XLA's products": total["xla"], "our update": ours, "PyTorch's update": theirs}
    print(
        ", ".join(f"{name} {gflop / took:.0f} GFLOP/s" for name, took in speeds.items()), flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, nargs="+", default=(256, 512))
    if len(os.sched_getaffinity(0)) > 1:
        raise SystemExit("Run it on one core, by `taskset -c 0`.")
    print(f"JAX {jax.__version__}, PyTorch {torch.__version__}; one core, best of {ROUNDS}")
    for c in parser.parse_args().hidden:
        profile(c)


if __name__ == "__main__":
    main()
