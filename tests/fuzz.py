"""Hostile inputs, counted: `python tests/fuzz.py 1000000 --state DIR` prints a table.

The readers take turns, and each turn lasts two seconds: all readers get the same time, and those
that are fast get more inputs, up to a tenth of all. An input follows from its reader and its
number, so it can be made again (`--input READER NUMBER` writes it to stdout). Every turn is a line
in DIR/fuzz.jsonl: a run that was stopped continues from there.
"""

import argparse
import json
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from damage import damage
from hostile import READERS

TURN = 2.0  # seconds
MOST = 0.1  # of all inputs go to one reader, as long as others have fewer
PATIENCE = 60  # seconds of the processor for one input
STATUS = Path("/proc/self/status")


class TooSlowError(Exception):
    """A reader took longer than the patience for one input."""


def give_up(*_: object) -> None:
    raise TooSlowError


def input_of(reader: str, number: int) -> bytes:
    return damage(random.Random(f"{reader} {number}"), READERS[reader][1])


def memory(what: str) -> int:
    """Return "VmRSS", the bytes of this process, or "VmHWM", the most so far; 0 if not known."""
    if not STATUS.exists():
        return 0
    (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith(what)]
    return int(line.split()[1]) << 10


def forget_peak() -> None:
    """Begin to measure the most memory anew."""
    if STATUS.exists():
        Path("/proc/self/clear_refs").write_text("5")


def turn(reader: str, first: int, most: int) -> dict[str, Any]:
    """Return the record of a turn: at most so many inputs, beginning with this number."""
    read = READERS[reader][0]
    read(READERS[reader][1][0])  # what it imports and keeps is not the input's fault
    forget_peak()
    before, start, number = memory("VmRSS"), time.process_time(), first
    worst, worst_input, errors = 0.0, first, {}
    while number < first + most and time.process_time() - start < TURN:
        content = input_of(reader, number)
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            read(content)
        except Exception as error:
            errors[number] = "".join(traceback.format_exception(error, limit=-2))[-600:]
        signal.setitimer(signal.ITIMER_PROF, 0)
        if (took := time.process_time() - began) > worst:
            worst, worst_input = took, number
        number += 1
    return {
        "reader": reader,
        "inputs": number - first,
        "seconds": time.process_time() - start,
        "worst": worst,
        "worst_input": worst_input,
        "memory": max(0, memory("VmHWM") - before),
        "errors": errors,
    }


def records(state: Path) -> list[dict[str, Any]]:
    """Return the turns so far; a line that was cut short is none."""
    lines = state.read_text().splitlines(keepends=True) if state.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def run(inputs: int, folder: Path, readers: list[str]) -> list[dict[str, Any]]:
    """Take turns until there are so many inputs; return the records of all turns."""
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / "fuzz.jsonl"
    done = records(state)
    state.write_text("".join(json.dumps(record) + "\n" for record in done))
    count: Counter[str] = Counter()
    for record in done:
        count[record["reader"]] += record["inputs"]
    spent = Counter(dict.fromkeys(readers, 0.0))
    for record in done:
        spent[record["reader"]] += record["seconds"]
    signal.signal(signal.SIGPROF, give_up)
    with open(state, "a") as file:
        while (rest := inputs - sum(count.values())) > 0:
            left = [name for name in readers if count[name] < MOST * inputs] or readers
            reader = min(left, key=lambda name: spent[name])
            record = turn(reader, count[reader], rest)
            file.write(json.dumps(record) + "\n")
            file.flush()
            done.append(record)
            count[reader] += record["inputs"]
            spent[reader] += record["seconds"]
            for number, said in record["errors"].items():
                print(f"{reader} {number}: {said}", file=sys.stderr, flush=True)
    return done


def table(done: list[dict[str, Any]]) -> str:
    lines = ["| reader | inputs | foreign errors | mean ms | worst ms | most MB |"]
    lines += ["|---|---|---|---|---|---|"]
    for name in [*READERS, "all"]:
        mine = [record for record in done if name in (record["reader"], "all")]
        if not mine:
            continue
        inputs = sum(record["inputs"] for record in mine)
        errors = sum(len(record["errors"]) for record in mine)
        mean = 1000 * sum(record["seconds"] for record in mine) / inputs
        worst = 1000 * max(record["worst"] for record in mine)
        most = max(record["memory"] for record in mine) / 1e6
        lines.append(f"| {name} | {inputs} | {errors} | {mean:.2f} | {worst:.0f} | {most:.0f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("inputs", type=int, help="how many in all; 0 prints the state's table")
    parser.add_argument("--state", type=Path, help="a directory, to continue after a stop")
    parser.add_argument("--readers", nargs="+", choices=READERS, default=list(READERS))
    parser.add_argument("--input", nargs=2, metavar=("READER", "NUMBER"), help="write one input")
    options = parser.parse_args()
    if options.input:
        sys.stdout.buffer.write(input_of(options.input[0], int(options.input[1])))
        return 0
    with tempfile.TemporaryDirectory() as other:
        done = run(options.inputs, options.state or Path(other), options.readers)
    print(table(done))
    return any(record["errors"] for record in done)


if __name__ == "__main__":
    sys.exit(main())
