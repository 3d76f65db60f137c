"""What the strategies cost on this machine, each against the plain way, in one run.

    python benchmarks/strategies.py           the paper's sizes, some minutes
    python benchmarks/strategies.py --quick   a small net and no claims: does it still run?

Every row compares two things that were timed in turn, several times each; the ratio of the medians
is what counts, since clocks differ from machine to machine and from minute to minute.
"""

import argparse
import itertools
import os
import platform
import statistics
import time
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from caesura.nets.frames import Categorical
from caesura.nets.heads.base import Query
from caesura.nets.rnn import Net, bidirectional, unidirectional
from caesura.sequence import Sequence
from caesura.strategies import Estimate, Place, Strategy, Window, around_gaps
from caesura.strategies.bayes import Bayes
from caesura.strategies.cursor import enter
from caesura.strategies.gsn import GSN
from caesura.strategies.nade import NADE

SYMBOLS = 96
KEY = jax.random.key(0)


def text(length: int) -> Sequence:
    values = np.random.default_rng(0).integers(0, SYMBOLS, (length, 1)).astype(np.int32)
    return Sequence(values, np.zeros_like(values, bool))


def window(net: Net, length: int, gap: int) -> Window:
    """One gap in the middle of a text."""
    start = length // 2
    return around_gaps(net, [text(length)], [Place(0, start, start + gap, start + gap)])


def log_prob(strategy: Strategy, net: Net, window: Window) -> Estimate:
    return strategy.log_prob(KEY, net, window, window.values[:, None])


def seconds(*runs: Callable[[], object], repeats: int) -> list[float]:
    """The median time of each, run in turn so that a slow moment hits all of them."""
    for run in runs:
        jax.block_until_ready(run())  # compiles
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, took in zip(runs, times, strict=True):
            began = time.perf_counter()
            jax.block_until_ready(run())
            took.append(time.perf_counter() - began)
    return [statistics.median(took) for took in times]


# The plain ways: correct, compiled and batched, but the whole sequence again each time.


@eqx.filter_jit
def all_orders(net: Net, values: Array, start: int, gap: int) -> Array:
    """The `nade` score with all g! orders written out, a pass over the sequence for each step."""

    def one_order(order: Array) -> Array:
        def fill(unknown: Array, t: Array) -> tuple[Array, Array]:
            states = net.states(net.inputs(values, unknown), jnp.ones(len(values), bool))
            context = net.contexts(states)[t]
            return unknown.at[t].set(False), net.head.log_prob(
                Query(context, values[t], unknown[t])
            )

        unknown = jnp.zeros(values.shape, bool).at[start : start + gap].set(True)
        return jax.lax.scan(fill, unknown, order)[1].sum()

    orders = start + np.array(list(itertools.permutations(range(gap))))
    log_probs = jax.vmap(one_order)(jnp.asarray(orders))
    return jax.nn.logsumexp(log_probs) - jnp.log(len(orders))


@eqx.filter_jit
def rerun_gibbs_step(net: Net, values: Array, t: int, chains: int) -> Array:
    """One Gibbs step of `gsn` for all chains, by running the net over the sequence again."""

    def chain(key: Array, values: Array) -> Array:
        nothing = jnp.zeros(values.shape, bool)
        states = net.states(net.inputs(values, nothing), jnp.ones(len(values), bool))
        missing = jnp.ones(1, bool)
        return net.head.sample(key, Query(net.contexts(states)[t], values[t], missing))

    copies = jnp.repeat(values[None], chains, axis=0)
    return jax.vmap(chain)(jax.random.split(KEY, chains), copies)


@eqx.filter_jit
def forward_log_prob(net: Net, values: Array) -> Array:
    """log P of a sequence by the forward net."""
    nothing = jnp.zeros(values.shape, bool)
    contexts = net.contexts(net.states(net.inputs(values, nothing), jnp.ones(len(values), bool)))
    return jax.vmap(net.head.log_prob)(Query(contexts, values, ~nothing)).sum()


def loop_over_proposals(net: Net, values: np.ndarray, t: int) -> list[Array]:
    """The full conditional of x_t by Bayes' theorem, one symbol after the other."""
    scores = []
    for symbol in range(SYMBOLS):
        proposal = values.copy()
        proposal[t] = symbol
        scores.append(forward_log_prob(net, jnp.asarray(proposal)))
    return scores


