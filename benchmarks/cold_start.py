"""How long a fill takes in a new process, beside `import jax` alone.

    python benchmarks/cold_start.py            a text and a tune, some minutes
    python benchmarks/cold_start.py --runs 1   does it still run?
    python benchmarks/cold_start.py --text     the text alone, seconds
    python benchmarks/cold_start.py --parts    what the text's time consists of

Each command runs with an empty cache, which it leaves to the next runs. The processes take turns,
and every figure is the best of some runs, since other programs can only make it worse. Python keeps
its bytecode, as it does where the package is installed.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import jax

sys.path.append(str(Path(__file__).parent.parent))  # where the demo is
from demo.tune import song

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
TEXT = "The qu___ brown fox jumps over the lazy dog."
PARTS = {
    "NumPy": "import numpy",
    "jaxtyping": "import jaxtyping",
    "the command line, Typer and pydantic": "import caesura.cli, typer._adapters",
    "our other modules": "import caesura.filler",
    "load the model": 'filler = caesura.load("text")',
    "fill the gap": f"filler.fill({TEXT!r})",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--text", action="store_true", help="without the tune")
    parser.add_argument("--parts", action="store_true", help="the parts of the text's time")
    given = parser.parse_args()
    runs = given.runs
    if given.parts:
        return show_parts(runs)
    with tempfile.TemporaryDirectory() as folder:
        tune = Path(folder, "tune.mid")
        tune.write_bytes(song().to_bytes())
        fill = ["-m", "caesura", "fill"]
        music = [str(tune), "--gap", "4:6", "-o", str(Path(folder, "out.mid"))]
        commands = {
            "`import jax`": ["-c", "import jax"],
            "`caesura fill text`": [*fill, "text", TEXT],
            "`caesura fill music`": [*fill, "music", *music],
        }
        if given.text:
            del commands["`caesura fill music`"]
        times: dict[tuple[str, str], list[float]] = {}
        for number in range(runs):
            for name, words in commands.items():
                for cache in ("empty", "warm"):
                    took = seconds(words, Path(folder, f"{number}-{name.strip('`')}"))
                    times.setdefault((name, cache), []).append(took)
    best = {key: min(some) for key, some in times.items()}
    least = best["`import jax`", "warm"]
    print(
        f"({len(os.sched_getaffinity(0))} × {platform.machine()}, JAX {jax.__version__}; ", end=""
    )
    print(f"best of {runs})\n")
    print("| command | empty cache | times `import jax` | warm cache | times `import jax` |")
    print("|---|---|---|---|---|")
    for name in commands:
        cells = (f"{best[name, c]:.2f} s | {best[name, c] / least:.1f}" for c in ("empty", "warm"))
        print(f"| {name} | " + " | ".join(cells) + " |")


def show_parts(runs: int) -> None:
    """Print how long each part takes in a new process that does one after the other."""
    times, of_jax = [], []
    for _ in range(runs):
        times.append(clocked(PARTS.values()))
        of_jax += clocked(["import jax"])
    best = [min(some) for some in zip(*times, strict=True)]
    print(f"(best of {runs}; `import jax` takes {min(of_jax):.2f} s)\n")
    print("| part | time |\n|---|---:|")
    for name, took in zip([*PARTS, "**together**"], [*best, sum(best)], strict=True):
        print(f"| {name} | {took:.2f} s |")


def clocked(statements: Iterable[str]) -> list[float]:
    """How long each statement takes in a new process."""
    clock = ["import time"]
    for statement in statements:
        clock += ["t = time.perf_counter()", statement, "print(time.perf_counter() - t)"]
    command = [sys.executable, "-c", "\n".join(clock)]
    answer = subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    return [float(line) for line in answer.stdout.split()]


def seconds(words: list[str], cache: Path) -> float:
    """How long a new process takes."""
    environment = ENVIRONMENT | {"CAESURA_CACHE": str(cache)}
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
