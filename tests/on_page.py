"""What a test of the page does again and again: look, wait, drag."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
SCREENSHOTS = ROOT / "screenshots"
CHROMIUM = Path("/usr/bin/chromium")
WIDTHS = {"phone": (390, 844, "dark"), "desk": (1280, 900, "light")}
IN_BROWSER = [  # the marks of a file whose tests need one
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no /usr/bin/chromium"),
]
LONG = 180_000  # milliseconds: a first fill compiles, on a machine that may be busy


def look(page, name: str) -> None:
    """Keep a picture, and see that nothing sticks out and no serious fault of access is found."""
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}-{page.shape}.png", full_page=True)
    overhang = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overhang) <= 0
    if AXE.exists():
        faults = serious_faults(page)
        assert not faults, [(f["id"], [n["html"] for n in f["nodes"]]) for f in faults]


def serious_faults(page) -> list[dict]:
    """What axe-core finds that would keep somebody from using the page."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then((told) => told.violations)")
    return [fault for fault in found if fault["impact"] in ("serious", "critical")]


def filled(page, view: str) -> None:
    page.wait_for_selector(f"#{view}-status:has-text('Filled:')")


def shown(page) -> str:
    """The text as it stands on the page."""
    page.wait_for_selector("#sheet > *")
    return page.inner_text("#sheet")


def drag(page, start: dict, stop: dict) -> None:
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(stop["x"] + stop["width"] / 2, stop["y"] + stop["height"] / 2, steps=5)
    page.mouse.up()
