"""Tables over HTTP: what `caesura fill series` fills them with, told while it comes about."""

import asyncio
import contextlib
import json
import threading
import time
from functools import partial
from io import StringIO

import httpx
import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import caesura
from caesura.training.loop import Stopped
from caesura.training.train import train
from caesura.web import Limits, fits, make_app, tables
from caesura.web.fits import Fits
from caesura.web.limits import COLUMNS, CSV_CHARACTERS, MISSING, ROWS
from caesura.web.queue import Line
from served import served
from small_fillers import text_filler

UPDATES = 3
pytestmark = pytest.mark.usefixtures("few_rounds")

SMALL = {"hidden": 4, "head_hidden": 4}  # nets
ROUTES = ["table", "fill/series"]


def wave(rows: int = 150) -> pd.DataFrame:
    """Two columns with gaps, one of words, and the hours of the rows."""
    steps = np.arange(rows)
    table = pd.DataFrame(
        {
            "hour": pd.date_range("2024-01-01", periods=rows, freq="h").astype(str),
            "tide": np.sin(steps / 2).round(3),
            "place": "quay",
            "wind": np.cos(steps / 5).round(3) + 10,
        }
    )
    table.loc[20:25, "tide"] = np.nan
    table.loc[[3, 90], "wind"] = np.nan
    return table


CSV = wave().to_csv(index=False)
FULL = {"sequence": CSV, "adapt": "full"}  # a model is trained on the table


@pytest.fixture(autouse=True)
def _small_nets(monkeypatch):
    monkeypatch.setattr(tables, "train", partial(train, **SMALL))


@pytest.fixture(scope="module")
def client():
    app = make_app({"words": text_filler()}, limits=Limits(updates=UPDATES))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def lines(response) -> list[dict]:
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


def test_a_table_as_it_can_be_drawn(client):
    told = client.post("/api/table", json={"sequence": CSV}).json()
    assert told["time"] == "hour"
    assert told["x"][:2] == [1704067200, 1704070800]
    assert told["others"] == ["place"]
    tide, wind = told["columns"]
    assert (tide["name"], wind["name"]) == ("tide", "wind")
    assert tide["values"][19:27] == [*wave()["tide"][19:20], *[None] * 6, *wave()["tide"][26:27]]
    assert [row for row, value in enumerate(wind["values"]) if value is None] == [3, 90]


@pytest.mark.slow
def test_the_pretrained_model_is_tuned_on_request(client, monkeypatch):
    monkeypatch.setattr(tables, "SECONDS", 1.0)
    told = lines(client.post("/api/fill/series", json={"sequence": CSV, "adapt": "quick"}))
    assert {"trains", "draws", "filled"} <= {line["state"] for line in told}
    assert told[-1]["columns"][0]["rows"] == list(range(20, 26))


def test_the_example_is_what_was_measured(client):
    told = client.get("/static/mauna-loa-co2.csv").text
    table = pd.read_csv(StringIO(told), index_col=0, parse_dates=True)
    assert table.index.equals(pd.date_range("1958-03-29", "1969-12-27", freq="W-SAT"))
    assert table["co2_ppm"].isna().sum() == 53
    assert table["co2_ppm"].between(310, 330).sum() == len(table) - 53


def test_rows_without_times_are_numbered(client):
    told = client.post("/api/table", json={"sequence": "a\n1.5\n\n-2\n"}).json()
    assert told["time"] is None
    assert told["x"] == [0, 1, 2]
    assert told["columns"] == [{"name": "a", "values": [1.5, None, -2]}]


def test_a_table_is_filled_at_once_by_the_pretrained_model(client):
    told = lines(client.post("/api/fill/series", json={"sequence": CSV}))
    assert [line["state"] for line in told] == ["waits", "draws", "filled"]
    fill = caesura.load("series").fitted([wave()]).fill(wave())
    expected = fill.quantile(told[-1]["levels"])
    for column, rows in zip(told[-1]["columns"], ([*range(20, 26)], [3, 90]), strict=True):
        assert column["rows"] == rows
        for level, numbers in enumerate(column["quantiles"]):
            assert np.allclose(numbers, expected[level][column["name"]].iloc[rows], rtol=1e-4)
    assert not pd.read_csv(StringIO(told[-1]["sequence"]))["tide"].isna().any()


