"""What the server promises of readiness and memory."""

import asyncio
import base64
import subprocess
import sys
import threading
import time
from dataclasses import replace
from mmap import PAGESIZE, mmap

import numpy as np
import pytest
from fastapi.testclient import TestClient

import caesura
from caesura import pretrained
from caesura.errors import CaesuraError
from caesura.filler import shapes as shapes_module
from caesura.filler.shapes import Shape
from caesura.kinds import Song
from caesura.programs import PROGRAMS
from caesura.web import Limits, make_app, warming
from caesura.web.memory import ARENAS, FullError, Memory, read_size, resident
from caesura.web.queue import Line, Size
from small_fillers import music_filler, text_filler
from test_cost import compilations  # noqa: F401
from test_web_api import TEXT, sentence

MUSIC_SHAPES = 8


@pytest.fixture
def two_shapes(monkeypatch):
    """A model with two shapes, the second of which compiles when it is let to."""
    let = threading.Event()
    shapes = [Shape("short ones", lambda: None), Shape("long ones", lambda: let.wait(30))]
    monkeypatch.setattr(warming, "shapes", lambda kind, method: iter(shapes))
    yield let
    let.set()


def until(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_server_is_ready_when_everything_is_compiled(two_shapes):
    said = []
    app = make_app({"words": text_filler()}, warm=said.append)
    with TestClient(app, raise_server_exceptions=False) as client:
        until(lambda: "caesura_shapes_left 1" in client.get("/metrics").text)
        answer = client.get("/readyz")
        assert "1 of 2 shapes are left, the next is 'words' for long ones" in sentence(answer, 503)
        assert int(answer.headers["retry-after"]) > 0
        assert client.get("/healthz").json() == {"status": "ok", "waiting": 0}
        two_shapes.set()
        until(lambda: client.get("/readyz").status_code == 200)
        assert client.get("/readyz").json() == {"status": "ready", "shapes": 2}
    assert [line.split(":")[0].split(" in ")[0] for line in said] == [
        "Compiling for 2 shapes",
        "Ready",
    ]


def test_a_server_that_cannot_compile_is_never_ready(monkeypatch, caplog):
    def fail():
        raise ValueError("no such instruction")

    monkeypatch.setattr(warming, "shapes", lambda kind, method: iter([Shape("any", fail)]))
    app = make_app({"words": text_filler()}, warm=lambda _: None)
    with TestClient(app, raise_server_exceptions=False) as client:
        until(lambda: "could not" in client.get("/readyz").json()["detail"])
        assert client.get("/readyz").status_code == 503
    assert "no such instruction" in caplog.text


def test_a_server_that_compiles_nothing_is_ready_at_once():
    with TestClient(make_app({"words": text_filler()})) as client:
        assert client.get("/readyz").json() == {"status": "ready", "shapes": 0}


def test_a_server_with_the_models_of_the_library_is_ready_at_once():
    fillers = {name: caesura.load(name) for name in pretrained.NAMES}
    with TestClient(make_app(fillers, warm=lambda _: None)) as client:
        assert client.get("/readyz").json() == {"status": "ready", "shapes": 0}


def test_the_list_of_shapes():
    """None for the models that come with the library; docs/server.md has the list for `sir`."""
    for name in ("text", "papyri", "music"):
        filler = caesura.load(name)
        assert not list(shapes_module.shapes(filler.kind, filler.method()))
    own = music_filler()
    shapes = list(shapes_module.shapes(own.kind, own.method("sir")))
    assert all(shape.work > 0 for shape in shapes if "windows" in shape.name)
    listed = [shape.name for shape in shapes]
    assert len(listed) == MUSIC_SHAPES
    assert listed[:3] == ["windows of 48 steps", "windows of 128 steps", "sequences of 64 steps"]
    assert listed[-1] == "sequences of 2048 steps"


def song(rng: np.random.Generator) -> str:
    roll = (rng.random((int(rng.integers(4, 1300)), 88)) < 0.04).astype(int)
    roll[-1, 40] = 1  # or it would be shorter
    return base64.b64encode(Song.from_roll(roll, steps_per_beat=2).to_bytes()).decode()


def boxes(rng: np.random.Generator, steps: int) -> list[dict[str, int]]:
    """One to three gaps at any place, of up to four steps, or one of up to thirty."""
    longest, count = (30, 1) if rng.random() < 0.2 else (4, int(rng.integers(1, 4)))
    firsts = rng.integers(0, steps, count).tolist()
    stops = [min(steps, first + int(rng.integers(1, longest + 1))) for first in firsts]
    return [{"first": first, "stop": stop} for first, stop in zip(firsts, stops, strict=True)]


@pytest.mark.slow
def test_a_server_that_is_ready_compiles_nothing(compilations):  # noqa: F811
    """Whatever music is asked about: songs and gaps of any length, at any place, and all verbs.

    The nets are small; shapes do not depend on that.
    """
    rng = np.random.default_rng(0)
    app = make_app({"music": replace(music_filler(), strategy="sir")}, warm=lambda _: None)
    with TestClient(app, raise_server_exceptions=False) as client:
        while client.get("/readyz").status_code == 503:
            time.sleep(0.2)
        assert len(compilations) > MUSIC_SHAPES
        compilations.clear()
        for number in range(30):
            asked = {"model": "music", "sequence": song(rng)}
            steps = client.post("/api/view", json=asked).json()["steps"]
            asked |= {"missing": boxes(rng, steps), "seed": number}
            route = ("fill", "fill", "log_prob", "marginals")[number % 4]
            if route == "fill":
                asked |= {"draws": int(rng.integers(1, 18)), "samples": number % 3}
                asked |= {"seconds": 0.1} if number % 8 == 0 else {}
            answer = client.post(f"/api/{route}", json=asked)
            assert answer.status_code == 200, answer.text
            assert not compilations, (number, route, steps, asked)


@pytest.mark.slow
def test_above_its_limit_a_server_refuses_work_but_not_questions_about_itself():
    limits = Limits(memory=1)
    with TestClient(make_app({"words": text_filler()}, limits=limits)) as client:
        for route in ("fill", "log_prob", "marginals"):
            answer = client.post(f"/api/{route}", json=TEXT)
            assert "as much memory as it may" in sentence(answer, 503)
            assert int(answer.headers["retry-after"]) > 0
        answer = client.post("/api/fill/series", json={"sequence": "a,b\n1,2\n2,\n"})
        sentence(answer, 503)
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200


@pytest.mark.slow
def test_programs_are_let_go_before_work_is_refused(monkeypatch):
    """A limit that six programs keep, each of which holds a hundred bytes."""
    monkeypatch.setattr(PROGRAMS, "_kept", type(PROGRAMS._kept)())
    for number in range(20):
        PROGRAMS.get(number, lambda: lambda: None)
    memory = Memory(1600, lambda: 1000 + 100 * len(PROGRAMS))
    memory.check()
    assert len(PROGRAMS) == 5
    assert 19 in PROGRAMS._kept  # the last that was used
    with pytest.raises(FullError):
        Memory(900, lambda: 1000 + 100 * len(PROGRAMS)).check()
    assert len(PROGRAMS) == 0


def test_memory_is_measured_and_reported():
    before = resident()
    with mmap(-1, 50_000_000) as held:  # new pages: an array may get what was freed before
        for page in range(0, len(held), PAGESIZE):
            held[page] = 1
        assert 40e6 < resident() - before < 80e6
    with TestClient(make_app({"words": text_filler()})) as client:
        told = dict(
            line.split() for line in client.get("/metrics").text.splitlines() if line[0] != "#"
        )
    assert float(told["caesura_resident_bytes"]) > 1e8
    assert float(told["caesura_programs"]) == len(PROGRAMS)
    assert float(told["caesura_programs_evicted"]) == PROGRAMS.evicted


@pytest.mark.parametrize("text", ["lots", "2", "2TB", "-1GB", "0GB", "0.0MB", ""])
def test_a_size_that_is_none(text):
    with pytest.raises(CaesuraError, match="500MB or 2GB"):
        read_size(text)


def test_sizes():
    texts = ("500MB", "1.5GB", "2 gb")
    assert [read_size(text) for text in texts] == [500_000_000, 1_500_000_000, 2_000_000_000]


def test_what_is_compiled_at_the_start_is_timed(monkeypatch):
    """So that already the first request can be refused if it would take too long."""
    runs = []

    def run():
        runs.append(time.sleep(0.5 if not runs else 0.02))

    monkeypatch.setattr(warming, "shapes", lambda kind, method: iter([Shape("any", run, 10)]))

    async def warm():
        line = Line(waiting=1, together=1, seconds=30.0)
        await warming.Warming({"words": text_filler()}, line).run(lambda _: None)
        takes = line.estimate(Size(("words", "nade"), 100))
        line.close()
        return takes

    assert 0.2 <= asyncio.run(warm()) < 2  # the second run counts, since the first compiles
    assert len(runs) == 2


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only the C library of GNU")
def test_threads_share_few_arenas():
    """In a process of its own: the C library tells its arenas in XML, one heap each."""
    program = """
import ctypes, threading
from caesura.web.memory import use_few_arenas
library = ctypes.CDLL(None)
library.fdopen.restype = ctypes.c_void_p
library.malloc.restype = ctypes.c_void_p
library.fflush.argtypes = [ctypes.c_void_p]
library.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
use_few_arenas()
together = threading.Barrier(8)
def allocate():
    library.malloc(1000)
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
out = library.fdopen(1, b"w")
library.malloc_info(0, out)
library.fflush(out)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    assert 1 <= told.count(b"<heap nr=") <= ARENAS
