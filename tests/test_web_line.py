"""The line before the model: who waits, who is sent away, and who is answered together."""

import asyncio
import threading
import time

import httpx
import numpy as np
import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from caesura.web import Limits, make_app
from caesura.web import answers as answers_module
from caesura.web.gone import GoneError, unless_gone
from caesura.web.queue import LateError, Line, Size, TooLongError
from caesura.web.schemas import FillQuestion
from served import served
from small_fillers import text_filler
from test_web_api import TEXT, sentence


@pytest.fixture(scope="module")
def fillers():
    return {"words": text_filler()}


@pytest.fixture
def held(monkeypatch):
    """A model that answers when it is let to; what it was asked is noted."""
    begun, let, asked = threading.Semaphore(0), threading.Event(), []

    def log_prob(task):
        asked.append(task.request.data.original)
        begun.release()
        assert let.wait(30)
        return answers_module.LogProbAnswer(log_prob=0.0, standard_error=0.0)

    monkeypatch.setattr(answers_module, "log_prob", log_prob)
    yield begun, let, asked
    let.set()


def in_background(client, body, route="log_prob") -> tuple[threading.Thread, list]:
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(client.post(f"/api/{route}", json=body))
    )
    thread.start()
    return thread, answers


def test_beyond_a_number_that_wait_more_are_sent_away(fillers, held):
    begun, let, _ = held
    limits = Limits(waiting=1)
    with TestClient(make_app(fillers, limits=limits), raise_server_exceptions=False) as client:
        first, first_answers = in_background(client, TEXT)
        assert begun.acquire(timeout=30)
        second, second_answers = in_background(client, TEXT)
        while client.get("/healthz").json()["waiting"] < 1:
            pass
        answer = client.post("/api/log_prob", json=TEXT)
        assert "try again" in sentence(answer, 429)
        assert int(answer.headers["retry-after"]) > 0
        let.set()
        for thread in (first, second):
            thread.join(30)
        assert [a.status_code for a in first_answers + second_answers] == [200, 200]


def test_an_answer_that_does_not_come_in_time_is_given_up(fillers, held):
    begun, let, asked = held
    limits = Limits(seconds=0.5)
    with TestClient(make_app(fillers, limits=limits), raise_server_exceptions=False) as client:
        first, answers = in_background(client, TEXT)
        assert begun.acquire(timeout=30)
        # It waits after the first, and is never begun.
        sentence(client.post("/api/log_prob", json=TEXT | {"sequence": "never_"}), 504)
        first.join(30)
        sentence(answers[0], 504)
        let.set()
        assert client.get("/healthz").json()["waiting"] == 0
    assert asked == [TEXT["sequence"]]


@pytest.mark.slow
def test_fills_that_wait_together_are_done_together(fillers, held, monkeypatch):
    """And have the answers that they would have had alone."""
    begun, let, _ = held
    together = []
    whole = answers_module.fill_all

    def fill_all(tasks, left):
        together.append(len(tasks))
        return whole(tasks, left)

    monkeypatch.setattr(answers_module, "fill_all", fill_all)
    alike = [
        TEXT | {"sequence": text, "seed": seed, "samples": 8, "draws": 8}
        for seed, text in enumerate(
            ["the qu__k fox", "a la__ dog s ps", "____s over it", "jumps over th_"]
        )
    ]
    others = [{"draws": 3}, {"strategy": "oneway"}, {"sequence": "complete"}]
    asked = alike + [TEXT | other for other in others]
    with TestClient(make_app(fillers), raise_server_exceptions=False) as client:
        in_background(client, TEXT)
        assert begun.acquire(timeout=30)
        waiting = []
        for number, question in enumerate(asked, 1):
            waiting.append(in_background(client, question, "fill"))
            while client.get("/healthz").json()["waiting"] < number:
                pass
        let.set()
        for thread, _ in waiting:
            thread.join(60)
    assert sorted(together) == [1, 1, 1, 4]
    for question, (_, told) in zip(asked, waiting, strict=True):
        told = told[0].json()
        names = ("samples", "draws", "strategy", "seed")
        options = {name: question[name] for name in names if name in question}
        fill = fillers["words"].fill(question["sequence"], **options)
        assert told["best"] == fill.best
        assert told["samples"] == fill.samples
        assert np.allclose(told["log_probs"], fill.log_probs, atol=1e-4)
        assert np.allclose(told["confidence"], fill.confidence, atol=1e-5)


def test_what_a_client_does_not_wait_for_is_never_begun():
    worked, let = [], threading.Event()

    def work(items, left):
        worked.extend(items)
        assert let.wait(30)
        return items

    async def leave():
        return {"type": "http.disconnect"}

    async def first_waits_second_leaves():
        line = Line(waiting=8, together=8, seconds=30.0)
        first = asyncio.create_task(line.run(work, "first"))
        while not worked:
            await asyncio.sleep(0.01)
        with pytest.raises(GoneError):
            await unless_gone(Request({"type": "http"}, leave), line.run(work, "second"))
        async with asyncio.timeout(10):
            while line.waiting:
                await asyncio.sleep(0.01)
        let.set()
        assert await first == "first"
        assert await line.run(work, "third") == "third"
        line.close()

    asyncio.run(first_waits_second_leaves())
    assert worked == ["first", "third"]