@pytest.mark.slow
def test_a_table_is_filled_as_the_library_fills_it(client):
    told = lines(client.post("/api/fill/series", json=FULL | {"seed": 4}))
    states = [line["state"] for line in told]
    assert states[:2] == ["waits", "trains"]
    assert states[-2:] == ["draws", "filled"]
    steps = [line["step"] for line in told if line["state"] == "trains"]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, UPDATES)

    filled = told[-1]
    asked = {"recipe": "series", "seed": 4, "steps": UPDATES, "pool": tables.SECONDS}
    filler = train([wave()], kind="series", **asked, **SMALL)
    fill = filler.fill(wave(), draws=100, samples=5, seed=4)
    expected = fill.quantile(filled["levels"])
    for column, rows in zip(filled["columns"], ([*range(20, 26)], [3, 90]), strict=True):
        assert column["rows"] == rows
        for level, numbers in enumerate(column["quantiles"]):
            assert np.allclose(numbers, expected[level][column["name"]].iloc[rows], rtol=1e-5)
        assert np.all(np.diff(column["quantiles"], axis=0) >= 0)
        assert np.shape(column["samples"]) == (5, len(rows))

    # Every cell that was there has the characters that it had.
    before, after = (
        pd.read_csv(StringIO(text), dtype=str, na_filter=False)
        for text in (CSV, filled["sequence"])
    )
    changed = before != after
    assert changed.sum().to_dict() == {"hour": 0, "tide": 6, "place": 0, "wind": 2}
    assert (before[changed].fillna("") == "").all(axis=None)
    median = filled["columns"][0]["quantiles"][2][0]
    assert after["tide"][20] == f"{median:.3f}"  # as many decimals as the column has


@pytest.mark.slow
def test_columns_can_be_left_out(client):
    asked = {"sequence": CSV, "adapt": "full", "columns": ["wind"]}
    filled = lines(client.post("/api/fill/series", json=asked))[-1]
    assert [column["name"] for column in filled["columns"]] == ["wind"]
    after = pd.read_csv(StringIO(filled["sequence"]))
    assert after["tide"].isna().sum() == 6
    assert after["wind"].notna().all()


@pytest.mark.slow
def test_a_model_that_is_offered_fills_without_training():
    filler = train([wave()], kind="series", steps=1, **SMALL)
    with TestClient(make_app({"tides": filler})) as client:
        (offered,) = client.get("/api/models").json()
        assert (offered["name"], offered["kind"]) == ("tides", "series")
        told = lines(client.post("/api/fill/series", json={"sequence": CSV, "model": "tides"}))
        assert [line["state"] for line in told] == ["waits", "draws", "filled"]
        refused = client.post(
            "/api/fill/series", json={"sequence": CSV, "model": "tides", "columns": ["tide"]}
        )
        assert refused.status_code == 422
        told = client.post("/api/fill", json={"model": "tides", "sequence": CSV, "samples": 1})
        assert told.json()["kind"] == "series"
        assert told.json()["views"][0]["columns"][0]["name"] == "tide"
        sentence(client.post("/api/fill", json={"model": "tides", "sequence": "a_"}))


def rows_of(count: int, columns: int = 1) -> str:
    return "\n".join([",".join(map(str, range(columns))), *[",".join(["1"] * columns)] * count])


