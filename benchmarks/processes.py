"""Characters a second of one training, by processes and their devices: all of them on this CPU.

    python benchmarks/processes.py            # the default recipe for text
    python benchmarks/processes.py --quick    # a smoke test

Every row is a training of its own from a packed folder, under `jax.distributed` where it has more
than one process; they take turns, and the best call of updates counts, since other programs can
only make it worse. The right column is the speed over that of the first row.
"""

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np

from caesura.training.corpus.packed import pack

ROWS = [(1, 1), (1, 2), (2, 1)]  # processes, devices of each
ROUNDS = 2
QUICK = {"hidden": 16, "head_hidden": 0, "layers": 1, "steps": 40}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", nargs=5)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child, quick=arguments.quick)
        return
    speeds: dict[tuple[int, int], list[float]] = {row: [] for row in ROWS}
    with tempfile.TemporaryDirectory() as name:
        packed = Path(name) / "packed"
        symbols = np.random.default_rng(0).choice([*"abcdefghijklmnopqrstuvwxyz .,"], 1_000_000)
        pack(["".join(symbols)], packed, {})
        for _ in range(1 if arguments.quick else ROUNDS):
            for row in ROWS:
                speeds[row].append(measure(packed, *row, quick=arguments.quick))
    where = f"{os.cpu_count()} × {platform.machine()}, JAX {jax.__version__}"
    print(f"{where}; best of {len(speeds[ROWS[0]])}\n")
    print("| processes | devices of each | characters/s | over the first |\n|---|---|---|---|")
    best = {row: max(measured) for row, measured in speeds.items()}
    for (processes, devices), speed in best.items():
        print(f"| {processes} | {devices} | {speed:.0f} | {speed / best[ROWS[0]]:.2f} |")


def measure(packed: Path, processes: int, devices: int, quick: bool) -> float:
    with socket.socket() as trial:
        trial.bind(("localhost", 0))
        address = f"localhost:{trial.getsockname()[1]}"
    started = []
    for number in range(processes):
        words = [sys.executable, __file__, *(["--quick"] if quick else []), "--child"]
        words += map(str, (packed, address, processes, number, devices))
        started.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
    answers = [process.communicate()[0] for process in started]
    assert not any(process.returncode for process in started)
    return json.loads(answers[0].splitlines()[-1])


def child(
    packed: str, address: str, processes: str, number: str, devices: str, *, quick: bool
) -> None:
    """One process of a training; the best speed of its calls is its last line."""
    jax.config.update("jax_num_cpu_devices", int(devices))
    if int(processes) > 1:
        jax.distributed.initialize(address, int(processes), int(number))
    import caesura

    speeds = []
    caesura.train(
        Path(packed),
        kind="text",
        report=lambda net, progress: speeds.append(progress.steps_a_second),
        **{"steps": 24, "validate_every": 24, "valid_steps": 1000} | (QUICK if quick else {}),
    )
    print(json.dumps(max(speeds)))


if __name__ == "__main__":
    main()
