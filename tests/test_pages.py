"""The Python code on pages of the documentation runs, and gives what the pages say."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
WITH_CODE = ["index", "tutorial-text", "choose-strategy", "how-sure", "train-your-own"]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_CODE)
def test_the_code_of_a_page_runs(name):
    """A statement that ends in `# → value` gives this value."""
    known = {}
    for code in blocks(DOCS / f"{name}.md"):
        lines = code.splitlines()
        for node in ast.parse(code).body:
            expected = re.search(r"# → (.+)$", lines[node.end_lineno - 1])
            if isinstance(node, ast.Expr) and expected:
                assert repr(eval(ast.unparse(node), known)) == expected[1], ast.unparse(node)
            else:
                exec(ast.unparse(node), known)


def test_every_page_of_the_site_exists_and_has_a_place():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r": ([\w-]+\.md)$", text, re.M)
    assert sorted(named) == sorted(path.name for path in DOCS.glob("*.md"))


def test_what_pages_include_exists():
    found = []
    for page in DOCS.glob("*.md"):
        for name in re.findall(r'^--8<-- "([^"]+)"$', page.read_text("utf-8"), re.M):
            file, _, section = name.partition(":")
            text = (ROOT / file).read_text(encoding="utf-8")
            assert not section or f"--8<-- [start:{section}]" in text
            found.append(name)
    example = [f"tests/test_extension.py:{part}" for part in ("cell", "head", "strategy", "kind")]
    assert {"CHANGELOG.md", "ARCHITECTURE.md", *example} == set(found)
