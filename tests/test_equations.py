"""`docs/equations.md` maps the paper's equations to functions that exist."""

import re
from pathlib import Path
from pkgutil import resolve_name

PAGE = Path(__file__).parent.parent / "docs" / "equations.md"
ROWS = [line.split("|")[1:-1] for line in PAGE.read_text().splitlines() if line.startswith("|")][2:]


def test_every_numbered_equation_is_there():
    numbers = {int(n) for row in ROWS for n in re.findall(r"\((\d+)\)", row[0])}
    assert numbers == set(range(1, 11))


def test_every_name_resolves():
    names = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row[2])]
    assert len(names) >= len(ROWS)
    for name in names:
        module, _, attribute = name.partition(".")
        assert module == "caesura"
        assert attribute
        assert callable(resolve_name(name)), name
