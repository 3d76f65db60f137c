"""Texts on disk are trained on as if they were in memory."""

import json
import os
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.kinds import Text
from caesura.kinds.text.files import read_parts
from caesura.training.batches import Corpus
from caesura.training.corpus import feed
from caesura.training.corpus.feed import Feed, draw_below
from caesura.training.corpus.packed import check_fields, is_packed, open_packed, pack
from caesura.training.corpus.stored import Stored
from caesura.training.recipe import Recipe, choose
from command_line import ask, mistake, run

TINY = {"hidden": 4, "batch": 4, "length": 12, "steps": 20, "validate_every": 7, "cell": "tanh"}
TINY |= {"layers": 1, "head_hidden": 0}


def texts(count: int) -> list[str]:
    """Of lengths that are shorter and longer than a stretch."""
    draw = np.random.default_rng(count)
    return ["".join(draw.choice(list("abcde é"), n)) for n in draw.integers(5, 90, count)]


def write(folder: Path, some: list[str]) -> Path:
    folder.mkdir()
    for number, text in enumerate(some):
        (folder / f"{number:03}.txt").write_text(text, encoding="utf-8")
    return folder


def weights(filler: caesura.Filler) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(filler.nets)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "valid"),
    [
        pytest.param(3, None, id="the ends of few are held out"),
        pytest.param(12, None, id="some of many are held out"),
        pytest.param(12, ["abcde" * 20], id="nothing is held out"),
    ],
)
def test_weights_are_those_of_a_training_in_memory(tmp_path, count, valid):
    folder = write(tmp_path / "texts", texts(count))
    pack([folder], tmp_path / "packed", {})
    one = caesura.train(folder, kind="text", valid=valid, **TINY)
    two = caesura.train(tmp_path / "packed", kind="text", valid=valid, **TINY)
    assert two.kind == one.kind
    for a, b in zip(weights(one), weights(two), strict=True):
        assert np.array_equal(a, b)
    told = [filler.training["data"] for filler in (one, two)]
    for name in ("pieces", "steps", "valid_pieces", "valid_steps"):
        assert told[0][name] == told[1][name]


def test_what_is_packed_is_what_the_kind_reads(tmp_path):
    folder = write(tmp_path / "texts", [*texts(5), "a letter outside: ž"])
    packed = pack([folder, "one more\n"], tmp_path / "packed", {"alphabet_size": 9})
    expected = [p.read_text(encoding="utf-8") for p in sorted(folder.iterdir())] + ["one more\n"]
    assert len(packed.pieces) == len(expected)
    for piece, text in zip(packed.pieces, expected, strict=True):
        numbers = [packed.kind.alphabet.find(character) for character in text]
        assert piece[:, 0].tolist() == numbers  # -1, as `find` has it, is UNKNOWN
    joined = "".join(expected)
    assert packed.counts.tolist() == [joined.count(c) for c in packed.kind.alphabet]
    assert sorted(os.listdir(tmp_path / "packed")) == ["ends", "packed.json", "values"]


def test_texts_longer_than_a_block_are_one_piece(tmp_path, monkeypatch):
    text = "aé€" * 700_000  # characters of one, two and three bytes, so blocks cut through them
    (tmp_path / "long.txt").write_text(text, encoding="utf-8")
    parts = list(read_parts(tmp_path / "long.txt"))
    assert len(parts) > 3
    assert "".join(parts) == text
    packed = pack([tmp_path / "long.txt"], tmp_path / "packed", {})
    assert packed.pieces.lengths.tolist() == [len(text)]
    assert np.array_equal(packed.pieces[0][:6, 0], [0, 1, 2, 0, 1, 2])
    assert sum(map(len, packed.pieces.blocks())) == len(text)
    assert packed.counts.tolist() == [700_000] * 3


