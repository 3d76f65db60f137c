"""Who fills batches of rows: the model is loaded once, and every batch leaves a file."""

from pathlib import Path

import pyarrow as pa

from caesura.kinds import Music
from caesura.scale.answers import answer_rows
from caesura.scale.filling import Filling, Summary
from caesura.scale.results import write_answers
from caesura.scale.rows import ID, not_done


class Worker:
    """One process of those that share the work."""

    def __init__(self, filling: Filling, folder: Path, done: pa.Array) -> None:
        self.filling, self.folder, self.done = filling, folder, done
        self.filler = filling.load()
        self.fill_type = pa.binary() if isinstance(self.filler.kind, Music) else pa.string()

    def __call__(self, batch: pa.Table) -> pa.Table:
        """The answers are written; how many there are of each sort goes back."""
        rows = not_done(batch, self.done).to_pylist()
        ids = [row[ID] for row in rows]
        answers = answer_rows(self.filler, self.filling, rows)
        seeds = [self.filling.seed_of(name) for name in ids]
        filled, failed = write_answers(self.folder, ids, seeds, answers, self.fill_type)
        told = Summary(filled, failed, skipped=len(batch) - len(rows))
        return pa.Table.from_pylist([told._asdict()])
