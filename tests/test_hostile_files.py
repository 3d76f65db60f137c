"""What fuzzing found, each once more: files that broke a reader, or kept it busy for minutes."""

import io
import os
import struct
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import caesura
from caesura.cli.output import check_output
from caesura.errors import CaesuraError
from caesura.files import write_text
from caesura.kinds import Music, Series, Text
from caesura.kinds.music import midi
from caesura.kinds.music.midi import Song
from caesura.kinds.series import foreign, table
from caesura.kinds.series.table import read_csv, read_table
from caesura.kinds.series.times import check_frequency, even_grid
from caesura.kinds.text import files as text_files
from caesura.kinds.text.files import read_text
from caesura.kinds.text.pattern import automaton_of
from caesura.training.recipe import choose, parse_setting
from command_line import mistake, run
from hostile import model_bytes, read_as_score
from model_files import document_of, make_filler, tiny_filler, with_document
from sentences import checked

DAYS = pd.date_range("2024-01-01", periods=9)
LATE = 20  # seconds, for what takes one on a quiet machine and took minutes


def sentence(ask, *given, **options):
    with pytest.raises(CaesuraError) as caught:
        ask(*given, **options)
    return checked(caught.value)


def song(*tracks: bytes, before: bytes = b"", division: int = 96) -> bytes:
    chunks = [b"MTrk" + struct.pack(">L", len(track)) + track for track in tracks]
    head = b"MThd" + struct.pack(">LHHH", 6, 1, len(tracks), division)
    return head + before + b"".join(chunks)


END = b"\0\xff\x2f\0"
HELD = b"\0\x90\x40\x40" + b"\x87\xff\xff\x7f\x80\x40\x40" + END  # for 349 525 steps


@pytest.mark.parametrize(
    ("content", "steps"),
    [
        (song(b"\x60" + END[1:], before=b"XXXX\0\0\0\0" * 500_000), 2),
        (song(*[HELD] * 10_000), 349_526),
        (song(b"\1\x90\x40\x40" * 30_000 + END), 625),
        (song(b"\0\xff\x51\x03\0\0\0" * 30_000 + b"\x60\xff\x51\x03\xff\xff\xff" + END), 2),
    ],
    ids=["chunks of no name", "a key held by thousands", "many notes", "absurd tempos"],
)
def test_a_song_takes_time_by_its_length(content, steps):
    began = time.perf_counter()
    assert len(Music(2).open_content(content).sequence) == steps
    assert time.perf_counter() - began < LATE


def test_a_roll_of_many_voices_is_what_each_of_them_plays():
    notes = [(0, 5), (3, 9), (9, 10), (20, 30), (22, 23)]
    tracks = []
    for start, stop in notes:
        on, off = bytes([start, 0x90, 60, 9]), bytes([stop - start, 0x80, 60, 9])
        tracks.append(on + off + END)
    played = Music(4).open_content(song(*tracks, division=4)).sequence.values[:, 60 - 21]
    by_hand = np.zeros(30, int)
    for start, stop in notes:
        by_hand[start:stop] = 1
    assert played.tolist() == by_hand.tolist()


def test_a_file_that_is_too_large_is_not_read(monkeypatch, tmp_path):
    monkeypatch.setattr(midi, "MOST_BYTES", 100)
    (tmp_path / "a.mid").write_bytes(song(END * 50))
    assert "longer than 100 bytes" in sentence(Song.load, tmp_path / "a.mid")
    monkeypatch.setattr(text_files, "MOST_BYTES", 1 << 20)
    assert "more than 1048576 bytes" in sentence(read_text, Path("/dev/zero"))
    assert "not a file" in sentence(read_table, Path("/dev/zero"))
    pd.DataFrame({"a": np.zeros(1000)}).to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(table, "MOST_CELLS", 999)
    assert "1000 rows, too many" in sentence(read_table, tmp_path / "a.parquet")


def test_a_roll_that_claims_terabytes_is_refused_before_memory_is_asked_for(tmp_path):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "|i1", "fortran_order": False, "shape": (10**9, 88)}
    )
    (tmp_path / "a.npy").write_bytes(file.getvalue())
    os.truncate(tmp_path / "a.npy", len(file.getvalue()) + 88 * 10**9)  # holes
    tracemalloc.start()
    assert "longer than 1000000 steps" in sentence(Music(2).open, tmp_path / "a.npy")
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_a_small_file_is_not_unpacked_to_a_large_table(tmp_path):
    pd.DataFrame({"a": [1.0] * 10}).to_csv(tmp_path / "a.csv.gz")
    assert "not UTF-8" in sentence(read_table, tmp_path / "a.csv.gz")


def test_an_alphabet_of_all_characters_is_checked_at_once():
    every = "".join(map(chr, range(1, 0xD800)))
    began = time.perf_counter()
    assert "twice" in sentence(Text, every + every[-1])
    assert time.perf_counter() - began < LATE


