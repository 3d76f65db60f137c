"""What a user sees of the package: its names, their types and documentation, and their examples."""

import doctest
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import caesura
import caesura.scale
import caesura.sklearn
import caesura.strategies
from small_fillers import text_filler

EXPORTED = {name: getattr(caesura, name) for name in caesura.__all__ if name != "__version__"}
CLASSES = {name: one for name, one in EXPORTED.items() if inspect.isclass(one)}
CLASSES = {name: one for name, one in CLASSES.items() if not issubclass(one, Exception)}
CLASSES |= {"SeriesImputer": caesura.sklearn.SeriesImputer}
CLASSES |= {cls.__name__: cls for cls in caesura.strategies.STRATEGIES.values()}
FUNCTIONS = {"load": caesura.load, "train": caesura.train}
FUNCTIONS |= {"fill_dataset": caesura.scale.fill_dataset}
METHODS = {
    f"{name}.{method}": function
    for name, cls in CLASSES.items()
    if not issubclass(cls, caesura.strategies.Strategy)  # whose verbs the base class describes
    for method, function in vars(cls).items()
    if inspect.isfunction(function) and not method.startswith("_")
}
# Data is in the user's own form, and options of a recipe or a kind are of many types.
MAY_BE_ANY = {"data", "items", "requests", "overrides", "fields", "sequence", "kwargs", "net"}


def test_dir_shows_what_is_exported_and_nothing_else():
    program = "import sys, caesura as c; print(dir(c) == sorted(c.__all__), 'jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False"]
    with pytest.raises(AttributeError, match="no attribute 'filer'"):
        caesura.filer  # noqa: B018


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS, *METHODS])
def test_everything_exported_is_documented(name):
    thing = (CLASSES | FUNCTIONS | METHODS)[name]
    text = inspect.getdoc(thing)
    assert text
    assert text[0].isupper() or text[0] == "`"
    parameters = [p for p in inspect.signature(thing).parameters if p not in ("self", "y")]
    many = len(parameters) > 2 and name.split(".")[0] not in ("LogProb",)
    if name in FUNCTIONS or (many and not issubclass(type(thing), type)):
        assert "Parameters\n----------" in text


@pytest.mark.parametrize("name", [n for n in (*FUNCTIONS, *METHODS) if n.split(".")[0] in EXPORTED])
def test_public_signatures_name_their_types(name):
    function = (FUNCTIONS | METHODS)[name]
    hints = get_type_hints(function) if name != "Fill.plot" else {}
    for parameter, hint in hints.items():
        if parameter not in MAY_BE_ANY | {"return"}:
            assert hint is not Any, f"{name}: {parameter}"


ROOT = Path(caesura.__file__).parent
WITH_EXAMPLES = sorted(
    ".".join(["caesura", *file.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
    for file in ROOT.rglob("*.py")
    if ">>> " in file.read_text(encoding="utf-8")
)


TRAINS = "caesura.filler.series_fill"


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n == TRAINS else n for n in WITH_EXAMPLES]
)
def test_the_examples_run(name):
    assert doctest.testmod(import_module(name)).failed == 0


def test_a_filler_introduces_itself_in_one_line():
    text = repr(text_filler())
    assert "\n" not in text
    assert text.startswith("<Filler for text: bidirectional (1 x 5 tanh)")
    assert "\n" not in repr(text_filler().fill("a_c"))


def test_python_m_caesura_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "caesura", "--version"], capture_output=True, text=True
    )
    assert done.stdout.strip() == f"caesura {caesura.__version__}"


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    for ask in (
        lambda: caesura.load(tmp_path / "no.model"),
        lambda: text_filler().fill(tmp_path / "no.txt"),
        lambda: caesura.train([tmp_path / "no.txt"], kind="text"),
        lambda: caesura.train([tmp_path / "no.mid"], kind="music"),
        lambda: caesura.train([tmp_path / "no.csv"], kind="series"),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            ask()
        assert isinstance(caught.value, caesura.CaesuraError)
        assert str(caught.value).startswith("There is no")
