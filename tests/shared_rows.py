"""Rows that several processes share, and runs that note who fills them or kill who does."""

import os
import signal
import time
from pathlib import Path

import pyarrow as pa

from caesura.errors import CaesuraError
from caesura.scale import Run

TEXTS = {f"row {n}": f"{'the ' * (n % 3)}qu__k fox {n}" for n in range(12)} | {"bad": ""}
BATCH = 3  # rows; so there are five batches


class Noted(Run):
    """A run that writes down, beside its model, which process loads it and which fills a row."""

    def note(self, words):
        with Path(self.model).with_name("notes").open("a") as file:
            file.write(f"{os.getpid()} {words}\n")

    def load(self):
        self.note("loads")
        return super().load()

    def request(self, filler, row):
        self.note(row["id"])
        return super().request(filler, row)


class DeadlyOnce(Noted):
    """The first process that comes to one of the rows is killed."""

    def request(self, filler, row):
        if row["id"] == "row 4" and "row 4" not in read_notes(self.model):
            self.note("row 4")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().request(filler, row)


class Deadly(Run):
    def request(self, filler, row):
        if row["id"] == "row 4":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().request(filler, row)


class Slow(Noted):
    """A fill that does not end by itself in time."""

    def request(self, filler, row):
        self.note(row["id"])
        time.sleep(600)


class Unloadable(Run):
    """A mistake that only workers make."""

    def load(self):
        if os.environ.get("NPROC") == "1":
            raise CaesuraError("The model is gone.")
        return super().load()


def table() -> pa.Table:
    return pa.table({"id": list(TEXTS), "data": list(TEXTS.values())})


def read_notes(model) -> list[str]:
    """What was written down, without the numbers of the processes."""
    file = Path(model).with_name("notes")
    lines = file.read_text().splitlines() if file.exists() else []
    return [line.partition(" ")[2] for line in lines]


def loading_processes(model) -> list[int]:
    lines = Path(model).with_name("notes").read_text().splitlines()
    return [int(line.split()[0]) for line in lines if line.endswith(" loads")]
