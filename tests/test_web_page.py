"""The page in a real browser: texts, and what all views share, at two widths.

Screenshots are left in `screenshots/`, for a look at what no test can judge.
"""

import contextlib

import pytest

from on_page import AXE, IN_BROWSER, drag, filled, look, serious_faults, shown
from served import small_server

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def address():
    with small_server() as address:
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
