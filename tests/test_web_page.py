"""The page in a real browser: all views from beginning to end, at two widths.

Screenshots are left in `screenshots/`, for a look at what no test can judge.
"""

import base64
import contextlib
from functools import partial

import pandas as pd
import pytest

from caesura.training.train import train
from caesura.web import Limits, make_app, tables
from demo.tune import song as greensleeves
from on_page import AXE, CHROMIUM, drag, filled, look, serious_faults, shown
from scores import small_score
from served import served
from small_fillers import keys_filler, music_filler, text_filler
from test_web_series import wave

UPDATES = 40  # of a fit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no /usr/bin/chromium"),
]


@pytest.fixture(scope="module")
def address():
    """A server with small models, at a port that is free."""
    fillers = {"text": text_filler(), "music": music_filler(), "keys": keys_filler()}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "train", partial(train, hidden=8, head_hidden=8))
        with served(make_app(fillers, limits=Limits(updates=UPDATES))) as address:
            yield address


def test_the_journey_of_a_text(page):
    page.goto("/")
    assert shown(page) == (
        "The Battle of Hast____ was fought in 1066 between the Nor____ and the English."
    )
    look(page, "text-1-erased")
    page.click("#text-fill")
    filled(page, "text")
    assert "_" not in shown(page).replace("\n", "")[:14]

    # What could stand in a gap, and another choice there: the rest is filled given it.
    page.click("#sheet [data-i='18']")
    page.wait_for_selector("#gap-list li >> nth=3")
    assert page.inner_text("#gap-title") == "Gap 1 of 2"
    look(page, "text-2-filled")
    signs = page.locator("#gap-list .sign").all_inner_texts()
    n = next(n for n, sign in enumerate(signs) if n >= 2 and "_" not in sign)
    page.click(f"#gap-list button >> nth={n}")
    filled(page, "text")
    assert page.get_attribute(f"#gap-list button >> nth={n}", "aria-pressed") == "true"
    assert page.locator("#sheet .pinned").count() == 1
    # By keys: the next gap, what could stand there, and a reading that is typed.
    assert page.evaluate("document.activeElement.dataset.i") == "18"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.inner_text("#gap-title") == "Gap 2 of 2"
    assert page.evaluate("document.activeElement.closest('#gap-list') !== null")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.i") == "57"
    page.fill("#gap-reading", "m__s")
    page.keyboard.press("Enter")
    assert "cannot be put in" in page.inner_text("#text-status")
    page.fill("#gap-reading", "mans")
    page.keyboard.press("Enter")
    assert "nothing is left to fill" in page.inner_text("#text-status")
    assert shown(page).endswith("the Normans and the English.")
    page.click("#gap-unchoose")
    filled(page, "text")
    assert page.locator("#sheet .pinned").count() == 1
    page.click("#joint-card summary")
    assert "nats" in page.inner_text("#joint-hint")
    look(page, "text-3-chosen")

    # A reload loses nothing.
    before = shown(page)
    page.reload()
    assert shown(page) == before
    assert page.locator("#sheet .pinned").count() == 1

    # More is erased by dragging over it, and comes back.
    page.click("#text-back")
    assert "Hastings" in shown(page)
    drag(
        page,
        page.locator("#sheet [data-i='4']").bounding_box(),
        page.locator("#sheet [data-i='9']").bounding_box(),
    )
    assert shown(page).startswith("The ______ of")

    # By typing, and another strategy.
    page.click("#text-edit")
    page.fill("#text-editor", "a quick br___ fox")
    page.click("#text-edit")
    assert shown(page) == "a quick br___ fox"
    page.select_option("#text-strategy", "gsn")
    page.click("#text-fill")
    filled(page, "text")
    assert shown(page).startswith("a quick br")
    look(page, "text-4-chain")


