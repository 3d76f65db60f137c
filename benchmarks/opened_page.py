"""The page of `caesura serve` in Debian's Chromium, for pictures of it."""

import contextlib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parent.parent / "docs/pictures"
PORT = 8765
LONG = 300_000  # milliseconds: the first fill may compile


@contextlib.contextmanager
def opened(view: str, *, model: str) -> Iterator[Page]:
    """Yield a view of the page; a server with one model runs meanwhile."""
    server = [sys.executable, "-m", "caesura", "serve", "--port", str(PORT), "--model", model]
    process = subprocess.Popen(server)
    address = f"http://127.0.0.1:{PORT}/"
    try:
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
            page.goto(f"{address}#{view}")
            yield page
            browser.close()
    finally:
        process.terminate()
