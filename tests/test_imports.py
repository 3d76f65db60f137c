"""Imports point one way: sequence <- kinds, nets <- strategies, training <- filler <- shell."""

import ast
from pathlib import Path

import pytest

import caesura

ROOT = Path(caesura.__file__).parent
# A module may import from its own layer and from those above it in this list.
LAYERS = [
    {"cores", "errors", "version"},
    {"cache_folder", "files", "pretrained"},
    {"bins", "calibration", "scores", "sequence"},
    {"kinds", "nets"},
    {"datasets", "plot", "plot_calibration", "plot_series"},
    {"strategies", "training"},
    {"fill", "modelfile"},
    {"filler", "evaluate"},
    {"draws", "learn", "training_progress"},
    {"imputation", "work"},
    {"medians"},
    {"__init__"},
    {"reproduce"},
    {"scale"},
    {"web"},
    {"cli", "sklearn"},
]
# Parts that must not know each other though their layers would allow it.
STRANGERS = [
    {"kinds", "nets"},
    {"datasets", "nets"},
    {"datasets", "plot"},
    {"plot", "kinds"},
    {"plot", "nets"},
    {"strategies", "training"},
    {"fill", "modelfile"},
    {"filler", "evaluate"},
    {"cli", "sklearn"},
    {"scale", "web"},
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
                modules |= {f"caesura.{alias.name}" for alias in node.names}
    return {m.split(".")[1] for m in modules if m.startswith("caesura.")}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    part = part_of(path)
    for other in imports_of(path):
        assert layer_of(other) <= layer_of(part), f"{part} must not import {other}"
        assert not any(part != other and {part, other} <= pair for pair in STRANGERS)


def test_kinds_need_numpy_alone():
    for path in (ROOT / "kinds").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        names |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not {name.split(".")[0] for name in names} & {"jax", "equinox", "optax"}
