"""Public sets: what they hold, where they lie, and how damage to them is found."""

import gzip
import hashlib
import io
import lzma
import os
import tarfile

import numpy as np
import pytest

from bad_server import serving
from caesura import datasets
from caesura.datasets import rolls, texts
from caesura.datasets.registry import DATASETS, Dataset, StoredFile
from caesura.errors import CaesuraError
from sentences import checked
from toy_sets import NPZ, SPLITS, offer, plain_npz, toy_arrays, toy_matlab, toy_pieces

server = pytest.fixture(serving)


# Piano rolls.


@pytest.mark.parametrize("dtype", ["f8", "u1", "i4"])
def test_rolls_are_the_same_whatever_numbers_matlab_holds(dtype):
    (npz,) = rolls.from_matlab(toy_matlab(dtype))
    assert rolls.digest(npz) == rolls.digest(plain_npz(toy_arrays()))


def test_a_changed_note_changes_the_digest():
    arrays = toy_arrays()
    whole = rolls.digest(plain_npz(arrays))
    arrays["test_pitch"][0] ^= 1
    assert rolls.digest(plain_npz(arrays)) != whole


def test_a_flipped_bit_is_noticed_or_harmless(monkeypatch, server, tmp_path):
    """Some bytes of a zip file hold no content, such as dates."""
    offer(monkeypatch, server, "good", toy_matlab())
    datasets.fetch("toy", tmp_path)
    whole = (tmp_path / NPZ).read_bytes()
    states = []
    for place in range(0, len(whole), 11):
        (tmp_path / NPZ).write_bytes(
            whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :]
        )
        states.append(datasets.verify("toy", tmp_path)[NPZ])
        if states[-1] == "ok":
            for ours, theirs in zip(
                datasets.load("toy", "test", tmp_path), toy_pieces()["test"], strict=True
            ):
                np.testing.assert_array_equal(ours, theirs)
    assert states.count("altered") > len(states) / 2


@pytest.mark.parametrize(
    "change",
    [
        {"test_len": np.array([4, 3])},
        {"test_len": np.array([7, -1])},
        {"test_cnt": np.array([1, 2])},
        {"test_pitch": toy_arrays()["test_pitch"] + 88},
        {"test_pitch": toy_arrays()["test_pitch"].astype(float)},
        {"test_pitch": np.array([{"an": "object"}])},
    ],
)
def test_numbers_that_do_not_fit_are_damage(monkeypatch, server, tmp_path, change):
    offer(monkeypatch, server, "good", toy_matlab())
    (tmp_path / NPZ).parent.mkdir()
    (tmp_path / NPZ).write_bytes(plain_npz(toy_arrays() | change))
    assert datasets.verify("toy", tmp_path) == {NPZ: "altered"}
    with pytest.raises(CaesuraError, match="is damaged") as caught:
        datasets.load("toy", "test", tmp_path)
    checked(caught.value)


def test_a_piece_of_another_width_is_refused():
    pieces = toy_pieces() | {"valid": [np.ones((3, 87))]}
    with pytest.raises(CaesuraError, match=r"\[steps, 88\], not \[3, 87\]"):
        rolls.from_matlab(toy_matlab(pieces=pieces))


def test_a_limit_takes_whole_pieces(monkeypatch, server, tmp_path):
    offer(monkeypatch, server, "good", toy_matlab())
    datasets.fetch("toy", tmp_path)
    lengths = [
        [len(piece) for piece in datasets.load("toy", "train", tmp_path, limit=limit)]
        for limit in (1, 5, 6, 7, 13, 99)
    ]
    assert lengths == [[5], [5], [5, 1], [5, 1, 7], [5, 1, 7], [5, 1, 7]]


# Texts.


def tarball(members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for member, content in members:
            member = tarfile.TarInfo(member) if isinstance(member, str) else member
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


ADDRESSES = [
    ("package/data/1793_a_b.txt", b"Third.\n"),
    ("package/data/1790_a_b.txt", "First’s.\n\n\nSecond line.\n".encode()),
    ("package/data/1798_a_b.txt", b"Eighth.\n"),
    ("package/data/2001_c_d.txt", b"Last."),
]


def test_addresses_are_split_by_their_year():
    made = [texts.read(packed, None) for packed in texts.from_addresses(tarball(ADDRESSES))]
    assert made == [["First’s.\nSecond line.", "Last."], ["Third."], ["Eighth."]]


def test_only_the_wanted_plain_files_of_a_tarball_are_read():
    link = tarfile.TarInfo("package/data/1800_a_b.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    strange = [
        ("../../package/data/1801_a_b.txt", b"outside"),
        ("/package/data/1801_a_b.txt", b"outside"),
        ("package/data/../1801_a_b.txt", b"outside"),
        ("package/data/1801_a_b.json", b"{}"),
        (link, b""),
    ]
    assert texts.from_addresses(tarball(strange + ADDRESSES)) == texts.from_addresses(
        tarball(ADDRESSES)
    )


def test_a_tarball_that_swells_is_refused(monkeypatch):
    monkeypatch.setattr(texts, "UNPACKED_LIMIT", 1 << 16)
    with pytest.raises(CaesuraError, match="unpacks to over 65536 bytes"):
        texts.from_addresses(tarball([*ADDRESSES, ("package/big", bytes(1 << 17))]))


def test_a_sparse_member_that_swells_is_refused(monkeypatch):
    monkeypatch.setattr(texts, "UNPACKED_LIMIT", 1 << 16)
    member = tarfile.TarInfo("package/data/1800_a_b.txt")
    member.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.name": member.name,
        "GNU.sparse.size": str(1 << 40),
        "GNU.sparse.realsize": str(1 << 40),
        "GNU.sparse.map": "0,3",
    }
    with pytest.raises(CaesuraError, match="unpacks to over 65536 bytes"):
        texts.from_addresses(tarball([(member, b"abc")]))


