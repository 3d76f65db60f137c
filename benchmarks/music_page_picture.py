"""The picture of docs/index.md: the page with a song, two bars of which were filled.

python benchmarks/music_page_picture.py
"""

from opened_page import PICTURES, opened


def main() -> None:
    with opened("music", model="music") as page:
        page.wait_for_selector("#song-name:has-text('Greensleeves')")
        page.click("#music-fill")
        page.wait_for_selector("#music-status:has-text('Filled:')")
        page.click("#versions .choose >> nth=2")
        page.locator("#new-notes button").first.click()
        page.screenshot(path=PICTURES / "music-page.png", full_page=True)


if __name__ == "__main__":
    main()