def test_files_are_found_in_the_order_of_their_paths(tmp_path):
    names = ["a/b.txt", "a-b.txt", "a.txt", "a/b/c.txt", "a0.TXT", "b/x.txt.xz", "b/ignored.md"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [path.relative_to(tmp_path).as_posix() for path in Text.find([tmp_path])]
    assert found == sorted(names[:-1])


def recipe(**fields) -> Recipe:
    return choose("nade", "text", (), TINY | fields).recipe


def fed(pieces: Stored, **fields) -> Feed:
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return Feed(jax.random.key(3), pieces, recipe(**fields), device)


def stored(values: np.ndarray, lengths: list[int]) -> Stored:
    ends = np.cumsum(lengths)
    return Stored(values[:, None], ends - lengths, np.array(lengths), "fingerprint", lambda: None)


def test_a_feed_reads_the_stretches_that_a_corpus_draws():
    lengths = [3, 40, 1, 25, 12]
    pieces = stored(np.arange(sum(lengths), dtype=np.int16), lengths)
    corpus = Corpus(list(pieces))
    reading = fed(pieces)
    for block in (2, 3, 0):  # the next one is read ahead; any other is read, too
        read = reading.block(block * feed.UPDATES + 5)
        assert reading.block(block * feed.UPDATES + 9) is read
        for place in range(feed.UPDATES):
            key = jax.random.fold_in(jax.random.key(3), block * feed.UPDATES + place)
            key_batch, _ = jax.random.split(key)
            keys = jax.vmap(lambda key: jax.random.split(key, 3)[0])(
                jax.random.split(key_batch, TINY["batch"])
            )
            values, valid = jax.vmap(partial(corpus.crop, length=TINY["length"]))(keys)
            assert np.array_equal(read.valid[place], valid)
            assert np.array_equal(read.values[place][valid], values[valid])


def test_draws_below_a_bound_are_even_beyond_32_bits():
    bound = 10**12
    keys = jax.random.split(jax.random.key(0), 4000)
    drawn = draw_below(keys, np.full(4000, bound))
    assert drawn.min() >= 0
    assert drawn.max() < bound
    share, _ = np.histogram(drawn, bins=10, range=(0, bound))
    assert np.abs(share - 400).max() < 5 * (4000 * 0.1 * 0.9) ** 0.5
    assert len(np.unique(drawn % 2**20)) > 3900  # the low digits are random, too
    mixed = draw_below(keys[:2], np.array([7, bound]))
    assert mixed[0] == draw_below(keys[:1], np.array([7]))[0]
    assert mixed[1] == drawn[1]


@pytest.mark.slow
def test_stretches_come_from_all_of_a_file_beyond_32_bits(tmp_path):
    size, length = 3 * 2**30, TINY["length"]
    path = tmp_path / "sparse"
    with open(path, "wb") as file:
        file.truncate(size)
    values = np.asarray(np.memmap(path, np.int8, "r"))
    far = fed(stored(values, [10, size - 10]), batch=64)
    starts, lengths = far._places(0)
    assert (starts > 2**31).mean() == pytest.approx(1 / 3, abs=0.06)
    assert (starts + lengths).max() <= size
    assert set(np.unique(lengths)) <= {10, length}
    assert far.block(0).values.shape == (feed.UPDATES, 64, length, 1)


def resident_kilobytes(path: Path) -> int:
    """How much of a mapped file is in this process's memory."""
    of_file = Path("/proc/self/smaps").read_text().split(f" {path}\n")[1]
    return int(of_file.split("Rss:")[1].split()[0])


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells")
def test_what_was_read_is_let_go(tmp_path):
    pieces = pack(["bacd" * 2**23], tmp_path / "packed", {}).pieces
    assert pieces.values[::4096].all()  # a byte of every page
    assert resident_kilobytes(tmp_path / "packed" / "values") == 2**15
    reading = fed(pieces, batch=64)
    reading.block(0)
    reading._ahead.result()  # until the next is read, too
    assert resident_kilobytes(tmp_path / "packed" / "values") == 0
    assert sum(map(len, pieces.blocks())) == 2**25
    assert resident_kilobytes(tmp_path / "packed" / "values") == 0


def test_damage_is_one_sentence(tmp_path):
    folder = tmp_path / "packed"
    pack(texts(6), folder, {})
    header = json.loads((folder / "packed.json").read_text())
    content = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    damaged = {
        "values": [content["values"][:-1], b""],
        "ends": [content["ends"][:-8], content["ends"][:-3], b"", content["ends"][::-1]],
        "packed.json": [b"", b"[]", b"{}", json.dumps(header | {"kind": 3}).encode()],
    }
    damaged["packed.json"] += [json.dumps(header | {"counts": [1]}).encode()]
    for name, versions in damaged.items():
        for version in versions:
            (folder / name).write_bytes(version)
            with pytest.raises(CaesuraError, match="are damaged"):
                open_packed(folder)
        (folder / name).write_bytes(content[name])
    assert open_packed(folder).pieces.fingerprint == header["sha256"]
    (folder / "values").unlink()
    with pytest.raises(CaesuraError, match=r"There is no file or directory .*values"):
        open_packed(folder)


def test_what_goes_wrong_leaves_no_packed_folder(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"good until \xff")
    with pytest.raises(CaesuraError, match="its byte 11 cannot be read"):
        pack([tmp_path / "bad.txt"], tmp_path / "packed", {})
    assert not is_packed(tmp_path / "packed")
    assert os.listdir(tmp_path / "packed") == []  # so that one may try again


def test_a_training_cannot_want_another_alphabet(tmp_path):
    check_fields(pack(texts(6), tmp_path / "packed", {"alphabet": "abc"}), {"alphabet": "abc"})
    with pytest.raises(CaesuraError, match="packed without alphabet='paper'"):
        caesura.train(tmp_path / "packed", kind="text", alphabet="paper", **TINY)
    with pytest.raises(CaesuraError, match="cannot be combined with other data"):
        caesura.train([tmp_path / "packed", "more"], kind="text", **TINY)
    with pytest.raises(CaesuraError, match="use them with kind 'text'"):
        caesura.train(tmp_path / "packed", kind="music")


@pytest.mark.slow
def test_the_command_packs_and_trains(tmp_path):
    jax.devices()  # from now on there is one device, as in the other tests, whatever `train` asks
    folder, packed = write(tmp_path / "texts", texts(6)), tmp_path / "packed"
    told = json.loads(ask("data", "pack", folder, "-o", packed, "--set", "alphabet=abc", "--json"))
    assert told["texts"] == 6
    assert told["characters"] == sum(map(len, texts(6)))
    assert told["symbols"] == 3
    assert "is not empty" in mistake("data", "pack", folder, "-o", packed)
    for field in ("alphabt=abc", "items=1"):
        words = ("data", "pack", folder, "-o", tmp_path / "new", "--set", field)
        assert "There is no field of a text called" in mistake(*words)
    tiny = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    result = run("train", "text", packed, "-o", tmp_path / "m.model", *tiny)
    assert result.exit_code == 0, result.output
    assert caesura.load(tmp_path / "m.model").kind.alphabet == "abc"


@pytest.mark.slow
def test_a_training_on_packed_texts_can_be_resumed(tmp_path):
    pack(texts(8), tmp_path / "packed", {})
    calm = caesura.train(tmp_path / "packed", kind="text", **TINY)
    seen = []

    def third_time() -> bool:
        seen.append(None)
        return len(seen) == 3

    words = {"kind": "text", "checkpoints": tmp_path / "checkpoints", **TINY}
    with pytest.raises(caesura.training.loop.Stopped):
        caesura.train(tmp_path / "packed", stop=third_time, **words)
    resumed = caesura.train(tmp_path / "packed", resume=True, **words)
    for a, b in zip(weights(calm), weights(resumed), strict=True):
        assert np.array_equal(a, b)