def test_a_cut_tarball_is_refused():
    with pytest.raises(CaesuraError, match="cut short"):
        texts.from_addresses(gzip.compress(bytes(1 << 12))[:-10])


@pytest.fixture
def packed(monkeypatch, tmp_path):
    """A set of texts in the data folder, known by its bytes, by its content, and not there."""
    text = b"Title\nOne.\n\nAnother\rone\nTwo.\n\n"
    packed = lzma.compress(text)
    files = {
        "train": StoredFile("text/a.xz", hashlib.sha256(packed).hexdigest(), "bytes"),
        "valid": StoredFile("text/b.xz", hashlib.sha256(text).hexdigest(), "content"),
        "test": StoredFile("text/c.xz", "0" * 64, "content"),
    }
    monkeypatch.setitem(DATASETS, "toy", Dataset("text", "a toy", "CC0", None, files))
    (tmp_path / "text").mkdir()
    for split in ("train", "valid"):
        (tmp_path / files[split].path).write_bytes(packed)
    return packed


@pytest.mark.usefixtures("packed")
def test_texts_are_kept_apart_by_blank_lines(tmp_path):
    assert datasets.load("toy", "valid", tmp_path) == ["Title\nOne.", "Another\rone\nTwo."]
    assert datasets.load("toy", "valid", tmp_path, limit=10) == ["Title\nOne."]
    assert len(datasets.load("toy", "valid", tmp_path, limit=11)) == 2


def test_verify_tells_of_every_file(packed, tmp_path):
    first, second, third = "text/a.xz", "text/b.xz", "text/c.xz"
    assert datasets.verify("toy", tmp_path) == {first: "ok", second: "ok", third: "missing"}

    # Packed otherwise, the content is the same but the bytes are not.
    repacked = lzma.compress(lzma.decompress(packed), check=lzma.CHECK_CRC32)
    for name in ("a", "b", "c"):
        (tmp_path / f"text/{name}.xz").write_bytes(repacked)
    states = {first: "altered", second: "ok", third: "altered"}
    assert datasets.verify("toy", tmp_path) == states

    flipped = bytearray(packed)
    flipped[len(flipped) // 2] ^= 1
    for damaged in (bytes(flipped), packed[:-20], b""):
        (tmp_path / second).write_bytes(damaged)
        assert datasets.verify("toy", tmp_path)[second] == "altered"


# The folder.


def test_the_folder_is_the_one_given_or_that_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CAESURA_DATA", str(tmp_path / "data"))
    assert datasets.data_folder(tmp_path / "given") == tmp_path / "given"
    assert datasets.data_folder("~/given") == tmp_path / "home/given"
    assert datasets.data_folder() == tmp_path / "data"
    monkeypatch.delenv("CAESURA_DATA")
    assert datasets.data_folder() == tmp_path / "cache/caesura"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert datasets.data_folder() == tmp_path / "home/.cache/caesura"


def test_a_listing_tells_what_is_there(monkeypatch, server, tmp_path):
    offer(monkeypatch, server, "good", toy_matlab())
    rows = {row.name: row for row in datasets.listing(tmp_path)}
    assert list(rows) == list(DATASETS)
    assert not any(row.present or row.size for row in rows.values())
    assert rows["wiki96"].source == "no public address"
    assert rows["sotu"].source.startswith("https://registry.npmjs.org/")
    datasets.fetch("toy", tmp_path)
    row = datasets.listing(tmp_path)[-1]
    assert (row.name, row.kind, row.licence, row.present) == ("toy", "music", "CC0", True)
    assert row.size == (tmp_path / NPZ).stat().st_size


def test_the_registry_is_whole():
    for name, dataset in DATASETS.items():
        assert tuple(dataset.holding) == SPLITS
        directory = "greek" if name == "papyri" else dataset.kind
        assert all(file.path.startswith(f"{directory}/{name}.") for file in dataset.files)
        hashes = [file.sha256 for file in dataset.files]
        if dataset.source:
            assert dataset.source.url.startswith("https://")
            hashes.append(dataset.source.sha256)
        assert all(len(bytes.fromhex(sha256)) == 32 for sha256 in hashes)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda f: datasets.load("jsb", "train", f), "did you mean 'jsb_chorales'"),
        (lambda f: datasets.fetch("jsb", f), "no data set called 'jsb'"),
        (lambda f: datasets.verify(None, f), "no data set called 'None'"),
        (lambda f: datasets.load("sotu", "tset", f), "did you mean 'test'"),
        (lambda f: datasets.load("sotu", "test", f, limit=0), "'limit' must be at least 1"),
        (
            lambda f: datasets.load("sotu", "test", f),
            "'sotu' is not in '.*': get it with `caesura data fetch sotu --data '.*a b'`",
        ),
        (
            lambda f: datasets.load("wiki96", "test", f),
            "cannot be downloaded: put text/wiki96",
        ),
        (lambda f: datasets.fetch("wiki96", f), "cannot be downloaded: put text/wiki96"),
    ],
)
def test_a_mistake_gets_one_sentence(tmp_path, ask, said):
    with pytest.raises(CaesuraError, match=said) as caught:
        ask(tmp_path / "a b")
    checked(caught.value)


