"""Model files that caesura 0.1.0 wrote still load, and give the same log-probabilities."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import caesura

FOLDER = Path(__file__).parent / "data" / "0.1.0"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def roll() -> np.ndarray:
    values = np.zeros((20, 88))
    values[:, 39] = 1
    values[::2, 43] = 1
    return values


def table() -> pd.DataFrame:
    n = 240
    x = np.sin(np.arange(n) / 24 * 2 * np.pi)
    columns = {
        "t": 10 + 3 * x,
        "p": 1000 - 2 * x + 0.1 * np.arange(n) / n,
        "sky": np.where(x > 0.3, "clear", np.where(x < -0.3, "rain", "cloud")),
        "load": x**2,
    }
    return pd.DataFrame(columns, index=pd.date_range("2024-01-01", periods=n, freq="h"))


def question(kind: str, filler: caesura.Filler) -> dict:
    """The data that expected.json is about, and what is missing in it."""
    start, stop = EXPECTED[kind]["missing"]
    if kind != "series":
        data = roll() if kind == "music" else EXPECTED[kind]["data"]
        return {"data": data, "missing": slice(start, stop)}
    sequence = filler.kind.open(table()).sequence
    missing = np.zeros(sequence.values.shape, bool)
    missing[start:stop, : EXPECTED[kind]["components"]] = True
    return {"data": table(), "missing": missing}


@pytest.mark.parametrize("kind", EXPECTED)
def test_an_old_model_gives_the_same_probabilities(kind):
    filler = caesura.load(FOLDER / f"{kind}.safetensors")
    asked = question(kind, filler)
    for strategy, wanted in EXPECTED[kind]["log_prob"].items():
        found = filler.log_prob(**asked, strategy=strategy)
        assert float(found) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("kind", EXPECTED)
def test_an_old_model_is_written_in_the_new_format(kind, tmp_path):
    path = tmp_path / "new.safetensors"
    filler = caesura.load(FOLDER / f"{kind}.safetensors")
    filler.save(path)
    assert caesura.load(path).kind == filler.kind
