"""How long `caesura fill text` takes in a new process, with nothing compiled before and with all.

    python benchmarks/cold_start.py                   a net of the size of the model `text`
    python benchmarks/cold_start.py --model FILE      another

Every figure is the best of some runs, since other programs can only make it worse. "Processor" is
the time of all cores together.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEXT = "The qu___ brown fox"
PARTS = ["imports", "model", "fill", "of it: tracing", "compiling or reading"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--child", action="store_true")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.model)
        return
    with tempfile.TemporaryDirectory() as folder:
        model = arguments.model or untrained(Path(folder) / "text.model")
        compare(model, Path(folder), arguments.runs)


def untrained(place: Path) -> Path:
    """A model with the nets of the one that comes with the library, which have learnt nothing."""
    import jax
    import jax.numpy as jnp

    from caesura.filler.filler import Filler
    from caesura.kinds import Text
    from caesura.kinds.text.alphabet import PAPER
    from caesura.nets.frames import Categorical
    from caesura.nets.rnn import bidirectional, constant, unidirectional

    frame, key = Categorical(len(PAPER)), jax.random.key(0)
    nets = {
        "bidirectional": bidirectional(
            key, frame, head="softmax", hidden=448, cell="lstm", layers=2
        ),
        "forward": unidirectional(key, frame, head="softmax", hidden=448, cell="lstm", layers=2),
        "onegram": constant(frame, jnp.full((1, len(PAPER)), -jnp.log(len(PAPER)))),
    }
    Filler(Text(PAPER), nets, "nade").save(place, dtype="bfloat16")
    return place


def compare(model: Path, folder: Path, runs: int) -> None:
    command = ["-m", "caesura", "fill", "text", TEXT, "--model", str(model)]
    parts = [__file__, "--child", "--model", str(model)]
    rows = {}
    for name in ("nothing compiled", "all compiled"):
        times, told = [], []
        for number in range(runs):
            cache = folder / (f"cache-{number}" if name == "nothing compiled" else "cache-0")
            times.append(seconds(command, cache)[:2])
            if name == "nothing compiled":
                cache = folder / f"cache-parts-{number}"
            told.append(json.loads(seconds(parts, cache)[2]))
        rows[name] = (
            min(times),
            min(told, key=lambda parts: sum(parts[part] for part in PARTS[:3])),
        )
    import jax

    print(f"({len(os.sched_getaffinity(0))} × {platform.machine()}, JAX {jax.__version__})\n")
    print("| | seconds | processor | " + " | ".join(PARTS) + " |\n|" + "---|" * (3 + len(PARTS)))
    for name, ((wall, processor), parts_of) in rows.items():
        shares = " | ".join(f"{parts_of[part]:.2f}" for part in PARTS)
        print(f"| {name} | {wall:.1f} | {processor:.1f} | {shares} |")


def seconds(words: list[str], cache: Path) -> tuple[float, float, str]:
    """By the clock and of the processor, and what a new process said."""
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *words], env=environment, check=True, capture_output=True, text=True
    )
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, used, done.stdout


def child(model: Path) -> None:
    """The same fill, in parts; two threads trace and compile, whose times are added."""
    began = time.perf_counter()
    import jax

    from caesura import load
    from caesura.hardware import keep_compiled

    keep_compiled()

    spent = {"trace": 0.0, "mlir": 0.0, "backend_compile": 0.0}

    def listen(event: str, duration: float, **_: object) -> None:
        for part in spent:
            spent[part] += duration if part in event else 0.0

    jax.monitoring.register_event_duration_secs_listener(listen)
    imported = time.perf_counter()
    filler = load(model)
    loaded = time.perf_counter()
    filler.fill(TEXT, samples=5)
    filled = time.perf_counter()
    traced, compiled = spent["trace"] + spent["mlir"], spent["backend_compile"]
    found = (imported - began, loaded - imported, filled - loaded, traced, compiled)
    print(json.dumps(dict(zip(PARTS, found, strict=True))))


if __name__ == "__main__":
    main()
