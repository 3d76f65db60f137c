"""The pictures of a tutorial, drawn by the code that is printed on its page.

    python benchmarks/page_pictures.py tutorial-music

The code of a page saves its pictures into the current directory, which is docs/pictures here.
"""

import ast
import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
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


if __name__ == "__main__":
    os.chdir(DOCS / "pictures")
    (name,) = sys.argv[1:]  # one page a process: JAX counts its cores at its first use
    run(DOCS / f"{name}.md")
