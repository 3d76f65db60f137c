"""What is asked of a package that is not installed: one sentence names the extra that has it."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import caesura
from caesura.cli.engine import fill_many
from caesura.cli.filling import Asked
from caesura.cli.options import Engine
from caesura.kinds.series import foreign, table
from small_fillers import text_filler

ON_RAY = Asked(None, None, 0, Path("answers"), Engine.RAY, None, "id", "data", False)
# The extra, a module that it installs, and something that needs it.
NEEDS = [
    ("plot", "matplotlib.figure", lambda: text_filler().fill("a_c").plot()),
    ("series", "pandas", lambda: table.load_table("a.csv")),
    ("series", "pyarrow", lambda: importlib.import_module("caesura.scale")),
    ("ray", "ray.data", lambda: fill_many("text", "text", Path(__file__), ON_RAY)),
    ("hf", "huggingface_hub", lambda: caesura.load("hf://a/b/c.model@v1")),
    ("polars", "narwhals", lambda: foreign.to_pandas(None)),
    ("sklearn", "sklearn.base", lambda: importlib.import_module("caesura.sklearn")),
    ("web", "fastapi", lambda: importlib.import_module("caesura.web")),
    ("web", "uvicorn", lambda: importlib.import_module("caesura.web")),
]


@pytest.mark.parametrize(("extra", "module", "ask"), NEEDS, ids=[m for _, m, _ in NEEDS])
def test_one_sentence_says_what_to_install(extra, module, ask, monkeypatch):
    for name in [n for n in sys.modules if n.startswith(("caesura.scale", "caesura.web"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "caesura.sklearn", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(caesura.ExtraMissingError) as caught:
        ask()
    assert str(caught.value).endswith(f"install it with `pip install 'caesura[{extra}]'`.")


@pytest.mark.slow
def test_arrays_need_no_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    waves = np.sin(np.arange(200.0))[:, None]
    waves[50:53] = np.nan
    small = {"hidden": 4, "head_hidden": 4, "batch": 4, "steps": 4, "validate_every": 2}
    full = caesura.train([waves], kind="series", **small).fill(waves, draws=2).best
    assert not np.isnan(full).any()
