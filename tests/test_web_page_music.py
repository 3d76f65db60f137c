"""The view of music in a real browser, at two widths."""

import base64

import pytest

from demo.tune import song as greensleeves
from on_page import IN_BROWSER, filled, look
from scores import small_score
from served import small_server
from small_fillers import keys_filler, music_filler

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def address():
    with small_server() as address:
        yield address


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
