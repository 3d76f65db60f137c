"""Public sets are fetched whole or not at all, whatever the server does."""

import hashlib
import os

import numpy as np
import pytest

from bad_server import serving
from caesura import datasets
from caesura.datasets import rolls
from caesura.datasets.download import Source, download
from caesura.errors import CaesuraError
from sentences import checked
from toy_sets import NPZ, offer, toy_matlab, toy_pieces

server = pytest.fixture(serving)


def left_behind(folder):
    return list(folder.rglob("*"))


@pytest.mark.parametrize("answer", ["good", "unannounced", "redirect"])
def test_a_fetched_set_is_verified_and_loads(monkeypatch, server, tmp_path, answer):
    offer(monkeypatch, server, answer, toy_matlab())
    told = []
    assert datasets.fetch("toy", tmp_path, progress=lambda *so_far: told.append(so_far))
    size = len(server.content)
    assert told[-1] == (size, None if answer == "unannounced" else size)
    assert datasets.verify("toy", tmp_path) == {NPZ: "ok"}
    assert [path for path in left_behind(tmp_path) if path.is_file()] == [tmp_path / NPZ]
    for split, pieces in toy_pieces().items():
        loaded = datasets.load("toy", split, tmp_path)
        assert [piece.dtype for piece in loaded] == [np.uint8] * len(pieces)
        for ours, theirs in zip(loaded, pieces, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_what_is_there_is_not_fetched_again(monkeypatch, server, tmp_path):
    offer(monkeypatch, server, "good", toy_matlab())
    assert datasets.fetch("toy", tmp_path)
    before = (tmp_path / NPZ).stat().st_mtime_ns
    assert not datasets.fetch("toy", tmp_path)
    assert server.asked == ["/good"]
    assert (tmp_path / NPZ).stat().st_mtime_ns == before


def test_a_damaged_file_is_replaced(monkeypatch, server, tmp_path):
    offer(monkeypatch, server, "good", toy_matlab())
    (tmp_path / NPZ).parent.mkdir()
    (tmp_path / NPZ).write_bytes(b"PK")
    assert datasets.verify("toy", tmp_path) == {NPZ: "altered"}
    with pytest.raises(CaesuraError, match="replace it with `caesura data fetch toy --data"):
        datasets.load("toy", "test", tmp_path)
    assert datasets.fetch("toy", tmp_path)
    assert datasets.verify("toy", tmp_path) == {NPZ: "ok"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("truncated", r"broke off after \d+ of \d+ bytes"),
        ("truncated_unannounced", "its sha256 should be [0-9a-f]{64}, not [0-9a-f]{64}"),
        ("truncated_chunk", "broke off"),
        ("altered", "its sha256 should be [0-9a-f]{64}, not [0-9a-f]{64}"),
        ("missing", r"answered 404 \(Not Found\) for http"),
        ("hangup", "broke off"),
        ("nonsense", "broke off"),
        ("announced_large", "larger than 1048576 bytes"),
        ("endless", "larger than 1048576 bytes"),
        ("redirect_loop", "infinite loop"),
        ("redirect_to_file", "not allowed"),
        ("redirect_to_ftp", "unknown url type"),
        ("silent", "no answer from http.* for 0.3 seconds"),
        ("stalling", "no answer from http.* for 0.3 seconds"),
    ],
)
def test_a_bad_download_is_refused_and_leaves_nothing(monkeypatch, server, tmp_path, answer, said):
    offer(monkeypatch, server, answer, toy_matlab())
    timeout = 0.3 if answer in ("silent", "stalling") else 10.0
    with pytest.raises(CaesuraError, match=said) as caught:
        datasets.fetch("toy", tmp_path, timeout=timeout)
    assert server.url in checked(caught.value)
    assert left_behind(tmp_path) == []


def test_nothing_is_parsed_before_its_hash_is_right(monkeypatch, server, tmp_path):
    def never(_):
        raise AssertionError("parsed")

    offer(monkeypatch, server, "altered", toy_matlab(), convert=never)
    with pytest.raises(CaesuraError, match="sha256"):
        datasets.fetch("toy", tmp_path)


def test_without_a_network_there_is_one_sentence(monkeypatch, server, tmp_path):
    offer(monkeypatch, server, "good", toy_matlab(), url="http://127.0.0.1:1/set")
    with pytest.raises(CaesuraError, match=r"Cannot reach http://127.0.0.1:1/set: .*refused") as no:
        datasets.fetch("toy", tmp_path, timeout=5.0)
    checked(no.value)


def test_only_the_web_is_fetched_from(tmp_path):
    (tmp_path / "set").write_bytes(b"abc")
    sha256 = hashlib.sha256(b"abc").hexdigest()
    with pytest.raises(CaesuraError, match="unknown url type"):
        download(Source((tmp_path / "set").as_uri(), sha256, 10, rolls.from_matlab))


def test_an_interrupted_fetch_leaves_nothing_and_keeps_what_was_there(
    monkeypatch, server, tmp_path
):
    def interrupt(*_):
        raise KeyboardInterrupt

    offer(monkeypatch, server, "good", toy_matlab())
    with pytest.raises(KeyboardInterrupt):
        datasets.fetch("toy", tmp_path, progress=interrupt)
    assert left_behind(tmp_path) == []

    (tmp_path / NPZ).parent.mkdir()
    (tmp_path / NPZ).write_bytes(b"old")
    monkeypatch.setattr("caesura.files.os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        datasets.fetch("toy", tmp_path)
    assert (tmp_path / NPZ).read_bytes() == b"old"
    assert left_behind(tmp_path / "music") == [tmp_path / NPZ]


def test_what_was_made_must_be_the_set_too(monkeypatch, server, tmp_path):
    """The right bytes, wrongly converted, are not kept."""
    other = toy_pieces() | {"test": toy_pieces()["valid"]}
    offer(monkeypatch, server, "good", toy_matlab(pieces=other))
    with pytest.raises(
        CaesuraError, match="not the data set 'toy': the sha256 of 'music"
    ) as caught:
        datasets.fetch("toy", tmp_path)
    checked(caught.value)
    assert left_behind(tmp_path) == []


def test_a_folder_that_cannot_be_written_gets_one_sentence(monkeypatch, server, tmp_path):
    offer(monkeypatch, server, "good", toy_matlab())
    tmp_path.chmod(0o500)
    if os.access(tmp_path, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(
        CaesuraError, match=r"Cannot make the directory .*: permission denied"
    ) as no:
        datasets.fetch("toy", tmp_path)
    checked(no.value)


def test_a_file_in_place_of_the_folder_gets_one_sentence(monkeypatch, server, tmp_path):
    offer(monkeypatch, server, "good", toy_matlab())
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(CaesuraError, match="Cannot make the directory") as caught:
        datasets.fetch("toy", tmp_path / "data")
    checked(caught.value)
    assert (tmp_path / "data").read_text() == "not a folder"