def test_the_command_for_the_usual_folder_is_short(monkeypatch, tmp_path):
    monkeypatch.setenv("CAESURA_DATA", str(tmp_path))
    with pytest.raises(CaesuraError, match=r"get it with `caesura data fetch nottingham`\.$"):
        datasets.load("nottingham", "test")


def test_a_file_that_cannot_be_read_gets_one_sentence(tmp_path):
    (tmp_path / "music/jsb_chorales.npz").mkdir(parents=True)
    with pytest.raises(CaesuraError, match=r"Cannot read .*: is a directory") as caught:
        datasets.verify("jsb_chorales", tmp_path)
    checked(caught.value)


# The sets themselves, where they are at hand.


@pytest.fixture
def at_hand():
    """Answers for a set whether it can be tested, and skips where it cannot."""
    if not os.environ.get("CAESURA_DATA"):
        pytest.skip("CAESURA_DATA does not name a folder with the real sets")

    def must_have(name):
        if "missing" in (states := datasets.verify(name)).values():
            pytest.skip(f"the set '{name}' is not in CAESURA_DATA")
        assert set(states.values()) == {"ok"}

    return must_have


@pytest.mark.parametrize(
    ("name", "pieces", "steps", "notes_a_step"),
    [
        ("jsb_chorales", (229, 76, 77), (13807, 4602, 4725), 3.9),
        ("nottingham", (694, 173, 170), (176561, 45513, 44463), 4.0),
        ("musedata", (524, 135, 124), (245202, 82755, 64339), 3.4),
        ("piano_midi", (87, 12, 25), (75911, 8540, 19036), 3.0),
    ],
)
def test_the_real_music_is_what_was_published(at_hand, name, pieces, steps, notes_a_step):
    at_hand(name)
    splits = [datasets.load(name, split) for split in SPLITS]
    assert tuple(len(split) for split in splits) == pieces
    assert tuple(sum(len(piece) for piece in split) for split in splits) == steps
    notes = sum(int(piece.sum()) for split in splits for piece in split)
    assert notes / sum(steps) == pytest.approx(notes_a_step, abs=0.2)


@pytest.mark.parametrize("name", ["jsb_chorales", "piano_midi"])
def test_the_conversion_arrives_at_the_real_music(at_hand, name):
    """Through MATLAB cells and back, the digest in the registry comes out."""
    at_hand(name)
    pieces = {split: datasets.load(name, split) for split in SPLITS}
    (npz,) = rolls.from_matlab(toy_matlab("u1", pieces))
    assert rolls.digest(npz) == DATASETS[name].files[0].sha256


def test_the_real_articles_are_whole(at_hand):
    at_hand("wiki96")
    for split, articles, first in [("valid", 273, "Albert Camus"), ("test", 272, "Aquarius (")]:
        items = datasets.load("wiki96", split)
        assert len(items) == articles
        assert items[0].startswith(first)
        assert all(item.strip("\n") == item and "\n" in item for item in items)
        assert set().union(*items) <= {"\n", *map(chr, range(0x20, 0x7F))}
    start = datasets.load("wiki96", "train", limit=100_000)
    assert 100_000 <= sum(map(len, start)) < 400_000


def test_the_real_addresses_are_whole(at_hand):
    at_hand("sotu")
    splits = [datasets.load("sotu", split) for split in SPLITS]
    assert [len(split) for split in splits] == [187, 23, 23]
    train, valid, test = (set().union(*split) for split in splits)
    assert (valid | test) <= train