BAD = {
    "nothing": "",
    "no numbers": "a,b\nx,y\n",
    "no rows": "a,b\n",
    "a broken quote": 'a,b\n"1,2\n',
    "rows of many lengths": "a,b\n1,2\n1,2,3,4\n",
    "an infinite number": "a\n1\ninf\n",
    "a path": "/etc/passwd",
    "half a character": "a\n1\n\ud800\n",
    "too many rows": rows_of(ROWS + 1),
    "too many columns": rows_of(2, COLUMNS + 1),
    "too long": "a" * (CSV_CHARACTERS + 1),
    "times that go back": "t,a\n2024-01-02,1\n2024-01-01,2\n2024-01-03,3\n",
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("route", ROUTES)
def test_a_mistake_is_one_sentence(client, name, route):
    body = json.dumps({"sequence": BAD[name]}).encode()
    sent = {"content-type": "application/json"}
    sentence(client.post(f"/api/{route}", content=body, headers=sent))


def test_a_column_that_cannot_be_filled_can_be_looked_at_and_left_out(client):
    table = wave().assign(open=[0, 1] * 75, never=np.nan)
    told = client.post("/api/table", json={"sequence": table.to_csv(index=False)}).json()
    assert [column["name"] for column in told["columns"]] == ["tide", "wind", "open"]
    assert told["others"] == ["place", "never"]


NOT_TO_FILL = {
    "a column of many words": (
        {
            "sequence": wave().assign(note=[f"n{n}" for n in range(150)]).to_csv(index=False),
            "columns": ["note"],
        },
        "holds neither numbers nor a category",
    ),
    "too little to learn from": (
        {"sequence": wave(95).to_csv(index=False), "adapt": "full"},
        "too few to learn",
    ),
    "nothing missing": ({"sequence": wave().dropna().to_csv(index=False)}, "Nothing is missing"),
    "no such column": ({"sequence": CSV, "columns": ["tied"]}, "tied"),
    "no such model": ({"sequence": CSV, "model": "tides"}, "tides"),
    "a model of another kind": ({"sequence": CSV, "model": "words"}, "not for series"),
    "too much missing": (
        {"sequence": "a,b\n" + "1,2\n" * 100 + "3,4\n" + ",5\n" * (ROWS - 5000) + ",\n" * 4000},
        f"the server draws {MISSING} at most",
    ),
}


@pytest.mark.parametrize("name", NOT_TO_FILL)
def test_what_cannot_be_filled_is_said_before_anything_begins(client, name):
    asked, why = NOT_TO_FILL[name]
    assert why in sentence(client.post("/api/fill/series", json=asked))


def sentence(response) -> str:
    assert response.status_code == 422, response.text
    detail = response.json()["detail"]
    assert detail[0].isupper()
    assert detail[-1] in ".?"
    assert detail.isprintable()
    assert "/tmp" not in detail
    return detail


@pytest.fixture
def endless(monkeypatch):
    """Fits that go on until they are stopped; what became of each is noted."""
    begun, ended = threading.Semaphore(0), []

    def fill_table(table, updates, report, stop):
        report(tables.FitTrains(step=0, steps=9, validation=None, seconds_left=None))
        begun.release()
        while not stop():
            time.sleep(0.01)
        ended.append(table.asked.seed)
        raise Stopped

    monkeypatch.setattr(tables, "fill_table", fill_table)
    return begun, ended


def wait_for(what) -> None:
    until = time.monotonic() + 20
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


def ask(client: httpx.Client, seed: int):
    return client.stream("POST", "/api/fill/series", json=FULL | {"seed": seed})


def test_a_fit_stops_when_its_client_goes_and_the_next_begins(endless):
    begun, ended = endless
    app = make_app({}, limits=Limits(fits_waiting=1))
    with served(app) as address, httpx.Client(base_url=address, timeout=30) as client:
        with ask(client, 1) as first:
            told = first.iter_lines()
            assert [json.loads(next(told))["state"] for _ in range(2)] == ["waits", "trains"]
            with ask(client, 2) as second:
                waiting = second.iter_lines()
                assert json.loads(next(waiting)) == {"state": "waits"}
                with ask(client, 3) as third:
                    assert third.status_code == 429
                    assert int(third.headers["retry-after"]) > 0
                assert "caesura_fits_waiting 1" in client.get("/metrics").text
                assert ended == []
                first.close()
                assert json.loads(next(waiting))["state"] == "trains"
                assert ended == [1]
        wait_for(lambda: ended == [1, 2])
    assert [begun.acquire(blocking=False) for _ in range(3)] == [True, True, False]


@pytest.mark.slow
def test_a_real_training_stops_when_its_client_goes(monkeypatch):
    ended = []

    def noted(*args, **fields):
        with contextlib.suppress(Stopped):
            return train(*args, **fields, **SMALL, steps=10**6)
        ended.append("stopped")
        raise Stopped

    monkeypatch.setattr(tables, "train", lambda *a, steps, **fields: noted(*a, **fields))
    with served(make_app({})) as address, httpx.Client(base_url=address, timeout=90) as client:
        with ask(client, 0) as answer:
            for line in answer.iter_lines():
                if json.loads(line).get("step", 0) > 0:
                    break
        wait_for(lambda: ended == ["stopped"])


def test_a_fit_that_takes_too_long_is_stopped(endless):
    _, ended = endless
    with TestClient(make_app({}, limits=Limits(fit_seconds=0.3))) as client:
        told = lines(client.post("/api/fill/series", json=FULL))
    assert "did not come in time" in told[-1]["detail"]
    wait_for(lambda: ended == [0])


def test_what_goes_wrong_in_a_fit_is_said_in_its_last_line(monkeypatch):
    def fill_table(*_):
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(tables, "fill_table", fill_table)
    with TestClient(make_app({})) as client:
        told = lines(client.post("/api/fill/series", json=FULL))
    assert told[-1] == {"detail": "Something went wrong on the server; its log says what."}


class Stays:
    """A client that does not leave."""

    async def receive(self):
        await asyncio.Event().wait()


def test_a_short_fit_does_not_give_way():
    """It ends while others are worked on."""
    let = threading.Event()

    def fit(report, stop):
        return [stop() for _ in range(5)]

    async def both():
        short, long = Line(8, 8, 30.0), Line(8, 1, 30.0)
        working = asyncio.create_task(short.run(lambda *_: [let.wait(20)], None))
        await asyncio.sleep(0.1)
        told = [one async for one in Fits(long, before=short).run(fit, Stays())]
        assert told[-1] == [False] * 5
        assert not working.done()
        let.set()
        await working
        short.close()
        long.close()

    asyncio.run(asyncio.wait_for(both(), 5))


def test_fits_give_way_to_short_work(monkeypatch):
    """A fit asks whether it shall stop, and gets no answer while others wait or are worked on."""
    monkeypatch.setattr(fits, "PIECE", 0.05)
    moves, let = [], threading.Event()

    def fit(report, stop):
        while not stop():
            moves.append(time.monotonic())
            time.sleep(0.01)

    async def both():
        short, long = Line(8, 8, 30.0), Line(8, 1, 30.0)
        told = Fits(long, before=short).run(fit, Stays())
        await anext(told)
        while len(moves) < 3:
            await asyncio.sleep(0.01)
        working = asyncio.create_task(short.run(lambda *_: [let.wait(20)], None))
        await asyncio.sleep(0.1)
        before = len(moves)
        await asyncio.sleep(0.3)
        assert len(moves) <= before + 1  # at most the move that it was in
        let.set()
        assert await working
        while len(moves) < before + 5:
            await asyncio.sleep(0.01)
        await told.aclose()
        short.close()
        long.close()

    asyncio.run(asyncio.wait_for(both(), 30))
