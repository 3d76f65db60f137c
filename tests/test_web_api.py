"""The server over HTTP: the library's own answers, and one sentence for everything else."""

import base64
import json

import jax.numpy as jnp
import numpy as np
import pytest
from fastapi.testclient import TestClient

from caesura.filler import Request
from caesura.kinds import Composition, Music, Song
from caesura.strategies import GSN, STRATEGIES
from caesura.web import make_app
from caesura.web.composing import compose
from caesura.web.limits import BODY_BYTES, STEPS
from caesura.web.schemas import Box, ComposedQuestion
from caesura.web.security import LOOPBACK
from demo.tune import song as greensleeves
from markov_pair import markov_filler
from small_fillers import music_filler, text_filler

TEXT = {"model": "words", "sequence": "the qu__k fox"}


@pytest.fixture(scope="module")
def fillers():
    return {"words": text_filler(), "tunes": music_filler(), "chain": markov_filler("search")}


@pytest.fixture(scope="module")
def client(fillers):
    with TestClient(make_app(fillers), raise_server_exceptions=False) as client:
        yield client


def sentence(response, status: int) -> str:
    """The one sentence of a refusal."""
    assert response.status_code == status, response.text
    assert list(response.json()) == ["detail"]
    detail = response.json()["detail"]
    assert detail[0].isupper()
    assert detail[-1] in ".?"
    assert detail.isprintable()
    assert len(detail) < 400
    return detail


def encoded(song: Song) -> str:
    return base64.b64encode(song.to_bytes()).decode()


def music(**more):
    boxes = [{"first": 30, "stop": 34}]
    return {"model": "tunes", "sequence": encoded(greensleeves()), "missing": boxes} | more


def test_the_models_that_are_offered(client):
    words, tunes, _ = client.get("/api/models").json()
    assert (words["name"], words["kind"], words["fields"]["gap_char"]) == ("words", "text", "_")
    assert (tunes["name"], tunes["kind"], tunes["fields"]) == (
        "tunes",
        "music",
        {"steps_per_beat": 2, "struck": False},
    )
    assert set(words["strategies"]) == set(STRATEGIES) - {"bayes"}
    assert words["strategy"] == "nade"


@pytest.mark.parametrize("strategy", [None, "oneway"])
def test_a_text_is_filled_as_the_library_fills_it(client, fillers, strategy):
    asked = {"samples": 3, "draws": 8, "seed": 7, "strategy": strategy}
    told = client.post("/api/fill", json=TEXT | asked | {"missing": [{"first": 0, "stop": 1}]})
    assert told.status_code == 200, told.text
    fill = fillers["words"].fill(TEXT["sequence"], missing=[0], **asked)
    assert told.json() == fill.to_dict() | {
        "kind": "text",
        "view": {},
        "views": [{}] * 3,
        "lacunae": [],
    }


@pytest.mark.slow
def test_gaps_of_unknown_length_are_searched(client, fillers):
    text = "abca{1-3}bcab_ca"
    told = client.post("/api/fill", json={"model": "chain", "sequence": text})
    assert told.status_code == 200, told.text
    fill = fillers["chain"].fill(text)
    assert told.json() == fill.to_dict() | {"kind": "text", "view": {}, "views": [], "lacunae": []}
    assert list(told.json()["gaps"][0]["lengths"]) == [*map(str, fill.gaps[0].lengths)]
    asked = {"model": "chain", "sequence": text, "seconds": 5, "missing": [{"first": 0, "stop": 1}]}
    told = client.post("/api/fill", json=asked).json()
    assert told["ended"] in ("settled", "finished", "out of time")
    assert len(told["gaps"]) == 3
    for route in ("marginals", "log_prob"):
        asked = {"model": "chain", "sequence": text, "missing": [{"first": 0, "stop": 1}]}
        assert "unknown length" in sentence(client.post(f"/api/{route}", json=asked), 422)


def test_the_cost_of_a_search_counts_every_length(client, fillers):
    texts = ("abca____bca", "abca{2-4}bca")
    longest, three = (fillers["chain"].states(Request(text)) for text in texts)
    assert three == 3 * longest
    text = "a{1-64}" * 100
    assert "too much" in sentence(
        client.post("/api/fill", json={"model": "chain", "sequence": text}), 422
    )
    group = fillers["chain"].group  # whatever their shapes, they are searched in one pass
    assert group(Request("abca__bca")) == group(Request("cbca__babcb_a{2-4}"))
    assert group(Request("abca__bca")) != group(Request("abca__bca", strategy="nade"))


def test_draws_are_the_librarys_unless_specified(client, fillers):
    told = client.post("/api/fill", json=TEXT).json()
    fill = fillers["words"].fill(TEXT["sequence"])
    assert [one["sequence"] for one in told["candidates"]] == [c.sequence for c in fill.candidates]
    assert told["covered"] == pytest.approx(fill.covered)
    assert told["samples"] == []


