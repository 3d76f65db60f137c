"""Imports point one way: sequence <- kinds, nets <- strategies <- filler <- training <- shells."""

import ast
from pathlib import Path

import pytest

import caesura

ROOT = Path(caesura.__file__).parent
# A module may import from its own layer and from those before it in this list.
LAYERS = [
    {"__init__", "errors", "files", "hardware", "later", "programs", "sequence"},
    {"datasets", "kinds", "nets", "plots", "pretrained"},
    {"strategies"},
    {"modelfile", "scoring"},
    {"filler"},
    {"training"},
    {"parallels", "reproduce", "scale", "sklearn", "web"},
    {"cli", "__main__"},
]
# Parts that must not know each other though their layers would allow it.
STRANGERS = [
    {"kinds", "nets"},
    {"datasets", "nets"},
    {"plots", "nets"},
    {"modelfile", "scoring"},
    {"scale", "web"},
    {"reproduce", "web"},
]


def layer_of(part: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if part in layer)


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """The parts of caesura that a file imports."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            modules.add(node.module)
            if node.module == "caesura":
                names = {alias.name for alias in node.names} - {"__version__"}
                modules |= {f"caesura.{name}" for name in names}
    return {m.split(".")[1] for m in modules if m.startswith("caesura.")}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    part = part_of(path)
    if part == "__init__":  # the public face, whose names are imported at their first use
        return
    for other in imports_of(path):
        assert layer_of(other) <= layer_of(part), f"{part} must not import {other}"
        assert not any(part != other and {part, other} <= pair for pair in STRANGERS)


def test_kinds_need_numpy_alone():
    for path in (ROOT / "kinds").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        names |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not {name.split(".")[0] for name in names} & {"jax", "equinox", "optax"}


def test_few_modules_are_loose_and_few_layers_are_needed():
    assert len(list(ROOT.glob("*.py"))) <= 8
    assert len(LAYERS) <= 8