def test_gaps_of_unknown_length(page):
    page.goto("/")
    page.select_option("#text-strategy", "search")
    page.click("#text-edit")
    page.fill("#text-editor", r"a{2-4} brown \{2} fox and a{1-2} dog")
    page.click("#text-edit")
    assert page.locator("#sheet .empty").all_inner_texts() == ["{2-4}", "{1-2}"]
    page.click("#text-fill")
    filled(page, "text")
    assert page.locator("#sheet .filled").count() == 2
    page.click("#sheet .filled >> nth=0")
    assert page.locator("#length-list li").count() == 3
    look(page, "text-5-lengths")
    # What is chosen is sent as text, though it looks like a gap.
    page.fill("#gap-reading", "{5}")
    page.keyboard.press("Enter")
    filled(page, "text")
    assert shown(page).startswith("a{5} brown")
    assert page.locator("#sheet .filled").count() == 1
    page.click("#text-edit")
    assert page.input_value("#text-editor") == r"a\{5} brown \{2} fox and a{1-2} dog"


def test_the_journey_of_a_song(page, tmp_path):
    page.goto("/#music")
    page.wait_for_selector("#song-name:has-text('Greensleeves')")
    assert "erased from bar 6 to bar 7" in page.get_attribute("#roll", "aria-label")
    look(page, "music-1-erased")
    page.click("#music-fill")
    filled(page, "music")
    assert page.locator("#versions .choose").count() == 7
    assert "new note" in page.inner_text("#versions .choose >> nth=1")
    look(page, "music-2-filled")

    # A new note is kept while the rest is filled again.
    note = page.locator("#new-notes button >> nth=0")
    name = note.get_attribute("aria-label").split(",")[0]
    note.click()
    assert "1 new note is kept" in page.inner_text("#music-status")
    page.click("#music-again")
    filled(page, "music")
    kept = page.locator("#new-notes button[aria-pressed=true]")
    assert kept.get_attribute("aria-label") == f"{name}, kept"
    look(page, "music-3-kept")

    # Another version, listened to: the cursor moves, and Stop stops it.
    page.click("#versions .choose >> nth=2")
    page.click("#music-play-gap")
    assert page.inner_text("#music-play-gap") == "Stop"
    before = page.locator("#roll").screenshot()
    page.wait_for_timeout(400)
    assert page.locator("#roll").screenshot() != before
    page.click("#music-play-gap")
    assert page.inner_text("#music-play-gap") == "Play around the gap"

    # What is downloaded is the song with other notes in the gap.
    with page.expect_download() as waiting:
        page.click("#music-download")
    assert waiting.value.suggested_filename == "Greensleeves-filled-2.mid"
    waiting.value.save_as(tmp_path / "filled.mid")
    kind = music_filler().kind
    old, new = (kind.open(s).sequence.values for s in (greensleeves(), tmp_path / "filled.mid"))
    outside = [*range(30), *range(42, len(old))]
    assert (old[outside] == new[outside]).all()
    assert (old[30:42] != new[30:42]).any()

    # A reload loses nothing.
    page.reload()
    page.wait_for_selector("#versions .choose >> nth=6")
    assert page.get_attribute("#versions .choose >> nth=2", "aria-pressed") == "true"
    assert page.locator("#new-notes button[aria-pressed=true]").count() == 1

    # Erasing by numbers and by dragging, and what comes back.
    page.click("#music-back")
    assert page.inner_text("#music-status") == "Nothing is erased."
    page.fill("#bar-first", "2")
    page.fill("#bar-last", "3")
    page.click("#erase-numbers")
    assert "erased from bar 2 to bar 3" in page.get_attribute("#roll", "aria-label")
    page.click("text=restores")
    box = page.locator("#roll").bounding_box()
    page.mouse.move(box["x"] + 45, box["y"] + 22)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 3, steps=4)
    page.mouse.up()
    assert "nothing erased" in page.get_attribute("#roll", "aria-label")
    page.click("text=erases keys")
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 130, steps=4)
    page.mouse.up()
    assert "erased from bar" in page.get_attribute("#roll", "aria-label")
    page.click("#music-fill")
    filled(page, "music")
    look(page, "music-4-keys")


def places(page, view: str) -> list[dict]:
    """Where the buttons of a view stand, and how large they are."""
    buttons = page.locator(f"#view-{view} .actions button")
    return [button.bounding_box() for button in buttons.all()]