def test_probabilities_are_those_of_the_library(client, fillers):
    told = client.post("/api/marginals", json=TEXT).json()
    marginals = fillers["words"].marginals(TEXT["sequence"])
    assert told["places"] == [[6, 0], [7, 0]]
    assert told["likeliest"] == [[list(pair) for pair in row] for row in marginals.top(10)]
    whole = TEXT | {"sequence": "the quick fox", "missing": [{"first": 6, "stop": 8}]}
    told = client.post("/api/log_prob", json=whole).json()
    log_prob = fillers["words"].log_prob("the quick fox", missing=slice(6, 8))
    assert told == {"log_prob": float(log_prob), "standard_error": 0.0}


@pytest.mark.slow
def test_the_last_of_a_chain_is_what_gsn_fills_with(client, fillers):
    asked = TEXT | {"samples": 2, "seed": 3}
    told = client.post("/api/fill/chain", json=asked)
    assert told.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in told.text.splitlines()]
    assert [line["steps"] for line in lines] == [5, 10, 20, 50, 100]
    fill = fillers["words"].fill(
        TEXT["sequence"], samples=2, draws=2, seed=3, strategy=GSN(jnp.asarray(100), 25)
    )
    assert lines[-1]["fill"]["samples"] == fill.samples
    assert np.allclose(lines[-1]["fill"]["log_probs"], fill.log_probs, atol=1e-5)


@pytest.mark.slow
def test_a_song_is_filled_as_the_library_fills_it(client, fillers):
    told = client.post("/api/fill", json=music(samples=2, seed=5)).json()
    fill = fillers["tunes"].fill(greensleeves(), missing=slice(30, 34), samples=2, seed=5)
    assert told["best"] == encoded(fill.best)
    assert told["samples"] == [encoded(sample) for sample in fill.samples]
    roll = np.zeros_like(fill.values)
    sample = fillers["tunes"].kind.open(fill.samples[0]).sequence.values
    for key, first, stop, *_ in told["views"][0]["notes"]:
        roll[first:stop, key - 21] = 1
    assert np.array_equal(roll, sample)


def test_pinned_notes_sound_and_keys_outside_the_boxes_stay(client, fillers):
    boxes = [{"first": 30, "stop": 34, "lowest": 50, "highest": 70}]
    pinned = [{"first": 31, "stop": 33, "lowest": 61, "highest": 61}]
    told = client.post("/api/fill", json=music(missing=boxes, pinned=pinned, samples=4)).json()
    kind = fillers["tunes"].kind
    before = kind.open(greensleeves()).sequence.values
    assert len(told["samples"]) == 4
    for sample in told["samples"]:
        roll = kind.open_content(base64.b64decode(sample)).sequence.values.copy()
        assert roll[31:33, 61 - 21].all()
        roll[30:34, 50 - 21 : 71 - 21] = before[30:34, 50 - 21 : 71 - 21]
        assert np.array_equal(roll, before)


WISHES = {"voice": "chords", "keep": ["top"], "force": ["C4"], "forbid": ["60-62", "B3"]}


@pytest.mark.parametrize("boxes", [[{"first": 30, "stop": 42}], []], ids=["gap", "whole"])
@pytest.mark.parametrize(
    "wish", [*({name: WISHES[name]} for name in WISHES), {"add": "C2-B3"}], ids=[*WISHES, "add"]
)
def test_what_is_left_to_fill_is_what_the_library_leaves(client, fillers, wish, boxes):
    told = client.post("/api/view", json=music(missing=boxes, **wish))
    opened = fillers["tunes"].kind.open(greensleeves())
    composition = Composition(gaps=((30, 42),) if boxes else (), unit="steps", **wish)
    if not boxes and not wish.keys() & {"voice", "keep", "add"}:
        assert "no gaps" in sentence(told, 422)
        return
    item = composition.arrange(opened)
    missing = np.zeros((len(opened.roll), 88), bool)
    for box in told.json()["missing"]:
        cells = np.s_[box["first"] : box["stop"], box["lowest"] - 21 : box["highest"] - 20]
        assert not missing[cells].any()
        missing[cells] = True
    assert np.array_equal(missing, item.missing)
    assert told.json()["notes"] == item.view(item.original)["notes"]


@pytest.mark.slow
def test_the_wishes_of_a_composer_are_met_as_in_the_library(client, fillers):
    told = client.post("/api/fill", json=music(**WISHES | {"forbid": ["D4"]}, seed=3)).json()
    composition = Composition(((30, 34),), "steps", ("top",), "chords", ("C4",), ("D4",))
    fill = fillers["tunes"].fill(
        composition.arrange(fillers["tunes"].kind.open(greensleeves())), seed=3
    )
    assert told["best"] == encoded(fill.best)
    assert told["view"] == fill.item.view(fill.best)
    assert told["places"] == fill.places.tolist()


