"""The view for damaged texts in a real browser, at two widths."""

import contextlib
import json

import pytest

from caesura.web import make_app
from on_page import IN_BROWSER, LONG, filled, look
from served import served
from small_fillers import greek_filler, text_filler
from test_web_editions import EPIDOC

TEXT = "Ἀπολλώνιος Ζή(νωνι) χα[ίρειν]·\nκα̣ὶ τὰ ἄλλα [...] κατὰ λόγον [.1-2]στιν"

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def address():
    with served(make_app({"text": text_filler(), "papyri": greek_filler()})) as address:
        yield address


def opened(page, text: str = TEXT) -> None:
    """Paste a text into the view."""
    page.goto("/#edition")
    page.wait_for_selector("#leaf [role=button]")
    page.click("#edition-edit")
    page.fill("#edition-editor", text)
    page.click("#edition-edit")
    page.wait_for_selector("#edition-editor", state="hidden")


def boxes(page) -> list[str]:
    return page.locator("#leaf [role=button]").all_inner_texts()


def downloaded(page, button: str) -> tuple[str, str]:
    with page.expect_download() as waiting:
        page.click(button)
    return waiting.value.suggested_filename, waiting.value.path().read_text(encoding="utf-8")


def test_the_journey_of_a_damaged_text(page):
    opened(page)
    assert boxes(page) == ["3", "1–2"]
    assert page.inner_text("#leaf").startswith("Ἀπολλώνιος Ζή(νωνι) χα[ίρειν]·\nκα̣ὶ τὰ")
    assert "DejaVu Serif" in page.evaluate("getComputedStyle(leaf).fontFamily")
    assert page.is_disabled("#export-leiden")
    look(page, "edition-1-opened")
    page.click("#edition-fill")
    filled(page, "edition")
    assert page.locator("#leaf .filled").count() == 2
    assert page.locator("#leaf .small-lengths .column").count() == 2

    # What could stand in a lacuna; another reading is accepted, and the rest is filled given it.
    page.click("#leaf [role=button] >> nth=0")
    assert page.inner_text("#lacuna-title") == "Lacuna 1 of 2"
    look(page, "edition-2-filled")
    reading = page.inner_text("#lacuna-list .sign >> nth=2")
    page.click("#lacuna-list button >> nth=2")
    filled(page, "edition")
    assert page.inner_text("#leaf .pinned").strip() == reading
    assert page.locator("#leaf .filled").count() == 1

    # By keys: the next lacuna, what could stand there, and back.
    assert page.evaluate("document.activeElement.dataset.n") == "0"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.inner_text("#lacuna-title") == "Lacuna 2 of 2"
    assert page.evaluate("document.activeElement.closest('#lacuna-list') !== null")
    assert page.locator("#lacuna-lengths li").count() == 2
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.n") == "1"

    # A restoration of one's own is weighed, and a pattern applied.
    page.fill("#own-reading", "ἐ")
    page.keyboard.press("Enter")
    page.wait_for_selector("#edition-status:has-text('Yours: “ἐ”')")
    assert "rank" in page.inner_text("#own-list button")
    page.fill("#pattern", "ε.?")
    page.keyboard.press("Enter")
    page.wait_for_selector("#pattern-hint:has-text('would match')")
    filled(page, "edition")
    signs = page.locator("#lacuna-list .sign").all_inner_texts()
    assert all(sign.startswith("ε") for sign in signs)
    look(page, "edition-3-asked")
    page.click("#pattern-remove")
    filled(page, "edition")
    page.fill("#own-reading", "ἐ")
    page.click("#own-accept")
    page.wait_for_selector("#edition-status:has-text('Every lacuna has a reading')")
    assert boxes(page) == [reading, "ἐ"]

    # A reload loses nothing, and what was accepted is taken back step by step.
    page.reload()
    page.wait_for_selector("#leaf .pinned >> nth=1")
    page.click("#edition-undo")
    filled(page, "edition")
    assert page.locator("#leaf .pinned").count() == 1
    page.click("#leaf .pinned")
    page.keyboard.press("Backspace")
    filled(page, "edition")
    assert page.locator("#leaf .pinned").count() == 0

    # Other letters count as lost.
    page.check("#lost-restored")
    page.wait_for_selector("#leaf [role=button] >> nth=2")
    assert boxes(page) == ["5", "3", "1–2"]
    page.click("#edition-undo")
    page.wait_for_selector("#leaf [role=button] >> nth=2", state="detached")
    assert not page.is_checked("#lost-restored")


