"""The pictures of docs/lost-letters.md: a restored letter, and the page with it.

    CAESURA_DATA=... python benchmarks/papyrus_pictures.py

The page is shown by Debian's Chromium; `caesura serve` runs meanwhile.
"""

import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

import caesura
from caesura.datasets import data_folder
from caesura.datasets.papyri import documents
from caesura.plots import save_picture

PICTURES = Path(__file__).parent.parent / "docs/pictures"
PAPYRUS = "p.prag.1.106"
PORT = 8765
LONG = 300_000  # milliseconds: the first fill compiles


def main() -> None:
    content = (data_folder() / "greek/papyri.test.jsonl.xz").read_bytes()
    text = next(one.text for one in documents(content) if one.id == PAPYRUS)
    fill = caesura.load("papyri").with_kind(lost="restored").fill(text)
    save_picture(fill.plot(), PICTURES / "lost-letters.png")
    for gap in fill.gaps:
        print([(one.part, round(one.probability, 2)) for one in gap.candidates[:3]])
    server = [sys.executable, "-m", "caesura", "serve", "--port", str(PORT), "--model", "papyri"]
    process = subprocess.Popen(server)
    try:
        show(text)
    finally:
        process.terminate()


def show(text: str) -> None:
    """Fill the letter on the page, and look at its last lacuna."""
    address = f"http://127.0.0.1:{PORT}/"
    for _ in range(120):
        try:
            urllib.request.urlopen(address)
            break
        except OSError:
            time.sleep(0.5)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(LONG)
        page.goto(f"{address}#edition")
        page.wait_for_selector("#leaf [role=button]")
        page.click("#edition-edit")
        page.fill("#edition-editor", text)
        page.click("#edition-edit")
        page.check("#lost-restored")
        page.click("#edition-fill")
        page.wait_for_selector("#edition-status:has-text('Filled:')")
        page.locator("#leaf [role=button]").last.click()
        page.screenshot(path=PICTURES / "edition-page.png")
        browser.close()


if __name__ == "__main__":
    main()