def test_a_pinned_note_is_struck_unless_it_comes_from_before(fillers):
    """Repeated notes differ from held ones, where a frame says which is which."""
    roll = np.zeros((16, 88), int)
    roll[:8, 39] = 1
    song = Song.from_roll(roll, steps_per_beat=4)
    item = Music(4, struck=True).open(song)
    boxes = {"missing": [Box(first=4, stop=12)], "model": "", "sequence": "-"}
    for first, expected in ((4, [2, 1, 1, 1, 2, 1]), (0, [2, 1, 1, 1, 1, 1])):
        pin = Box(first=first, stop=6, lowest=60, highest=60)
        asked = ComposedQuestion(**boxes, pinned=[pin])
        pinned = compose(Music(4, struck=True), item, asked)
        assert pinned.sequence.values[:6, 39].tolist() == expected
        assert pinned.missing[:, 39].tolist() == [False] * 6 + [True] * 6 + [False] * 4
        assert pinned.missing[4:12, :39].all()
        assert not pinned.missing[:, 88:].any()


def test_a_pinned_note_of_a_part_stays_when_the_part_is_filled(fillers):
    kind = fillers["tunes"].kind
    pin = Box(first=31, stop=33, lowest=70, highest=70)
    boxes = {"missing": [Box(first=30, stop=42)], "model": "", "sequence": "-"}
    asked = ComposedQuestion(**boxes, voice="1", pinned=[pin])
    item = compose(kind, kind.open(greensleeves()), asked)
    filled = kind.open(item.write(item.sequence.values, item.missing))  # silent but for it
    own = [lane for lane in filled.lanes if lane.voice.track == item.track]
    inside = [(lane.key, n.first, n.stop) for lane in own for n in lane.notes if 30 <= n.first < 42]
    assert inside == [(70 - 21, 31, 33)]


def test_a_song_on_the_grid(client):
    asked = {"model": "tunes", "sequence": encoded(greensleeves())}
    told = client.post("/api/view", json=asked).json()
    assert told["steps"] == 17 * 6
    assert told["bars"] == list(range(0, 17 * 6, 6))
    assert told["seconds"] == pytest.approx([0.32 * step for step in range(17 * 6 + 1)], abs=1e-3)
    assert [69, 5, 6, 88, 1] in told["notes"]  # the upbeat
    assert told["parts"] == ["Melody", "Chords"]
    assert {note[4] for note in told["notes"]} == {1, 2}
    assert told["beats"] == list(range(0, 17 * 6, 3))
    assert (told["first_bar"], told["steps_per_beat"], told["suffix"]) == (1, 2, ".mid")
    assert told["missing"] == []


def test_the_time_of_a_song_follows_its_tempo(client):
    """Two beats of half a second, then some of a quarter."""
    from mido import Message, MetaMessage, MidiFile, MidiTrack

    from songs import content

    file = MidiFile(ticks_per_beat=100, tracks=[MidiTrack()])
    file.tracks[0] += [
        Message("note_on", note=60, velocity=70),
        MetaMessage("set_tempo", tempo=250_000, time=200),
        Message("note_off", note=60, time=100),
    ]
    sequence = base64.b64encode(content(file)).decode()
    told = client.post("/api/view", json={"model": "tunes", "sequence": sequence}).json()
    assert told["seconds"] == [0, 0.25, 0.5, 0.75, 1, 1.125, 1.25]


