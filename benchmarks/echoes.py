"""How much echoes count in a search: three numbers, fitted to held-out text.

    python benchmarks/echoes.py --data DATA

Words and gaps are hidden in the validation articles of wiki96, with the whole article around them.
The nets score the truth, the readings of a search without echoes, and the echoes. Then the mean NLL
of the truth, in the distribution of `caesura.strategies.Search` with echoes, is made as small as
possible by `CONSTANT`, `EQUAL` and `POWER` of `caesura.strategies.echo`. The table compares nets
alone with four-fold cross-validation: each quarter by the numbers fitted to the others.
"""

import argparse
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from decoding import NAMED, log_probs, plain, readings
from hidden_places import AFTER, BEFORE, Place, gaps_of, words_of
from printing import head, line, note, numbers
from scipy.optimize import minimize

import caesura
from caesura import datasets
from caesura.sequence import Sequence, Span
from caesura.strategies import echo

FOLDS = 4
LIBRARY = np.array([echo.CONSTANT, echo.EQUAL, echo.POWER])


class Scored(NamedTuple):
    """What could stand in one gap: the truth first."""

    what: str
    log_prob: np.ndarray  # of each string, by the nets
    string: np.ndarray  # for each occurrence elsewhere, which string it is
    equal: np.ndarray  # for each occurrence, how many steps around it are those around the gap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gaps", type=int, default=60, help="for each row of the table")
    parser.add_argument("--lengths", type=numbers, default=(2, 5, 8))
    parser.add_argument("--words", type=numbers, default=(3, 4, 5, 6, 7, 8, 10, 12))
    parser.add_argument("--data", help="the data directory")
    given = parser.parse_args()
    filler = plain(caesura.load("text"))
    pieces = datasets.load("wiki96", "valid", given.data)
    rows = [("gap", n, gaps_of(pieces, n, given.gaps, 3, True)) for n in given.lengths]
    rows += [("word", n, words_of(pieces, n, given.gaps, 3, True)) for n in given.words]
    scored: list[Scored] = []
    for what, n, places in rows:
        scored += [score(filler, f"{what} of {n}", place) for place in places]
        note(f"{what} of {n}")
    order = np.random.default_rng(0).permutation(len(scored))
    nats = np.zeros(len(scored))
    for fold in range(FOLDS):
        inside = order % FOLDS == fold
        fitted = fit([scored[i] for i in np.flatnonzero(~inside)])
        for i in np.flatnonzero(inside):
            nats[i] = -with_echoes(fitted, scored[i])[0]
    alone = -np.array([one.log_prob[0] for one in scored])
    library = -np.array([with_echoes(LIBRARY, one)[0] for one in scored])
    head("hidden", "nats, nets alone", "with echoes, fitted", "with the library's numbers")
    names = np.array([one.what for one in scored])
    for name in dict.fromkeys(names.tolist()):
        of_row = names == name
        line(name, *(f"{each[of_row].mean():.2f}" for each in (alone, nats, library)))
    line("all", *(f"{each.mean():.3f}" for each in (alone, nats, library)))
    constant, equal, power = fit(scored)
    print(f"\nCONSTANT {constant:.2f}, EQUAL {equal:.2f}, POWER {power:.2f}")


def score(filler: caesura.Filler, what: str, place: Place) -> Scored:
    """Return what the nets say of the truth, of what a search finds, and of echoes."""
    page = Place(place.before[-BEFORE:], place.truth, place.after[:AFTER])  # the nets read less
    asked = caesura.Request(page.text, page.steps, strategy=NAMED["nets"])
    (fill,) = filler.fill_many([asked])
    kind: Any = filler.kind
    (values,) = filler.read([place.text])
    missing = np.zeros(values.shape, bool)
    missing[place.steps] = True
    gap = Span(place.steps.start, place.steps.stop)
    found = echo.occurrences(Sequence(values, missing), gap, len(place.truth), kind.is_word)
    letters = partial(written, kind.alphabet)
    likely = [place.truth, *(part for part, _ in readings(fill))]
    likely += map(letters, echo.strongest(found, echo.MOST)[0])
    number = {string: i for i, string in enumerate(dict.fromkeys(likely))}
    which = np.array([number.get(letters(symbols), -1) for symbols in found.strings], int)
    equal = (found.before + found.after)[which >= 0]
    return Scored(what, log_probs(filler, "nets", page, list(number)), which[which >= 0], equal)


def written(alphabet: str, symbols: np.ndarray) -> str:
    return "".join(alphabet[symbol] for symbol in symbols)


def with_echoes(numbers: np.ndarray, one: Scored) -> np.ndarray:
    """Return the log-probabilities of the strings."""
    constant, equal, power = numbers
    counts = np.bincount(one.string, np.exp(constant + equal * one.equal), len(one.log_prob))
    with np.errstate(divide="ignore"):
        log_echo = np.log(counts) + power * one.log_prob
    log_mass = np.logaddexp.reduce(np.append(log_echo, 0.0))
    return np.logaddexp(one.log_prob, log_echo) - log_mass


def fit(scored: list[Scored]) -> np.ndarray:
    def mean_nll(numbers: np.ndarray) -> float:
        return float(np.mean([-with_echoes(numbers, one)[0] for one in scored]))

    bounds = [(-20.0, 5.0), (0.0, 3.0), (0.0, 1.0)]
    return minimize(mean_nll, LIBRARY, method="Nelder-Mead", bounds=bounds).x


if __name__ == "__main__":
    main()