def test_a_wide_table_takes_time_by_its_columns():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(2, 5000)))
    began = time.perf_counter()
    kind = Series.learn([wide.rename(columns=str)], least_observed=1)
    item = kind.open(wide.rename(columns=str))
    assert item.write(item.sequence.values, item.missing).shape == (2, 5000)
    assert kind.frame.size == 5000
    assert time.perf_counter() - began < LATE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,a\n1,2,3\n", "two columns called 'a'"),  # pandas calls the second a.1
        (
            "a,b\n1,2,3\n4,5,6\n",
            "more cells than the header, which has 2",
        ),  # pandas makes 1 and 4 an index
        ("a,b\n1,2\n4,5,6\n", "not a table"),
        ("", "not a table"),
        ("a,b\n", "no rows"),
    ],
)
def test_a_ragged_table_is_refused(text, said, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    assert said in sentence(read_table, tmp_path / "a.csv")


def test_commas_at_the_ends_of_lines_are_no_column():
    assert read_csv("a,b\n1,2,\n3,4,\n").values.tolist() == [[1, 2], [3, 4]]


def test_a_number_beyond_all_numbers_is_no_number(tmp_path):
    (tmp_path / "a.csv").write_text(f"a,b\n{'9' * 400},1\n1,2\n2,4\n")
    with pytest.warns(caesura.errors.CaesuraWarning) as told:
        kind = Series.learn([read_table(tmp_path / "a.csv")], least_observed=1)
    assert [column.name for column in kind.columns] == ["b"]
    assert all(len(str(one.message)) < 700 for one in told)


def test_a_whole_number_beyond_all_real_numbers_is_no_level(tmp_path):
    (tmp_path / "a.csv").write_text(f"a\n1{'9' * 400}\n")  # which pandas reads as a whole number
    sentence(Series.learn, [read_table(tmp_path / "a.csv")], least_observed=1)


@pytest.mark.parametrize("frequency", ["0h", "-1h", "1000000YE", "999999999999999D", 3])
def test_a_frequency_that_leads_nowhere_is_refused(frequency):
    sentence(check_frequency, frequency)
    sentence(even_grid, DAYS, str(frequency))


@pytest.mark.parametrize("bounds", [(float("nan"), None), (0, 10**400), ("x", 1), 3])
def test_bounds_that_are_none_are_refused(bounds):
    sentence(Series.learn, [np.arange(9.0)[:, None]], least_observed=1, bounds=bounds)


@pytest.mark.parametrize(
    "recipe",
    [
        "a=" + "[" * 5000,
        "a=" + "{a=" * 5000,
        "text = 3",
        "clip = " + "9" * 400,
        "steps = 4294967296",
    ],
)
def test_a_recipe_that_is_none_gets_one_sentence(recipe, tmp_path):
    whole = "\n".join(f"{k} = {v!r}" for k, v in RECIPE.items() if f"\n{k} =" not in f"\n{recipe}")
    (tmp_path / "a.toml").write_text(f"{whole}\n{recipe}")
    sentence(choose, str(tmp_path / "a.toml"), "text", Text.options, {})
    assert parse_setting("a=" + "[" * 5000) == ("a", "[" * 5000)


RECIPE = {
    k: list(v) if isinstance(v, tuple) else v
    for k, v in choose("rnn", "text", Text.options, {}).recipe.identity().items()
}


def test_a_series_whose_columns_do_not_fit_together_is_no_model(tmp_path):
    content = model_bytes(make_filler("mixture"))
    for field, value in (("place", 9), ("scale", -1.0), ("name", "x1"), ("levels", ["a", "b"])):
        document = document_of(content)
        document["kind"]["fields"]["columns"][0][field] = value
        (tmp_path / "a.model").write_bytes(with_document(content, document))
        sentence(caesura.load, tmp_path / "a.model")


def test_what_a_stranger_wrote_into_a_model_does_not_reach_the_terminal(tmp_path):
    content = model_bytes(tiny_filler())
    document = document_of(content) | {"training": {"seed": "\x1b[2J\n", "versions": {"a\r": 1}}}
    (tmp_path / "a.model").write_bytes(with_document(content, document))
    shown = run("info", tmp_path / "a.model")
    assert shown.exit_code == 0
    assert all(line.isprintable() for line in shown.stdout.split("\n"))
    document = document_of(content) | {"training": {"nets": {"forward": 3}}}
    (tmp_path / "a.model").write_bytes(with_document(content, document))
    assert "training record" in mistake("info", tmp_path / "a.model")


def test_a_long_or_unprintable_name_is_told_in_one_line():
    assert len(mistake("info", "x\x1b[2J\n" * 900 + ".model")) < 700
    assert mistake("fill", "text", "a_", "--strategy", "na\nde") == (
        "There is no strategy called 'na\\nde': did you mean 'nade'?"
    )


def test_a_name_that_is_too_long_is_known_before_the_work(tmp_path):
    assert "file name too long" in sentence(check_output, tmp_path / ("a" * 300), ())
    for find in (Text.find, Music.find, Series.find):
        sentence(find, [tmp_path / ("a" * 300)])
    write_text(tmp_path / ("é" * 127), "as long as a name may be")
    assert (tmp_path / ("é" * 127)).read_text() == "as long as a name may be"


def test_more_samples_than_anyone_could_read_are_refused():
    assert "at most 100000" in sentence(tiny_filler().fill, "a_", samples=10**12)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**63), 2**64 - 1])
def test_a_table_of_arrow_with_large_whole_numbers_is_filled(number):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": [1, None, number], "b": [1.0, 2.0, 3.0]}).to_arrow()
    frame = foreign.to_pandas(table)
    frame["a"] = frame["a"].fillna(7)
    assert foreign.like(table, frame)["a"].to_pylist() == [1.0, 7.0, float(number)]


def test_a_pattern_that_later_versions_of_python_may_read_otherwise_gets_no_warning():
    with warnings.catch_warnings(action="error"):
        assert automaton_of(Text("ab["), "[[a]", 2).accepts([2])


def test_a_measure_outside_of_a_part_is_no_music():
    read_as_score(
        b"<score-partwise><a><part><measure><note/></measure></part></a></score-partwise>"
    )
    read_as_score(
        b"<score-partwise><part><a><measure><note/></measure></a></part></score-partwise>"
    )