def test_short_jobs_go_first_but_nobody_waits_for_ever():
    """By a clock of its own: a unit takes half a second, so "long" takes 5 and "short" 0.5."""
    order, let, now = [], threading.Event(), [0.0]

    def work(items, left):
        order.extend(items)
        if items == ["known"]:
            now[0] += 0.5
        elif items == ["first"]:
            assert let.wait(30)
        return items

    async def ask():
        line = Line(waiting=8, together=8, seconds=30.0, clock=lambda: now[0])

        async def put(item, units):
            job = asyncio.create_task(line.run(work, item, size=Size("sort", units)))
            await asyncio.sleep(0.1)
            return job

        assert await (await put("known", 1)) == "known"
        jobs = [await put("first", 0), await put("long", 10), await put("short", 1)]
        with pytest.raises(TooLongError, match=r"limit is 30: ask for 60% of it"):
            await (await put("endless", 100))
        now[0] += 5  # the long one has waited for as long as it takes
        jobs.append(await put("late", 1))
        let.set()
        await asyncio.gather(*jobs)
        line.close()

    asyncio.run(ask())
    assert order == ["known", "first", "short", "long", "late"]


def test_a_failure_goes_to_its_own_client():
    def work(items, left):
        return [ValueError(item) if item == "bad" else item for item in items]

    async def together():
        line, let = Line(waiting=8, together=8, seconds=30.0), threading.Event()
        before = asyncio.create_task(line.run(lambda *_: [let.wait(30)], None))
        await asyncio.sleep(0.1)
        items = ("good", "bad", "fine")
        rest = [asyncio.create_task(line.run(work, item, "alike")) for item in items]
        await asyncio.sleep(0.1)
        let.set()
        assert await before
        answers = await asyncio.gather(*rest, return_exceptions=True)
        line.close()
        return answers

    good, bad, fine = asyncio.run(together())
    assert (good, fine) == ("good", "fine")
    assert isinstance(bad, ValueError)


def test_work_that_all_have_left_is_given_up():
    ended = threading.Event()

    def work(items, left):
        while not left():
            pass
        ended.set()
        raise GoneError

    async def leave():
        line = Line(waiting=8, together=8, seconds=0.2)
        with pytest.raises(LateError):
            await line.run(work, None)
        assert await asyncio.to_thread(ended.wait, 20)
        line.close()

    asyncio.run(leave())


def test_a_job_with_a_limit_of_its_own_takes_as_long_as_that():
    """Half a second a unit: so the first attempt of "slow" takes longer than it may."""
    now = [0.0]

    def work(items, left):
        now[0] += 0.5 if items == ["known"] else 2.0
        return items

    async def ask():
        line = Line(waiting=8, together=8, seconds=30.0, clock=lambda: now[0])
        await line.run(work, "known", size=Size("sort", 1))
        assert line.estimate(Size("sort", 1, seconds=2.0)) == 2.0
        await line.run(work, "timed", size=Size("sort", 10, seconds=2.0))
        assert line.estimate(Size("sort", 10)) == 5.0  # what was timed has taught nothing
        assert line.estimate(Size("sort", 10, seconds=2.0)) == 5.0
        with pytest.raises(TooLongError):
            await line.run(work, "slow", size=Size("sort", 100, seconds=2.0))
        with pytest.raises(TooLongError):
            await line.run(work, "patient", size=Size("sort", 1, seconds=31.0))
        line.close()

    asyncio.run(ask())


def test_idle_work_waits_until_nobody_else_does():
    order, let = [], threading.Event()

    def work(items, left):
        order.extend(items)
        assert let.wait(30)
        return items

    async def ask():
        line = Line(waiting=1, together=8, seconds=30.0)
        first = asyncio.create_task(line.run(work, "first"))
        while not order:
            await asyncio.sleep(0.01)
        idle = asyncio.create_task(line.run_idle(lambda: order.append("idle")))
        await asyncio.sleep(0.05)
        assert line.waiting == 0  # it takes nobody's place
        second = asyncio.create_task(line.run(work, "second"))
        await asyncio.sleep(0.05)
        let.set()
        await asyncio.gather(first, idle, second)
        line.close()

    asyncio.run(ask())
    assert order == ["first", "second", "idle"]


@pytest.mark.parametrize("strategy", ["nade", "search"])
def test_a_request_with_seconds_is_estimated_by_them(strategy):
    fillers = {"words": text_filler()}
    body = TEXT | {"strategy": strategy}
    sizes = [
        answers_module.read_question(fillers, FillQuestion(**body, **more), Limits()).size
        for more in ({}, {"seconds": 2.0})
    ]
    assert [size.seconds for size in sizes] == [0.0, 2.0]
    assert 0 < sizes[1].units < sizes[0].units  # a first attempt is a small one


def test_a_client_that_hangs_up_frees_the_worker(fillers, monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    def fill_all(tasks, left):
        begun.set()
        while not left():
            time.sleep(0.01)
        ended.set()
        raise GoneError

    with monkeypatch.context() as patched, served(make_app(fillers)) as url:
        patched.setattr(answers_module, "fill_all", fill_all)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/api/fill", json=TEXT, timeout=httpx.Timeout(30, read=0.5))
        assert begun.is_set()
        assert ended.wait(10)
        patched.undo()
        assert httpx.post(f"{url}/api/log_prob", json=TEXT, timeout=60).status_code == 200
