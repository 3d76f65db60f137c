"""The view of tables in a real browser, at two widths."""

import pandas as pd
import pytest

from on_page import IN_BROWSER, filled, look
from served import small_server
from test_web_series import wave

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def address():
    with small_server() as address:
        yield address


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