BAD = {
    "no model of that name": TEXT | {"model": "wrods"},
    "a path": TEXT | {"model": "/etc/passwd"},
    "a text for a model of music": TEXT | {"model": "tunes"},
    "a strategy that takes minutes": TEXT | {"strategy": "bayes"},
    "no such strategy": TEXT | {"strategy": "magic"},
    "a number in quotes": TEXT | {"seed": "3"},
    "a seed below zero": TEXT | {"seed": -1},
    "a seed too large": TEXT | {"seed": 2**32},
    "a field that is unknown": TEXT | {"kind": "text"},
    "an empty text": TEXT | {"sequence": ""},
    "a text too long": TEXT | {"sequence": "a" * (STEPS + 1)},
    "half a character": TEXT | {"sequence": "a\ud800_"},
    "a box outside": TEXT | {"missing": [{"first": 5, "stop": 99}]},
    "a box that runs backwards": TEXT | {"missing": [{"first": 5, "stop": 3}]},
    "a component that a text lacks": TEXT | {"missing": [{"first": 5, "stop": 6, "highest": 1}]},
    "pinned characters": TEXT | {"pinned": [{"first": 5, "stop": 6}]},
    "too much work": TEXT | {"sequence": "_" * 2000, "strategy": "gsn", "draws": 64},
    "a limit of time that is too long": TEXT | {"seconds": 11},
    "no time": TEXT | {"seconds": 0},
    "no sequence": {"model": "words"},
    "no base64": music(sequence="!"),
    "bad base64": music(sequence="AAAAA"),
    "base64 of other letters": music(sequence="éééé"),
    "no song": music(sequence=base64.b64encode(b"RIFF....").decode()),
    "half a song": music(sequence=encoded(greensleeves())[:200]),
    "keys that run downwards": music(
        missing=[{"first": 1, "stop": 2, "lowest": 60, "highest": 50}]
    ),
    "a key that no piano has": music(missing=[{"first": 1, "stop": 2, "lowest": 3}]),
    "a part that the song lacks": music(voice="Tuba"),
    "no pitch": music(keep=["H4"]),
    "a pitch that no piano has": music(force=["C9"]),
    "a key that must and must not sound": music(force=["C4"], forbid=["60"]),
    "nothing left to fill": music(keep=["21-108"]),
    "a wish for a text": TEXT | {"keep": ["top"]},
    "a list": [1, 2],
    "nothing": None,
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("route", ["fill", "fill/chain", "log_prob", "marginals"])
def test_a_mistake_is_one_sentence(client, name, route):
    body = json.dumps(BAD[name]).encode()
    answer = client.post(
        f"/api/{route}", content=body, headers={"content-type": "application/json"}
    )
    sentence(answer, 422)


@pytest.mark.parametrize("samples", [-1, 65, "3", 1.5, None, True])
def test_samples_are_a_number_within_bounds(client, samples):
    assert "samples" in sentence(client.post("/api/fill", json=TEXT | {"samples": samples}), 422)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"kind": NaN}', b"1" * 5000, b'"\\ud800"', b"\x00"],
    ids=range(8),
)
@pytest.mark.parametrize("route", ["fill", "view"])
def test_what_is_no_json_is_refused(client, body, route):
    answer = client.post(
        f"/api/{route}", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422), answer.text
    sentence(answer, answer.status_code)


def test_other_content_types_and_long_bodies_are_refused(client):
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/jsonp", ""):
        answer = client.post("/api/fill", content=b"{}", headers={"content-type": kind})
        assert "application/json" in sentence(answer, 415)
    long = b" " * (BODY_BYTES + 1)
    for content in (long, iter([long[:1000], long])):  # with its length told, and without
        answer = client.post(
            "/api/fill", content=content, headers={"content-type": "application/json"}
        )
        assert str(BODY_BYTES) in sentence(answer, 413)


def test_every_answer_carries_the_headers(client):
    for path in ("/", "/docs", "/api/models", "/static/style.css", "/nowhere", "/openapi.json"):
        headers = client.get(path, headers={"origin": "https://elsewhere.example"}).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert not any(name.startswith("access-control") for name in headers)
    preflight = {"origin": "https://elsewhere.example", "access-control-request-method": "POST"}
    answer = client.options("/api/fill", headers=preflight)
    assert answer.status_code == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_server_on_this_machine_answers_to_no_other_name(fillers):
    app = make_app(fillers, hosts=LOOPBACK)
    for host, status in {
        "localhost:8123": 200,
        "127.0.0.1": 200,
        "[::1]:8123": 200,
        "rebound.example:8123": 421,
        "": 421,
    }.items():
        answer = TestClient(app).get("/healthz", headers={"host": host})
        assert answer.status_code == status


def test_the_example_is_the_tune_of_the_demo(client):
    assert client.get("/static/greensleeves.mid").content == greensleeves().to_bytes()


def test_nothing_outside_the_page_is_served(client):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/"):
        assert client.get(path).status_code == 404


def test_requests_are_counted_by_route(client):
    client.get("/healthz")
    client.get("/made/up")
    told = client.get("/metrics")
    assert told.headers["content-type"].startswith("text/plain; version=")
    assert 'caesura_requests_total{method="GET",route="/healthz",status="200"}' in told.text
    assert "made" not in told.text
    assert 'caesura_request_seconds_bucket{le="0.01",route="/healthz"}' in told.text
    assert "caesura_waiting 0" in told.text


def test_the_description_names_every_route(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {
        *("/api/models", "/api/fill", "/api/fill/chain", "/api/log_prob", "/api/marginals"),
        *("/api/view", "/api/edition", "/api/table", "/api/fill/series", "/healthz", "/readyz"),
        "/metrics",
    }
    for path, methods in paths.items():
        for method in methods.values():
            assert method["description"], path