def test_buttons_stay_where_they_are(page):
    page.goto("/#music")
    page.wait_for_selector("#song-name:has-text('Greensleeves')")
    page.click("#music-fill")
    filled(page, "music")
    page.locator("#music-play-gap").scroll_into_view_if_needed()
    before = places(page, "music")
    box = page.locator("#music-play-gap").bounding_box()
    # At its right end, where the next button would come if this one became narrower.
    right = box["x"] + box["width"] - 4, box["y"] + box["height"] / 2
    page.mouse.click(*right)
    assert page.inner_text("#music-play-gap") == "Stop"
    assert places(page, "music") == before
    page.mouse.click(*right)
    assert page.inner_text("#music-play-gap") == "Play around the gap"
    assert page.locator("#versions .choose").count() == 7
    # A note that is kept stays where it was in the list.
    notes = page.locator("#new-notes button")
    names = [note.split(",")[0] for note in notes.evaluate_all("b => b.map((n) => n.ariaLabel)")]
    notes.nth(0).click()
    assert notes.nth(0).get_attribute("aria-label") == f"{names[0]}, kept"

    page.goto("/#text")
    before = places(page, "text")
    page.click("#text-edit")
    assert page.inner_text("#text-edit") == "Done"
    assert [box["width"] for box in places(page, "text")] == [box["width"] for box in before]


def test_what_is_lost_in_a_song_comes_back(page, tmp_path):
    page.goto("/#music")
    page.wait_for_selector("#song-name:has-text('Greensleeves')")
    assert page.is_disabled("#music-undo")
    page.click("#music-fill")
    filled(page, "music")
    page.click("#versions .choose >> nth=3")
    versions = page.inner_text("#versions")
    label = page.get_attribute("#roll", "aria-label")

    def undone() -> bool:
        page.click("#music-undo")
        same = page.get_attribute("#versions .choose >> nth=3", "aria-pressed") == "true"
        return same and page.inner_text("#versions") == versions

    # All versions, lost by what brings the erased notes back.
    page.click("#music-back")
    assert page.locator("#versions .choose").count() == 0
    assert undone()
    assert page.get_attribute("#roll", "aria-label") == label
    # Lost by other draws, by erasing more, and by another song.
    page.click("#music-again")
    page.wait_for_selector("#versions .choose[aria-pressed=true]:has-text('Fill 1')")
    filled(page, "music")
    assert undone()
    page.click("#erase-numbers")
    assert page.locator("#versions .choose").count() == 0
    assert undone()
    (tmp_path / "mine.mid").write_bytes(greensleeves().to_bytes())
    page.set_input_files("#music-file", tmp_path / "mine.mid")
    page.wait_for_selector("#song-name:has-text('mine.mid')")
    assert undone()
    assert page.inner_text("#song-name") == "Greensleeves"
    assert page.is_disabled("#music-undo")


def test_what_is_lost_in_a_text_comes_back(page):
    page.goto("/")
    example = shown(page)
    page.click("#text-edit")
    page.fill("#text-editor", "a quick br___ fox")
    page.click("#text-edit")
    page.select_option("#text-strategy", "nade")
    page.click("#text-fill")
    filled(page, "text")
    before = shown(page)
    for lose in ("#text-back", "#text-example"):
        page.click(lose)
        assert shown(page) != before
        page.click("#text-undo")
        assert shown(page) == before
    page.click("#text-undo")
    assert shown(page) == example
    assert page.is_disabled("#text-undo")


def test_a_song_of_ones_own_is_opened_or_refused(page, tmp_path):
    page.goto("/#music")
    page.wait_for_selector("#song-name:has-text('Greensleeves')")
    (tmp_path / "mine.mid").write_bytes(greensleeves().to_bytes())
    page.set_input_files("#music-file", tmp_path / "mine.mid")
    page.wait_for_selector("#song-name:has-text('mine.mid')")
    assert "nothing erased" in page.get_attribute("#roll", "aria-label")
    content = base64.b64encode(greensleeves().to_bytes()).decode()
    page.evaluate(
        """(content) => {
            const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([bytes], "dropped.mid"));
            const drop = new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true});
            document.getElementById("roll").dispatchEvent(drop);
        }""",
        content,
    )
    page.wait_for_selector("#song-name:has-text('dropped.mid')")


