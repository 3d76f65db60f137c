"""The pictures of docs/lost-letters.md: a restored letter, and the page with it.

    CAESURA_DATA=... python benchmarks/papyrus_pictures.py

The page is shown by Debian's Chromium; `caesura serve` runs meanwhile.
"""

from opened_page import PICTURES, opened

import caesura
from caesura.datasets import data_folder
from caesura.datasets.papyri import documents
from caesura.plots import save_picture

PAPYRUS = "p.prag.1.106"


def main() -> None:
    content = (data_folder() / "greek/papyri.test.jsonl.xz").read_bytes()
    text = next(one.text for one in documents(content) if one.id == PAPYRUS)
    fill = caesura.load("papyri").with_kind(lost="restored").fill(text)
    save_picture(fill.plot(), PICTURES / "lost-letters.png")
    for gap in fill.gaps:
        print([(one.part, round(one.probability, 2)) for one in gap.candidates[:3]])
    show(text)


def show(text: str) -> None:
    """Fill the letter on the page, and look at its last lacuna."""
    with opened("edition", model="papyri") as page:
        page.wait_for_selector("#leaf [role=button]")
        page.click("#edition-edit")
        page.fill("#edition-editor", text)
        page.click("#edition-edit")
        page.check("#lost-restored")
        page.click("#edition-fill")
        page.wait_for_selector("#edition-status:has-text('Filled:')")
        page.locator("#leaf [role=button]").last.click()
        page.screenshot(path=PICTURES / "edition-page.png")


if __name__ == "__main__":
    main()
