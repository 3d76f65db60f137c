"""The map in ARCHITECTURE.md names every module, with the first line of its docstring.

`python tests/test_architecture.py` writes it anew.
"""

import ast
import textwrap
from pathlib import Path

import caesura

ROOT = Path(caesura.__file__).parent
PAGE = Path(__file__).parent.parent / "ARCHITECTURE.md"
BEGIN, END = "## The modules\n\n```\n", "\n```\n\n## Words"
# In the order of the layers.
DIRECTORIES = ["later", "kinds", "kinds/text", "kinds/music", "kinds/series", "nets", "nets/heads"]
DIRECTORIES += ["plots"]
DIRECTORIES += ["datasets", "pretrained", "strategies", "modelfile", "scoring", "filler"]
DIRECTORIES += ["training", "training/corpus", "parallels", "scale", "web", "reproduce", "cli"]
FIRST = ["__init__", "__main__", "errors", "files", "sequence", "hardware", "programs", "sklearn"]
COLUMN, WIDTH = 26, 120


def first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    return text.splitlines()[0].rstrip(".")


def entry(depth: int, name: str, file: Path) -> str:
    lines = textwrap.wrap(first_line(file), WIDTH - COLUMN)
    return textwrap.indent("\n".join(lines), " " * COLUMN).replace(
        " " * COLUMN, f"{'  ' * depth + name:<{COLUMN}}", 1
    )


def render() -> str:
    lines = ["src/caesura/", *(entry(1, f"{name}.py", ROOT / f"{name}.py") for name in FIRST)]
    for directory in DIRECTORIES:
        depth, place = 1 + directory.count("/"), ROOT / directory
        lines.append(entry(depth, f"{place.name}/", place / "__init__.py"))
        others = sorted(file for file in place.glob("*.py") if file.name != "__init__.py")
        lines += [entry(depth + 1, file.name, file) for file in others]
    return "\n".join(lines)


def test_the_map_is_complete_and_true():
    page = PAGE.read_text(encoding="utf-8")
    assert page.split(BEGIN)[1].split(END)[0] == render()
    places = {file.parent.relative_to(ROOT).as_posix() for file in ROOT.rglob("*.py")}
    assert places == {".", *DIRECTORIES}
    assert {file.stem for file in ROOT.glob("*.py")} == set(FIRST)


if __name__ == "__main__":
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(before + BEGIN + render() + END + after, encoding="utf-8")