def test_one_part_of_a_score_by_a_model_of_struck_keys(page, tmp_path):
    page.goto("/#music")
    page.wait_for_selector("#song-name:has-text('Greensleeves')")
    page.select_option("#music-model", "keys")
    (tmp_path / "mine.musicxml").write_bytes(small_score())
    page.set_input_files("#music-file", tmp_path / "mine.musicxml")
    page.wait_for_selector("#song-name:has-text('mine.musicxml')")
    parts = page.locator("#parts label").all_inner_texts()
    assert parts == ["All parts", "Song", "Piano (2)", "Piano (3)", "New part"]
    page.fill("#bar-first", "2")
    page.fill("#bar-last", "2")
    page.click("#erase-numbers")
    page.click("#parts label:has-text('Song')")
    assert "to bar 2, only Song" in page.get_attribute("#roll", "aria-label")
    page.check("text=the bass")
    page.fill("#forbid", "G4, B♭4-C8")
    page.press("#forbid", "Enter")
    with page.expect_request("**/api/fill") as waiting:
        page.click("#music-fill")
    wishes = {"voice": "1", "keep": ["bottom"], "force": [], "forbid": ["G4", "Bb4-C8"]}
    assert wishes.items() <= waiting.value.post_data_json.items()
    filled(page, "music")
    look(page, "music-5-score")
    # Each fill can be played where it stands.
    play = page.locator("#versions .play >> nth=1")
    play.click()
    assert play.inner_text() == "■"
    play.click()
    assert play.inner_text() == "▶"

    # What comes back is a score, in which the other parts are as they were.
    with page.expect_download() as waiting:
        page.click("#music-download")
    assert waiting.value.suggested_filename == "mine-filled-1.musicxml"
    waiting.value.save_as(tmp_path / "filled.musicxml")
    kind = keys_filler().kind
    old, new = (kind.open(tmp_path / f"{name}.musicxml") for name in ("mine", "filled"))
    assert new.sequence.values[24:48, 46].sum() == 0  # G4
    notes = [[n for n in one.view(one.original)["notes"] if n[4] > 1] for one in (old, new)]
    assert notes[0] == notes[1]

    # A part of its own below the others.
    page.click("#parts label:has-text('New part')")
    page.fill("#new-keys", "C2-C3")
    page.press("#new-keys", "Enter")
    with page.expect_request("**/api/fill") as waiting:
        page.click("#music-fill")
    assert waiting.value.post_data_json["add"] == "C2-C3"
    filled(page, "music")

    # It becomes the song, and what was there before comes back.
    fills = page.inner_text("#versions")
    page.click("#music-adopt")
    page.wait_for_selector("#music-status:has-text('Fill 1 is part of the song now')")
    assert "nothing erased" in page.get_attribute("#roll", "aria-label")
    page.click("#music-undo")
    assert page.inner_text("#versions") == fills
    assert page.is_checked("#keep-bottom")
    page.click("#music-undo")
    assert page.input_value("#new-keys") == "C2-B3"


