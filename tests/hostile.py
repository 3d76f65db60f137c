"""What is done with bytes from a stranger: each reader answers rightly, or in one sentence."""

import io
import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
from typer.testing import CliRunner

import caesura
from caesura.cli import app
from caesura.errors import CaesuraError
from caesura.kinds import Music, Series, Text
from caesura.kinds.music.midi import Song
from caesura.kinds.music.mxl import pack
from caesura.kinds.music.score import Score
from caesura.kinds.series.table import read_table
from caesura.kinds.text.files import read_text
from caesura.modelfile import read_info
from caesura.reproduce.plan import read_plan
from caesura.reproduce.results import COLUMNS, Results
from caesura.training.checkpoint import Checkpoints
from caesura.training.loop import Member, State, Total
from caesura.training.recipe import choose
from hostile_answer import FOLDER, answer, written
from hostile_tables import FRAMES, read_as_arrow, read_as_polars
from hostile_texts import (
    EPIDOC,
    INDEXES,
    LEIDEN,
    PATTERNS,
    find_parallels,
    read_as_epidoc,
    read_as_leiden,
    read_as_pattern,
)
from model_files import assert_same, tiny_filler
from scores import small_score
from sentences import checked
from songs import content as content_of
from songs import ode_to_joy
from tiny_paper import PLAN


def read_as_text(content: bytes) -> None:
    text = answer(read_text, written("a.txt", content))
    if text is None:
        return
    assert text == content.decode("utf-8").removeprefix("\ufeff")
    if (kind := answer(partial(Text.learn, brackets=""), [text])) is not None:
        item = kind.open(text)
        assert item.write(item.sequence.values, np.zeros_like(item.missing)) == text
    if (kind := answer(Text.learn, [text + "a"])) is not None:
        answer(lambda: kind.open(Path(FOLDER / "a.txt")).sequence)


def read_as_packed_text(content: bytes) -> None:
    answer(read_text, written("a.txt.xz", content))


def read_as_song(content: bytes) -> None:
    song = answer(Song.from_bytes, content)
    if song is None:
        return
    assert Song.from_bytes(song.to_bytes()) == song
    answer(lambda: song.bars)
    kind = Music(2)
    item = answer(kind.open, song)
    if item is None or len(item.sequence) > 1000:
        return
    silent = item.write(np.zeros_like(item.sequence.values), np.ones_like(item.missing))
    assert not kind.open(silent).sequence.values.any()
    answer(item.view, item.original)


def read_as_score(content: bytes) -> None:
    score = answer(Score.from_bytes, content)
    item = None if score is None else answer(Music(2).open, score)
    if item is None or len(item.sequence) > 1000:
        return
    nothing = np.zeros_like(item.missing)
    assert item.write(item.sequence.values, nothing).xml == score.xml
    answer(item.write, np.zeros_like(item.sequence.values), ~nothing)
    answer(item.view, item.original)


def read_as_roll(content: bytes) -> None:
    item = answer(Music(2).open, written("a.npy", b"\x93NUMPY" + content))
    assert item is None or item.sequence.values.shape[1] == 88


def read_as_csv(content: bytes) -> None:
    _fill_table(written("a.csv", content))


def read_as_parquet(content: bytes) -> None:
    _fill_table(written("a.parquet", content))


def _fill_table(path: Path) -> None:
    file = answer(read_table, path)
    if file is None:
        return
    table = file.table
    assert len(table)
    kind = answer(lambda: Series.learn([file], least_observed=1))
    item = None if kind is None else answer(kind.open, file)
    if item is None:
        return
    filled = answer(item.write, np.zeros(item.missing.shape), item.missing)
    if filled is not None:
        assert not filled[[column.name for column in kind.filled]].isna().any(axis=None)
        assert item.content(filled)
        answer(item.view, filled)
        names = [column.name for column in kind.filled[: kind.numbers]]
        there = table[names].notna().to_numpy()
        pd.testing.assert_frame_equal(
            filled[names].astype(float).where(there), table[names].astype(float).where(there)
        )


def read_as_model(content: bytes) -> None:
    place = written("a.model", content)
    answer(read_info, place)
    if (filler := answer(caesura.load, place)) is not None:
        assert_same(filler, tiny_filler())  # its sha256 is that of this one


def show_model(content: bytes) -> None:
    assert _command("info", str(written("b.model", content))) in (0, 2)


def fill_series(content: bytes) -> None:
    """Tables with and without times go through the kind of a model that is loaded."""
    filler = answer(caesura.load, written("c.model", content))
    if filler is None:
        return
    array = np.arange(12.0).reshape(4, 3)
    array[1, 0] = np.nan
    frame = pd.DataFrame(array, columns=["x0", "x1", "x2"])
    for data in (array, frame, frame.set_index(pd.date_range("2024-01-01", periods=4))):
        if (item := answer(filler.kind.open, data)) is not None:
            answer(item.write, np.ones(item.missing.shape), item.missing)


