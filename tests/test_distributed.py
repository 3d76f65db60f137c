"""Processes that train together end with the weights of one that trains alone."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import jax
import numpy as np
import pytest

from caesura.cli.hosts import Place, place_by_hosts, place_by_variables
from caesura.errors import CaesuraError
from caesura.hardware import sharing
from caesura.training import processes
from caesura.training.corpus.packed import pack
from command_line import PATH, mistake

# A real process. It writes its weights, each after the other, and prints what else it came to.
PROGRAM = """
import json, sys, jax
from pathlib import Path
address, number, data, seed, out = sys.argv[1:6]
jax.config.update("jax_num_cpu_devices", 1)
if address != "alone":
    jax.distributed.initialize(address, 2, int(number))
import numpy as np
import caesura
from caesura.errors import CaesuraError
try:
    filler = caesura.train(
        Path(data), kind="text", recipe="nade,rnn", hidden=8, cell="tanh", layers=1, head_hidden=0,
        steps=50, batch=4, length=16, validate_every=7, seed=int(seed), checkpoints=out + ".saved",
        resume=True,
    )
except CaesuraError as error:
    print(error)
    sys.exit(2)
leaves = [np.asarray(leaf).ravel() for leaf in jax.tree.leaves(filler.nets)]
np.concatenate(leaves).tofile(f"{out}.{number}")
records = filler.training["nets"].values()
print(json.dumps([jax.device_count(), [record["history"] for record in records]]))
"""
ENVIRONMENT = os.environ | PATH | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}


def free_address() -> str:
    with socket.socket() as trial:
        trial.bind(("localhost", 0))
        return f"localhost:{trial.getsockname()[1]}"


def start(*words) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def start_two(data: Path, out: Path, seeds: tuple[int, int] = (3, 3)) -> list[subprocess.Popen]:
    address = free_address()
    return [start(address, n, data, seed, out) for n, seed in enumerate(seeds)]


def finish(process: subprocess.Popen, code: int = 0) -> str:
    """The last line that it prints; the layer below JAX prints others."""
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == code, err
    return out.splitlines()[-1]


def weights(out: Path, number: int = 0) -> np.ndarray:
    return np.fromfile(f"{out}.{number}", np.float32)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """A folder of texts, and the same packed."""
    folder = tmp_path_factory.mktemp("data")
    draw = np.random.default_rng(0)
    (folder / "texts").mkdir()
    for number, size in enumerate(draw.integers(5, 300, 12)):
        (folder / "texts" / f"{number:02}.txt").write_text("".join(draw.choice([*"abcd "], size)))
    pack([folder / "texts"], folder / "packed", {})
    return folder


@pytest.fixture(scope="module")
def alone(data, tmp_path_factory) -> Path:
    """What one process comes to that is left alone."""
    out = tmp_path_factory.mktemp("alone") / "out"
    devices, _ = json.loads(finish(start("alone", 0, data / "texts", 3, out)))
    assert devices == 1
    return out


def check_same_but_for_rounding(one: np.ndarray, two: np.ndarray) -> None:
    """It was 1.2e-7; with rows that only one process saw, it was 0.1."""
    assert np.abs(one).max() > 0.1
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["texts", "packed"])
def test_two_processes_end_with_the_weights_of_one(data, alone, tmp_path, form):
    told = [json.loads(finish(p)) for p in start_two(data / form, tmp_path / "out")]
    assert told[0][0] == 2
    assert told[0] == told[1]
    assert np.array_equal(weights(tmp_path / "out", 0), weights(tmp_path / "out", 1))
    check_same_but_for_rounding(weights(tmp_path / "out"), weights(alone))


@pytest.mark.slow
def test_two_that_are_killed_are_resumed_by_one(data, alone, tmp_path):
    out = tmp_path / "out"
    both = start_two(data / "texts", out)
    until = time.monotonic() + 200
    while not any(int(path.stem) for path in tmp_path.rglob("*.checkpoint")):
        assert time.monotonic() < until
        assert all(process.poll() is None for process in both)
        time.sleep(0.01)
    for process in both:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert not list(tmp_path.glob("out.?"))
    finish(start("alone", 0, data / "texts", 3, out))
    check_same_but_for_rounding(weights(out), weights(alone))


@pytest.mark.slow
def test_processes_that_train_different_things_say_so(data, tmp_path):
    for process in start_two(data / "texts", tmp_path / "out", seeds=(3, 4)):
        assert "do not train the same: their data, recipes, seeds" in finish(process, code=2)


@pytest.mark.slow
def test_a_signal_to_one_of_two_commands_stops_both(data, tmp_path):
    model = tmp_path / "m.model"
    tiny = ("hidden=8", "cell=tanh", "layers=1", "batch=4", "length=16", "validate_every=5")
    words = ["train", "text", str(data / "packed"), "-o", str(model), "--json", "--resume"]
    words += [word for field in (*tiny, "steps=40000") for word in ("--set", field)]
    variables = {"CAESURA_COORDINATOR": free_address(), "CAESURA_PROCESSES": "2"}
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "caesura", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT | variables | {"CAESURA_PROCESS": str(number)},
        )
        for number in range(2)
    ]
    until = time.monotonic() + 200
    while not any(int(path.stem) for path in tmp_path.rglob("*.checkpoint")):
        assert time.monotonic() < until
        time.sleep(0.01)
    both[1].send_signal(signal.SIGTERM)
    told = [process.communicate(timeout=200) for process in both]
    assert [process.returncode for process in both] == [143, 143], told
    assert [stdout for stdout, _ in told] == ["", ""]
    assert "Stopped; to continue: " in told[0][1]
    assert "validation" in told[0][1]
    assert "validation" not in told[1][1]  # one speaks for all
    assert not model.exists()


def test_hosts_are_told_apart_by_where_the_command_runs():
    for number, here in enumerate(("a", "b", "c")):
        assert place_by_hosts("a,b,c", here.__eq__) == Place("a:8476", 3, number)
    assert place_by_hosts("a:99,b", "b".__eq__) == Place("a:99", 2, 1)
    assert place_by_hosts("localhost") == Place("localhost:8476", 1, 0)  # by its own addresses
    with pytest.raises(CaesuraError, match="is none of the hosts 'a,b'"):
        place_by_hosts("a,b", "c".__eq__)
    with pytest.raises(CaesuraError, match="is several of the hosts"):
        place_by_hosts("localhost,127.0.0.1")
    with pytest.raises(CaesuraError, match=r"There is no host 'no\.such\.host\.invalid'"):
        place_by_hosts("no.such.host.invalid")


def test_variables_give_a_place_or_one_sentence():
    given = {"CAESURA_COORDINATOR": "a:1", "CAESURA_PROCESSES": "4", "CAESURA_PROCESS": "3"}
    assert place_by_variables(given) == Place("a:1", 4, 3)
    assert place_by_variables(given | {"CAESURA_COORDINATOR": "b"}).coordinator == "b:8476"
    for name, value, sentence in (
        ("CAESURA_PROCESS", "4", "must be at most 3"),
        ("CAESURA_PROCESS", "-1", "must be a whole number"),
        ("CAESURA_PROCESSES", "0", "must be at least 1"),
        ("CAESURA_PROCESSES", "two", "must be a whole number"),
    ):
        with pytest.raises(CaesuraError, match=sentence):
            place_by_variables(given | {name: value})
    with pytest.raises(CaesuraError, match="The variable CAESURA_PROCESS is needed"):
        place_by_variables({n: v for n, v in given.items() if n != "CAESURA_PROCESS"})


def test_mistakes_of_the_command(tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("abc" * 100)
    words = ("train", "text", tmp_path / "text.txt", "-o", tmp_path / "m")
    sentence = "There is no host 'no.such.host.invalid'"
    assert sentence in mistake(*words, "--hosts", "no.such.host.invalid")
    monkeypatch.setenv("CAESURA_COORDINATOR", "localhost:1")
    assert "The variable CAESURA_PROCESSES is needed" in mistake(*words)


def pretend(monkeypatch, counts: list[int]) -> None:
    """That there are so many devices of each process."""
    devices = [
        Mock(spec=jax.Device, process_index=process)
        for process, count in enumerate(counts)
        for _ in range(count)
    ]
    monkeypatch.setattr(jax, "devices", lambda: devices)
    monkeypatch.setattr(jax, "process_count", lambda: len(counts))


@pytest.mark.parametrize(
    ("counts", "batch", "shares"),
    [([4], 6, [3]), ([1], 7, [1]), ([4, 4], 8, [4, 4]), ([4, 2], 12, [2, 2]), ([3, 3], 4, [2, 2])],
)
def test_a_batch_is_shared_evenly_by_equally_many_devices_of_each(
    monkeypatch, counts, batch, shares
):
    pretend(monkeypatch, counts)
    found = [device.process_index for device in sharing(batch)]
    assert [found.count(process) for process in range(len(counts))] == shares


def test_a_batch_that_processes_cannot_share_is_one_sentence(monkeypatch):
    pretend(monkeypatch, [1, 1, 1])
    with pytest.raises(CaesuraError, match="A batch of 4 cannot be shared evenly by 3 processes"):
        sharing(4)


def test_one_process_agrees_with_itself():
    assert processes.largest(3, False, True) == [3, 0, 1]
    processes.check_alike("told", "never said")
    assert processes.is_first()