def test_a_note_of_the_piano_dies_away_and_many_notes_do_not_clip(page):
    page.goto("/#music")
    told = page.evaluate(
        """async () => {
            const { Piano } = await import("/static/piano.js");
            const rate = 22050;
            const render = async (notes) => {
                const context = new OfflineAudioContext(2, 3 * rate, rate);
                const piano = new Piano(context);
                const usual = { start: 0.1, end: 2, velocity: 127 };
                for (const note of notes) piano.strike({ ...usual, ...note });
                return (await context.startRendering()).getChannelData(0);
            };
            const one = await render([{ key: 60, velocity: 80 }]);
            const loudness = (from, to) => {
                const part = one.slice(from * rate, to * rate);
                return Math.hypot(...part) / Math.sqrt(part.length);
            };
            const strength = (hertz) => {
                let [real, imaginary] = [0, 0];
                one.forEach((value, n) => {
                    real += value * Math.cos((2 * Math.PI * hertz * n) / rate);
                    imaginary += value * Math.sin((2 * Math.PI * hertz * n) / rate);
                });
                return Math.hypot(real, imaginary);
            };
            const many = await render(Array.from({ length: 80 }, (_, n) => ({ key: 21 + n })));
            const times = [[0, 0.1], [0.12, 0.3], [0.8, 1], [1.7, 1.9], [2.7, 2.9]];
            return {
                loudness: times.map(([from, to]) => loudness(from, to)),
                strength: [261.63, 277.18, 523.25].map(strength),
                peak: Math.max(...many.map(Math.abs)),
            };
        }"""
    )
    silence, *ringing = told["loudness"]
    assert silence < 1e-4
    assert ringing == sorted(ringing, reverse=True)
    assert ringing[0] > 0.02
    assert ringing[-1] < ringing[0] / 30
    c4, c_sharp, c5 = told["strength"]
    assert c4 > 20 * c_sharp
    assert c5 > 5 * c_sharp  # it has harmonics
    assert 0.2 < told["peak"] < 1


def looked_at(page) -> str:
    """What the first chart says of the row that is looked at."""
    return page.get_attribute("#charts canvas", "aria-valuetext")


def test_the_journey_of_a_series(page):
    page.goto("/#series")
    page.wait_for_selector("#table-name:has-text('CO₂ at Mauna Loa')")
    label = page.get_attribute("#charts canvas", "aria-label")
    assert label == "co2_ppm: 53 of 614 missing, 19 gaps"
    look(page, "series-1-opened")
    page.click("#series-fill")
    filled(page, "series")
    assert "Filled: 53 numbers" in page.inner_text("#series-status")
    assert "For a model that learns this table" in page.inner_text("#series-status")
    look(page, "series-1-filled-at-once")
    page.select_option("#series-model", "trained on this table")
    page.click("#series-fill")
    page.wait_for_selector("#series-left:has-text('of 40 updates')")
    assert page.get_attribute("#series-progress", "value")
    look(page, "series-2-trains")
    filled(page, "series")
    assert "Filled: 53 numbers" in page.inner_text("#series-status")
    assert not page.is_visible("#series-progress")
    look(page, "series-3-filled")

    # By keys: the gaps one after the other, and what fills them.
    page.focus("#charts canvas")
    page.keyboard.press("Home")
    assert looked_at(page) == "1958-03-29: 316.1"
    page.keyboard.press("PageDown")
    assert looked_at(page).startswith("1958-05-10: 3")
    assert ", 90 % from 3" in looked_at(page)
    # By pointing; and closer, by buttons and by dragging.
    for _ in range(13):
        page.click("#series-next")
    assert looked_at(page).startswith("1964-01-25: 3")
    look(page, "series-4-closer")
    box = page.locator("#charts canvas").bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 70, steps=4)
    page.mouse.up()
    assert page.is_enabled("#series-whole")
    pointed = {"x": 150, "y": 70}
    page.hover("#charts canvas", position=pointed)
    before = looked_at(page)

    # A reload loses nothing, not even where one looked.
    page.reload()
    page.wait_for_selector("#numbers-rows tr >> nth=52", state="attached")
    page.hover("#charts canvas", position=pointed)
    assert looked_at(page) == before
    page.click("#series-whole")
    assert page.is_disabled("#series-whole")

    # The numbers, for who would rather read them, and the file.
    page.click("summary:has-text('Filled values')")
    assert page.inner_text("#numbers-rows tr >> nth=0").startswith("1958-05-10\tco2_ppm\t3")
    look(page, "series-5-numbers")
    with page.expect_download() as waiting:
        page.click("#series-download")
    assert waiting.value.suggested_filename == "CO₂ at Mauna Loa-filled.csv"
    table = pd.read_csv(waiting.value.path())
    assert table["co2_ppm"].notna().all()

    # What another table or another choice of columns takes away comes back.
    page.click("#series-example")
    page.wait_for_selector("#numbers-rows tr", state="detached")
    page.uncheck("#charts input[type=checkbox]")
    page.click("#series-undo")
    assert page.is_checked("#charts input[type=checkbox]")
    page.click("#series-undo")
    assert page.locator("#numbers-rows tr").count() == 53
    assert page.is_disabled("#series-undo")