def read_as_recipe(content: bytes) -> None:
    answer(choose, str(written("a.toml", content)), "text", Text.options, {})


def read_as_plan(content: bytes) -> None:
    answer(read_plan, written("plan.toml", content))


def read_as_results(content: bytes) -> None:
    answer(Results, written("results.csv", content))


def read_as_checkpoint(content: bytes) -> None:
    """Whatever is there, the checkpoint before it is found, or nothing is."""
    folder = FOLDER / "checkpoints"
    told: list[str] = []
    saved = Checkpoints(folder, "run", told.append)
    folder.mkdir(exist_ok=True)
    saved.save(state(1))
    written("checkpoints/000000000002.checkpoint", content)
    found = answer(saved.load, state(0))
    assert found is None or found.step == 1 or content == CHECKPOINT
    assert content == CHECKPOINT or len(told) == 1


def state(step: int) -> State:
    weights = {"w": jnp.arange(3, dtype=jnp.float32)[None] + step}
    best = (weights, jnp.zeros(1), jnp.zeros(1, jnp.int32))
    total = Total(jnp.zeros(1), jnp.zeros(1, jnp.int32))
    members = Member(weights, {"count": jnp.ones(1, jnp.int32)}, total, *best)
    return State(members, step, [], 1.5)


def type_words(content: bytes) -> None:
    """Words behind a command, one a line."""
    words = content.decode("utf-8", "surrogateescape").replace("\0", "").split("\n")
    assert _command(*words) in (0, 1, 2)


def _command(*words: str) -> int:
    """The exit code of a command that answers, or complains in one line."""
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code == 2:
        assert result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert line.startswith("Error: ")
        checked(CaesuraError(line.removeprefix("Error: ")))
        assert line.isprintable()
    return result.exit_code


def _parquet() -> bytes:
    file = io.BytesIO()
    days = pd.date_range("2024-01-01", periods=6)
    pd.DataFrame({"t": days, "a": [1.0, None, 3, 4, 5, 6], "w": list("uvwxyz")}).to_parquet(file)
    return file.getvalue()


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.eye(4, 88))
    return file.getvalue()[6:]


def model_bytes(filler: Any) -> bytes:
    filler.save(FOLDER / "seed.model")
    return (FOLDER / "seed.model").read_bytes()


def _checkpoint() -> bytes:
    Checkpoints(FOLDER / "one", "run", print).save(state(2))
    return (FOLDER / "one" / "000000000002.checkpoint").read_bytes()


CSV = b"t,a,b,word\n" + b"".join(
    b"2024-01-%02d,%s,%d,x\n" % (day, b"" if day % 4 == 0 else b"1.5e%d" % day, day)
    for day in range(1, 15)
)
RECIPE = b'net = "forward"\nhidden = 8\nlearning_rate = [0.1, 1e-3]\ngap = [1, 5]\n[text]\nx = 1\n'
RESULTS = ",".join(COLUMNS) + "\ntable1,wiki96,nade,nade,,1.5,0.1,10,0,,5,5,5,ff,cpu,1.5,,,,\n"
CHECKPOINT = _checkpoint()

# Each reader by its name, with files that it can read: what is hostile is made of these.
READERS: dict[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    "text": (read_as_text, [b"\xef\xbb\xbfna\xc3\xafve\r\n", "née".encode("utf-16")]),
    "packed": (read_as_packed_text, [lzma.compress(b"abc" * 40)]),
    "midi": (read_as_song, [content_of(ode_to_joy())[:400], content_of(ode_to_joy())]),
    "musicxml": (read_as_score, [small_score(), pack(small_score())]),
    "roll": (read_as_roll, [_npy()]),
    "csv": (read_as_csv, [CSV, b"a\n1\n\n3\n"]),
    "parquet": (read_as_parquet, [_parquet()]),
    "model": (read_as_model, [model_bytes(tiny_filler())]),
    "info": (show_model, [model_bytes(tiny_filler())]),
    "recipe": (read_as_recipe, [RECIPE]),
    "plan": (read_as_plan, [PLAN.encode()]),
    "results": (read_as_results, [RESULTS.encode()]),
    "checkpoint": (read_as_checkpoint, [CHECKPOINT]),
    "leiden": (read_as_leiden, LEIDEN),
    "epidoc": (read_as_epidoc, EPIDOC),
    "pattern": (read_as_pattern, PATTERNS),
    "parallels": (find_parallels, INDEXES),
    "polars": (read_as_polars, FRAMES),
    "arrow": (read_as_arrow, FRAMES),
}
