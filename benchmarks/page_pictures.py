"""The pictures of a tutorial, drawn by the code that is printed on its page.

    python benchmarks/page_pictures.py tutorial-music

The code runs in a temporary directory, and the pictures that it saves go to docs/pictures.
"""

import ast
import contextlib
import io
import math
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
TUTORIALS = ["tutorial-text", "tutorial-music", "tutorial-tables"]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return each piece of Python code of a page, with the block right after it, or ''."""
    pattern = r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```)?"
    return re.findall(pattern, page.read_text(encoding="utf-8"), re.M | re.S)


def drawn_by(page: Path) -> list[str]:
    """Return the names of the pictures that the code of a page saves."""
    return re.findall(r'savefig\("([\w.-]+)"', "\n".join(code for code, _ in blocks(page)))


def run(page: Path) -> None:
    """Run the code of a page, and check what the page says about it.

    A statement that ends in `# → value` must give this value. Code that prints, with a block right
    after it, must print this block, where numbers may differ by 0.15: some are estimates.
    """
    known: dict[str, object] = {}
    for code, after in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            execute(code, known)
        if "print(" in code and after:
            assert same(printed.getvalue(), after), (
                f"{page.name}: this is printed:\n{printed.getvalue()}"
            )


def execute(code: str, known: dict[str, object]) -> None:
    """Run a piece of code, statement by statement."""
    lines = code.splitlines()
    for node in ast.parse(code).body:
        expected = re.search(r"# → (.+)$", lines[node.end_lineno - 1])
        if isinstance(node, ast.Expr) and expected:
            value = eval(ast.unparse(node), known)
            assert repr(value) == expected[1], f"{ast.unparse(node)} gives {value!r}"
        else:
            exec(ast.unparse(node), known)


def same(printed: str, shown: str) -> bool:
    """Return whether two texts are the same, except for small differences of their numbers."""
    number = re.compile(r"\d+(?:\.\d+)?")
    if number.split(printed) != number.split(shown):
        return False
    pairs = zip(number.findall(printed), number.findall(shown), strict=True)
    return all(math.isclose(float(a), float(b), abs_tol=0.15) for a, b in pairs)


def main(name: str) -> None:
    page = DOCS / f"{name}.md"
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        run(page)
        for picture in drawn_by(page):
            shutil.copy(picture, DOCS / "pictures")
        os.chdir(DOCS)


if __name__ == "__main__":
    main(*sys.argv[1:])  # one page a process: JAX counts its cores at its first use
