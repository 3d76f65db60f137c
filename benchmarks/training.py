"""One update of training, against nn.RNN, nn.GRU and nn.LSTM of PyTorch: the same mathematics.

    python benchmarks/training.py            # CPU: hidden 64 to 1024
    python benchmarks/training.py --cells lstm
    python benchmarks/training.py --nets 9   # nine learning rates in one program
    python benchmarks/training.py --quick    # a smoke test

On a GPU it takes the paper's shape (T=300, batch 40, c=684) and batch 512. Both sides make an
update of a bidirectional net over 96 symbols with a missing-value input: one-hot input, both
directions, softmax from the states around a step, mean NLL, gradient, SGD. PyTorch runs as its
users run it, in a process of its own; we run `caesura`'s own training loop, on batches that it
draws itself, as the command line does. They are timed in turn, and the right column is PyTorch's
time over ours. With `--nets`, a call of ours trains so
many nets with different learning rates, as the paper's grid asks for, and the time is that of one.
Needs the extra `bench`.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import jax
import numpy as np
import torch

from caesura.hardware import keep_memory, use_all_cores

SYMBOLS = 96
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cells", nargs="+", default=("tanh", "gru", "lstm"))
    parser.add_argument("--nets", type=int, default=1, help="in one program of ours")
    arguments = parser.parse_args()
    keep_memory()
    use_all_cores()
    where = f"{os.cpu_count()} × {platform.machine()}, JAX {jax.__version__}"
    print(f"{where} on {jax.default_backend()}, PyTorch {torch.__version__}; median of {ROUNDS}\n")
    print("| cell | hidden | T | batch | precision | PyTorch | caesura | characters/s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    if arguments.quick:
        shapes = [("tanh", 32, 20, 8, "float32")]
    elif jax.default_backend() == "gpu":
        shapes = [
            (cell, 684, 300, batch, precision)
            for cell in arguments.cells
            for batch in (40, 512)
            for precision in ("float32", "bfloat16")
        ]
    else:
        sizes = (64, 128, 256, 512, 684, 1024)
        shapes = [(cell, c, 100, 40, "float32") for cell in arguments.cells for c in sizes]
    for shape in shapes:
        row(*shape, nets=arguments.nets)


def row(cell: str, hidden: int, length: int, batch: int, precision: str, nets: int) -> None:
    times: list[list[float]] = [[], []]
    with elsewhere(torch_update, cell, hidden, length, batch, precision) as their_update:
        sides = their_update, our_updates(cell, hidden, length, batch, precision, nets=nets)
        for _ in range(ROUNDS):
            for side, run in enumerate(sides):
                times[side].append(run())
    theirs, ours = map(statistics.median, times)
    speed = length * batch / ours
    print(
        f"| {cell} | {hidden} | {length} | {batch} | {precision} | {theirs * 1e3:.1f} ms "
        f"| {ours * 1e3:.1f} ms | {speed / 1e6:.2f} M | {theirs / ours:.2f} |",
        flush=True,
    )


@contextmanager
def elsewhere(make: Callable[..., Callable[[], float]], *given: Any) -> Iterator[Any]:
    """Give the function that `make` makes. Another process runs it, without `keep_memory`."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, make, given), daemon=True)
    process.start()

    def run() -> float:
        here.send(True)
        return here.recv()

    yield run
    here.send(False)
    process.join()


def _serve(pipe: Connection, make: Callable[..., Callable[[], float]], given: Any) -> None:
    run = make(*given)
    while pipe.recv():
        pipe.send(run())


def our_updates(
    cell: str,
    hidden: int,
    length: int,
    batch: int,
    precision: str,
    call: float = 0.5,
    nets: int = 1,
) -> Callable[[], float]:
    """Seconds of an update of one net, if a call makes many of them, for `call` seconds."""
    from caesura.nets.frames import Categorical
    from caesura.nets.rnn import bidirectional
    from caesura.training.batches import Corpus
    from caesura.training.loop import Program, begin
    from caesura.training.recipe import choose

    fields = {"cell": cell, "hidden": hidden, "length": length, "batch": batch, "gap": 0}
    fields |= {"precision": precision, "burn_in": 0, "steps": 10**6}
    fields |= {"learning_rate": [0.25 / 2**n for n in range(nets)]}
    recipe = choose("paper-nade", "text", ("alphabet",), fields).recipe
    net = bidirectional(
        jax.random.key(0), Categorical(SYMBOLS), head="softmax", hidden=hidden, cell=cell
    )
    text = np.random.default_rng(0).integers(0, SYMBOLS, (100_000, 1)).astype(np.int8)
    program = Program(net, recipe)
    members, corpus = program.everywhere((begin(net, recipe).members, Corpus([text])))
    count = 1

    def run() -> float:
        nonlocal count
        while True:
            began = time.perf_counter()
            program.update(
                jax.random.key(1), members, corpus, 0, count
            ).loss.nll.block_until_ready()
            took = time.perf_counter() - began
            if took > call or count >= 200:
                return took / count / nets
            count *= 2

    program.update(jax.random.key(1), members, corpus, 0, 1).loss.nll.block_until_ready()
    run()
    return run


def torch_update(
    cell: str, hidden: int, length: int, batch: int, precision: str
) -> Callable[[], float]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True  # as JAX does
    make = {"tanh": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[cell]
    net = make(SYMBOLS + 1, hidden, bidirectional=True).to(device)
    head = torch.nn.Linear(2 * hidden, SYMBOLS).to(device)
    sgd = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=1e-3)
    symbols = torch.randint(0, SYMBOLS, (length, batch), device=device)
    nothing = torch.zeros(1, batch, hidden, device=device)

    def update() -> None:
        sgd.zero_grad()
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            states, _ = net(torch.nn.functional.one_hot(symbols, SYMBOLS + 1).float())
            before = torch.cat([nothing, states[:-1, :, :hidden]])
            behind = torch.cat([states[1:, :, hidden:], nothing])
            logits = head(torch.cat([before, behind], dim=-1)).float()
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), symbols.flatten())
        loss.backward()
        sgd.step()
        if device == "cuda":
            torch.cuda.synchronize()

    def run() -> float:
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < 0.5:
            update()
            count += 1
        return (time.perf_counter() - began) / count

    run()
    return run


if __name__ == "__main__":
    main()
