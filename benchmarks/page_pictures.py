"""The pictures of a tutorial, drawn by the code that is printed on its page.

    python benchmarks/page_pictures.py tutorial-music

The code runs in a temporary directory, and the pictures that it saves go to docs/pictures.
"""

import ast
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
TUTORIALS = ["tutorial-text", "tutorial-music", "tutorial-tables"]


def blocks(page: Path) -> list[str]:
    """Return the Python code of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def drawn_by(page: Path) -> list[str]:
    """Return the names of the pictures that the code of a page saves."""
    return re.findall(r'savefig\("([\w.-]+)"', "\n".join(blocks(page)))


def run(page: Path) -> None:
    """Run the code of a page; a statement that ends in `# → value` must give this value."""
    known: dict[str, object] = {}
    for code in blocks(page):
        lines = code.splitlines()
        for node in ast.parse(code).body:
            expected = re.search(r"# → (.+)$", lines[node.end_lineno - 1])
            if isinstance(node, ast.Expr) and expected:
                value = eval(ast.unparse(node), known)
                assert repr(value) == expected[1], f"{ast.unparse(node)} gives {value!r}"
            else:
                exec(ast.unparse(node), known)


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