def bench_nade(hidden: int, repeats: int) -> None:
    net = bidirectional(KEY, Categorical(SYMBOLS), head="softmax", hidden=hidden)
    length, gap = 100, 5
    values = jnp.asarray(text(length).values)

    def score(gap: int) -> Callable[[], Estimate]:
        return lambda: log_prob(NADE(exact_up_to=12), net, window(net, length, gap))

    def written_out() -> Array:
        return all_orders(net, values, length // 2, gap)

    np.testing.assert_allclose(score(gap)().log_prob[0, 0], written_out(), rtol=1e-4)
    ours, plain = seconds(score(gap), written_out, repeats=repeats)
    name = f"exact `nade` score, g=5, T={length}, context included"
    row(name, ours, "120 orders × 5 passes", plain)
    five, ten, twelve = seconds(score(5), score(10), score(12), repeats=repeats)
    row("exact `nade` score, g=5", five, "g=10 (3.6 million orders)", ten)
    row("exact `nade` score, g=5", five, "g=12 (479 million orders)", twelve)


def bench_gsn(hidden: int, repeats: int, chains: int) -> None:
    net = bidirectional(KEY, Categorical(SYMBOLS), head="softmax", hidden=hidden)
    steps = 50
    gsn = GSN(steps=steps, chains=chains)
    short, long = window(net, 100, 5), window(net, 1000, 5)
    values = jnp.asarray(text(1000).values)

    def at(window: Window) -> Callable[[], object]:
        return lambda: log_prob(gsn, net, window)

    # One program serves both, so any difference between them is the machine's.
    at_100, at_1000 = seconds(at(short), at(long), repeats=3 * repeats)
    again, plain = seconds(
        at(long), lambda: rerun_gibbs_step(net, values, 502, chains), repeats=repeats
    )
    name = f"`gsn` step, g=5, {chains} chains"
    row(f"{name}, T=1000", at_1000 / steps, "the same at T=100", at_100 / steps)
    row(f"{name}, T=1000", again / steps, "the net over the whole sequence", plain)


def bench_bayes(hidden: int, repeats: int) -> None:
    net = unidirectional(KEY, Categorical(SYMBOLS), head="softmax", hidden=hidden)
    length, gap = 100, 5
    sequence = text(length)
    t = length // 2
    lane = around_gaps(net, [sequence], [Place(0, t, t + gap, Bayes().stop(t + gap, length))])
    cursor = enter(net, lane, lane.values, jnp.zeros_like(lane.missing))
    conditional = eqx.filter_jit(
        lambda net, lane, cursor: Bayes().conditional(net, lane).look(cursor)
    )

    def at_once() -> Array:
        return conditional(net, lane, cursor)

    def in_turn() -> list[Array]:
        return loop_over_proposals(net, sequence.values, t)

    same = [jax.nn.log_softmax(a) for a in (at_once()[0], jnp.stack(in_turn()))]
    np.testing.assert_allclose(*same, atol=1e-2)
    ours, plain = seconds(at_once, in_turn, repeats=repeats)
    name = f"`bayes` full conditional, T={length}, t={t}, to the end"
    row(name, ours, f"a loop over {SYMBOLS} proposals", plain)


def row(name: str, ours: float, other: str, took: float) -> None:
    print(f"| {name} | {show(ours)} | {other} | {show(took)} | {took / ours:.2f} |", flush=True)


def show(took: float) -> str:
    return f"{took:.2f} s" if took >= 1 else f"{took * 1e3:.3g} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small net, once")
    quick = parser.parse_args().quick
    hidden, forward, repeats, chains = (32, 32, 1, 4) if quick else (684, 1000, 7, 100)
    print(
        f"{SYMBOLS} symbols, tanh cells, c={hidden} each way (forward net: {forward}); "
        f"median of {repeats}; {os.cpu_count()} × {platform.machine()}, JAX {jax.__version__} "
        f"on {jax.default_backend()}\n"
    )
    print("| what | time | against | time | ratio |\n|---|---|---|---|---|")
    bench_nade(hidden, repeats)
    bench_gsn(hidden, repeats, chains)
    bench_bayes(forward, repeats)


if __name__ == "__main__":
    main()