def test_a_table_of_ones_own_and_a_fit_that_is_stopped(page, tmp_path):
    page.goto("/#series")
    page.wait_for_selector("#table-name:has-text('CO₂ at Mauna Loa')")
    wave().to_csv(tmp_path / "mine.csv", index=False)
    page.set_input_files("#series-file", tmp_path / "mine.csv")
    page.wait_for_selector("#table-name:has-text('mine.csv')")
    assert page.locator("#charts canvas").count() == 2
    assert (
        page.inner_text("#series-status")
        == "These columns hold no numbers and are not drawn: place."
    )
    assert page.is_disabled("#series-download")
    page.uncheck("text=wind")
    page.select_option("#series-model", "trained on this table")
    with page.expect_request("**/api/fill/series") as waiting:
        page.click("#series-fill")
    assert waiting.value.post_data_json["columns"] == ["tide"]
    assert page.inner_text("#series-fill") == "Stop"
    page.wait_for_selector("#series-status:has-text('Training begins')")
    look(page, "series-6-of-ones-own")
    page.click("#series-fill")
    page.wait_for_selector("#series-status:has-text('Stopped.')")
    assert page.inner_text("#series-fill") == "Fill"
    assert not page.is_visible("#series-progress")
    page.evaluate(
        """(text) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([text], "dropped.csv"));
            const drop = new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true});
            document.getElementById("charts").dispatchEvent(drop);
        }""",
        "a\n1\n\n3\n",
    )
    page.wait_for_selector("#table-name:has-text('dropped.csv')")
    page.focus("#charts canvas")
    page.keyboard.press("End")
    assert looked_at(page) == "row 3: 3"


@pytest.mark.skipif(
    not AXE.exists(), reason="no faults of access are looked for: `npm install --no-save axe-core`"
)
def test_a_fault_of_access_would_be_found(browser):
    with contextlib.closing(browser.new_page()) as page:
        page.set_content("<html lang='en'><title>x</title><main><button></button></main>")
        assert [fault["id"] for fault in serious_faults(page)] == ["button-name"]


def test_the_description_of_the_api(page):
    page.goto("/docs")
    page.wait_for_selector("#schemas article >> nth=3")
    assert "/api/fill" in page.inner_text("#routes")
    look(page, "docs")


def test_a_refusal_is_shown_as_the_sentence_that_it_is(browser, address):
    """Apart from the others, because a browser notes every refusal in its console."""
    with contextlib.closing(browser.new_context(base_url=address)) as context:
        page = context.new_page()
        page.goto("/")
        page.click("#text-edit")
        page.fill("#text-editor", "_" * 5000)
        page.click("#text-fill")
        page.wait_for_selector("#text-status.problem")
        assert "too much for one request" in page.inner_text("#text-status")
        page.goto("/#music")
        page.wait_for_selector("#song-name:has-text('Greensleeves')")
        page.set_input_files(
            "#music-file", {"name": "no.mid", "mimeType": "audio/midi", "buffer": b"RIFF"}
        )
        page.wait_for_selector("#music-status.problem")
        assert page.inner_text("#music-status") == "The song is not a MIDI file."
        assert page.inner_text("#song-name") == "Greensleeves"
        page.goto("/#series")
        page.wait_for_selector("#table-name:has-text('CO₂ at Mauna Loa')")
        few = {"name": "few.csv", "mimeType": "text/csv", "buffer": b"a\n1\n\n3\n"}
        page.set_input_files("#series-file", few)
        page.wait_for_selector("#table-name:has-text('few.csv')")
        page.select_option("#series-model", "trained on this table")
        page.click("#series-fill")
        page.wait_for_selector("#series-status.problem")
        assert "too few to learn from" in page.inner_text("#series-status")
