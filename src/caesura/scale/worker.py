"""A worker that fills batches of rows: it loads the model once and writes a file for each batch."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from caesura.errors import CaesuraError, one_line
from caesura.files import make_folder, write_bytes
from caesura.filler import Fill, Filler
from caesura.scale.results import Answer, write_answers
from caesura.scale.rows import ID, PATH
from caesura.scale.run import Run, Summary

FILES = "files"  # the directory of filled files, if files were given


class Worker:
    """One process of those that share the work."""

    def __init__(self, run: Run, directory: Path, filler: Filler | None = None) -> None:
        self.run, self.directory = run, directory
        self.filler = filler or run.load()
        self.fill_type = pa.binary() if self.filler.kind.binary else pa.string()

    def fill(self, batch: pa.Table) -> Summary:
        """Write the answers; return how many rows were filled or failed. Ids are strings."""
        rows = batch.to_pylist()
        ids = [row[ID] for row in rows]
        answers = self._answers(rows)
        seeds = [self.run.seed_of(name) for name in ids]
        return Summary(*write_answers(self.directory, ids, seeds, answers, self.fill_type))

    def _answers(self, rows: list[dict[str, Any]]) -> list[Answer]:
        """One for each row; a row that cannot be read or filled gets the reason."""
        requests: dict[int, Any] = {}
        answers = [Answer()] * len(rows)
        for place, row in enumerate(rows):
            try:
                requests[place] = self.run.request(self.filler, row)
            except Exception as error:
                answers[place] = _reason(error)
        fills = self.filler.fill_many(requests.values(), return_exceptions=True)
        for place, fill in zip(requests, fills, strict=True):
            try:
                if isinstance(fill, Exception):
                    raise fill
                answers[place] = self._answer(rows[place], fill)
            except Exception as error:
                answers[place] = _reason(error)
        return answers

    def _answer(self, row: dict[str, Any], fill: Fill) -> Answer:
        content = fill.item.content(fill.best)
        if row.get(PATH) is not None:  # files in, files out
            name, suffix = row[ID], fill.item.suffix
            place = self.directory / FILES
            file = place / (name if name.endswith(suffix) else name + suffix)
            if not file.resolve().is_relative_to(place.resolve()):
                raise CaesuraError(f"The id '{name}' is not a path inside the output directory.")
            make_folder(file.parent)
            write_bytes(file, content.encode() if isinstance(content, str) else content)
        return Answer(
            fill=content,
            log_prob=float(fill.log_prob),
            standard_error=fill.log_prob.standard_error,
            confidence=fill.confidence.tolist(),
        )


def _reason(error: Exception) -> Answer:
    """The sentence of a user's mistake; anything else with its name."""
    known = isinstance(error, CaesuraError)
    return Answer(reason=one_line(str(error) if known else f"{type(error).__name__}: {error}"))
