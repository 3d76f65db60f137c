"""What packing texts and training on them take in memory, for some text and for ten times as much.

    python benchmarks/streaming.py            # 30 and 300 MB, 100 000 and a million files
    python benchmarks/streaming.py --quick    # a smoke test

Every row is a command of its own process, and its memory is the most that the system gave it, pages
of mapped files included. A training makes the same few updates whatever the size of its data. The
last rows are the same training with all of the text in memory. Below them is the speed at which
stretches are read for updates.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = ["the", "of", "and", "to", "in", "was", "for", "which", "river", "between", "1066"]
TINY = ["hidden=32", "layers=1", "batch=32", "length=100", "steps=32", "validate_every=32"]
TINY += ["head_hidden=0", "cell=tanh", "alphabet_size=128", "valid_steps=2000", "held_out=0.01"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    megabytes, files = ((1, 10), (100, 1000)) if quick else ((30, 300), (100_000, 1_000_000))
    print("| command | data | seconds | MB at most |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in megabytes:
            write_file(folder / f"{size} MB.txt", size)
            pack(folder, f"{size} MB.txt", f"one file of {size} MB")
        for count in files:
            write_files(folder / f"{count} files", count)
            pack(folder, f"{count} files", f"{count} files of 500 bytes")
        for size in megabytes:
            train(folder, f"{size} MB.txt.packed", f"{size} MB, packed")
        for size in megabytes:
            train(folder, f"{size} MB.txt", f"{size} MB, in memory")
        print(f"\nA process reads {speed(folder / f'{size} MB.txt.packed'):.0f} M characters/s.")


def write_file(path: Path, megabytes: int) -> None:
    draw = random.Random(0)
    with open(path, "w") as file:
        while file.tell() < megabytes * 1_000_000:
            file.write(" ".join(draw.choices(WORDS, k=200_000)))


def write_files(folder: Path, count: int) -> None:
    folder.mkdir()
    text = " ".join(random.Random(0).choices(WORDS, k=150))[:500]
    for number in range(count):
        (folder / f"{number:07}.txt").write_text(text)


def pack(folder: Path, name: str, told: str) -> None:
    words = ["data", "pack", folder / name, "-o", folder / f"{name}.packed"]
    measure("pack", told, [*words, "--set", "alphabet_size=128"])


def train(folder: Path, name: str, told: str) -> None:
    settings = [word for field in TINY for word in ("--set", field)]
    words = ["train", "text", folder / name, "-o", folder / "model", *settings]
    measure("train", told, words)


def speed(packed: Path) -> float:
    """Of reading the blocks of the text net of docs/reproduce.md, from pages in memory; the best
    of some, since other programs can only make it worse."""
    import jax

    from caesura.training.corpus.feed import UPDATES, Feed
    from caesura.training.corpus.packed import open_packed
    from caesura.training.recipe import choose

    recipe = choose("nade", "text", (), {"batch": 512, "length": 160}).recipe
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    feed = Feed(jax.random.key(0), open_packed(packed).pieces, recipe, device)
    times = []
    for number in range(12):
        places = feed._places(number)
        began = time.perf_counter()
        feed._read(places)
        times.append(time.perf_counter() - began)
    return UPDATES * recipe.batch * recipe.length / min(times) / 1e6


def measure(command: str, told: str, words: list) -> None:
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "caesura", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, words
    seconds = time.perf_counter() - began
    print(f"| {command} | {told} | {seconds:.1f} | {usage.ru_maxrss / 1000:.0f} |", flush=True)


if __name__ == "__main__":
    main()
