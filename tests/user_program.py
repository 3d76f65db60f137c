"""A user's small program, which type checkers read with the library as it is installed."""

from pathlib import Path

import numpy as np

import caesura


def restore(text: str) -> list[tuple[str, float]]:
    """Return the readings of the first gap of a text, with their probabilities."""
    filler: caesura.Filler = caesura.load("text")
    fill: caesura.Fill = filler.fill(text, samples=2, strategy=caesura.strategies.NADE())
    nats: float = fill.log_prob + filler.log_prob("The quick", missing=slice(6, 9))
    assert nats < 0
    sure: np.ndarray = fill.confidence
    assert len(sure) == len(fill.places)
    return [(str(part), chance) for part, chance in fill.gaps[0].candidates]


def learn(directory: Path) -> caesura.Filler:
    """Return a model of the texts in a directory, which is also saved there."""
    filler = caesura.train([directory], kind="text", hidden=8, steps=2)
    filler.save(directory / "mine.model")
    requests = [caesura.Request("a_c", seed=1), caesura.Request("ab_", samples=3)]
    for answer in filler.fill_many(requests, return_exceptions=True):
        if isinstance(answer, caesura.Fill):
            print(answer.best, answer.covered)
    return filler


try:
    restored = restore("The qu___ brown fox")
except caesura.CaesuraError as error:
    print(error)
