"""The sound of the tutorial on music, made by the code that is printed on its page.

    python benchmarks/page_sounds.py

The code runs in a temporary directory, and the files that the page plays go to docs/sounds. Git
does not keep them: `make site` makes them anew.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path

from page_pictures import DOCS, blocks, run

PAGE = DOCS / "tutorial-music.md"
SOUNDS = DOCS / "sounds"


def saved_by(page: Path) -> list[str]:
    """Return the names of the sound files that the code of a page makes for the page."""
    return re.findall(r'save_sound\("([\w.-]+)"', "\n".join(code for code, _ in blocks(page)))


def main() -> None:
    SOUNDS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        run(PAGE)
        for sound in saved_by(PAGE):
            shutil.copy(sound, SOUNDS)
        os.chdir(DOCS)


if __name__ == "__main__":
    main()
