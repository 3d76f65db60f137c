"""How long a fill takes in a new process, beside `import jax` alone.

    python benchmarks/cold_start.py            a text and a tune, some minutes
    python benchmarks/cold_start.py --runs 1   does it still run?
    python benchmarks/cold_start.py --text     the text alone, seconds

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
from pathlib import Path

import jax

sys.path.append(str(Path(__file__).parent.parent))  # where the demo is
from demo.tune import song

TEXT = "The qu___ brown fox jumps over the lazy dog."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--text", action="store_true", help="without the tune")
    given = parser.parse_args()
    runs = given.runs
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


def seconds(words: list[str], cache: Path) -> float:
    """How long a new process takes."""
    environment = os.environ | {"CAESURA_CACHE": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
