"""BRITS and SAITS as PyPOTS has them, on the tasks of TSI-Bench; `pip install pypots` first.

BRITS is as large and learns as fast as the benchmark found best for ETTh1 (2 178 496 weights), and
SAITS is a small one: the benchmark's has 88 million weights, too many for a CPU.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import tsi_bench
from pypots.imputation import BRITS, SAITS
from pypots.optim import Adam
from pypots.utils.random import set_random_seed
from tsi_bench import Part, Seconds, Task


def measure(task: Task, seed: int) -> Iterator[tuple[str, float, float, Seconds]]:
    """The name of each, its errors on the validation and the test part, and its seconds."""
    steps, columns = task.train.values.shape[1:]
    how = {"n_steps": steps, "n_features": columns, "batch_size": 32, "epochs": 100}
    how |= {"patience": 10, "verbose": False}
    set_random_seed(2024 + seed)
    models = {
        "BRITS": BRITS(rnn_hidden_size=512, optimizer=Adam(lr=0.00536), **how),
        "SAITS": SAITS(
            n_layers=2,
            d_model=256,
            n_heads=4,
            d_k=64,
            d_v=64,
            d_ffn=256,
            dropout=0.1,
            optimizer=Adam(lr=0.001),
            **how,
        ),
    }
    for name, model in models.items():
        start = Seconds.now()
        valid = {"X": task.valid.seen, "X_ori": task.valid.values}
        model.fit(train_set={"X": task.train.seen}, val_set=valid)
        seconds = start.passed()
        yield name, _error(model, task.valid), _error(model, task.test), seconds


def fill(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A long table, filled by a model that learns its windows of 100 rows for 50 epochs."""
    length, columns = 100, frame.shape[1]
    values = frame.to_numpy()
    mean, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    windows = ((values - mean) / scale).reshape(-1, length, columns)
    how = {"n_steps": length, "n_features": columns, "batch_size": 32, "epochs": 50}
    set_random_seed(2024)
    if name == "BRITS":
        model: BRITS | SAITS = BRITS(rnn_hidden_size=128, verbose=False, **how)
    else:
        size = {"n_layers": 2, "d_model": 128, "n_heads": 4, "d_k": 32, "d_v": 32, "d_ffn": 128}
        model = SAITS(**size, verbose=False, **how)
    model.fit(train_set={"X": windows})
    filled = np.asarray(model.impute({"X": windows})).reshape(values.shape)
    return mean + scale * filled


def _error(model: BRITS | SAITS, part: Part) -> float:
    return tsi_bench.error(np.asarray(model.impute({"X": part.seen})), part)