def test_files_come_in_and_go_out(page, tmp_path):
    page.goto("/#edition")
    page.wait_for_selector("#leaf [role=button]")
    short = EPIDOC.replace('extent="unknown" unit="character"', 'quantity="2" unit="character"')
    (tmp_path / "letter.xml").write_text(short, encoding="utf-8")
    page.set_input_files("#edition-file", tmp_path / "letter.xml")
    page.wait_for_selector("#leaf:has-text('⟦τὰ⟧')")
    assert boxes(page) == ["4", "2"]
    page.click("#edition-fill")
    filled(page, "edition")
    page.click("#leaf [role=button] >> nth=0")
    page.fill("#own-reading", "τοῦ κ")
    page.click("#own-accept")
    filled(page, "edition")
    look(page, "edition-4-epidoc")

    name, content = downloaded(page, "#export-epidoc")
    assert name == "letter-restored.xml"
    gap = '<gap reason="lost" quantity="4" unit="character"/>'
    before, after = short.split(gap)
    assert content.startswith(before + '<supplied reason="lost" resp="#caesura">τοῦ κ</supplied>')
    assert content.endswith(after.split("/>", 1)[1].split("<lb", 1)[1])
    page.check("#others")
    assert "<rdg>" in downloaded(page, "#export-epidoc")[1]
    name, content = downloaded(page, "#export-leiden")
    assert name == "letter-restored.txt"
    assert "εἰ [τοῦ κ] κ̣α̣ὶ ⟦τὰ⟧ ἄλλα [" in content
    assert "εἰ τοῦ κ καὶ ἄλλα " in downloaded(page, "#export-plain")[1]
    told = json.loads(downloaded(page, "#export-json")[1])
    assert told["accepted"] == [{"gap": 0, "part": "τοῦ κ"}]
    assert told["fill"]["lacunae"][0]["number"] == 1


def test_a_text_goes_from_one_view_to_the_other(page):
    page.goto("/")
    page.click("#text-leiden")
    page.wait_for_selector("#leaf:has-text('The Battle of Hast')")
    assert boxes(page) == ["4", "4"]
    assert page.input_value("#edition-model") == "text"


def test_a_mistake_stands_next_to_the_text(browser, address):
    """Apart from the others, because a browser notes every refusal in its console."""
    with contextlib.closing(browser.new_context(base_url=address)) as context:
        page = context.new_page()
        page.set_default_timeout(LONG)
        page.goto("/#edition")
        page.wait_for_selector("#leaf [role=button]")
        page.click("#edition-edit")
        page.fill("#edition-editor", "α\nβγ [..")
        page.click("#edition-fill")
        page.wait_for_selector("#edition-problem:has-text('line 2, column 4')")
        assert page.evaluate("document.activeElement.id") == "edition-editor"
        chosen = "document.activeElement.selectionStart"
        assert page.evaluate(chosen) == len("α\nβγ ")
        # A reading that does not fit is refused, and not asked for again.
        page.fill("#edition-editor", TEXT)
        page.click("#edition-edit")
        page.click("#leaf [role=button] >> nth=0")
        page.fill("#own-reading", "πολλοι")
        page.keyboard.press("Enter")
        page.wait_for_selector("#edition-status.problem")
        assert "has 6 letters" in page.inner_text("#edition-status")
        page.click("#edition-fill")
        filled(page, "edition")
