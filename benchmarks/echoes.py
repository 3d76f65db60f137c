"""How much echoes count in a search: six numbers, fitted to held-out text.

    python benchmarks/echoes.py --data DATA
    python benchmarks/echoes.py --data DATA --model papyri     # how much parts of words count

Words and gaps are hidden in the validation articles of wiki96, with the whole article around them.
The nets score the truth, the readings of a search without echoes, and the echoes. Then the mean NLL
of the truth, in the distribution of `caesura.strategies.Search` with echoes, is made as small as
possible by the numbers of `caesura.strategies.echo`. The table compares nets alone with four-fold
cross-validation: each quarter by the numbers fitted to the others. `top 1` is how often the truth
is the most probable of all that was scored. The echoes that are scored are those that are strongest
by the library's numbers.

The six numbers are fitted to English. In papyri, words are not divided, so all echoes are parts of
words. With `--model papyri`, the table has the library's numbers with other values of `PART`.
`stated` is the mean probability of what is the most probable.
"""

import argparse
from functools import partial
from typing import Any, NamedTuple

import lost_letters
import numpy as np
from decoding import NAMED, log_probs, plain, readings
from hidden_places import AFTER, BEFORE, Place, gaps_of, words_of
from printing import head, line, note, numbers
from scipy.optimize import minimize

import caesura
from caesura import datasets
from caesura.nets import eager
from caesura.sequence import Sequence, Span
from caesura.strategies import echo
from caesura.strategies.alone import log_alone

FOLDS = 4
PARTS = (-0.2, -0.3, -0.4, -0.5, -0.6)
NAMES = ("POWER", "ALONE", "CONSTANT", "EQUAL", "DISTANCE", "PART")
LIBRARY = np.array([getattr(echo, name) for name in NAMES])


class Scored(NamedTuple):
    """What could stand in one gap: the truth first."""

    what: str
    log_prob: np.ndarray  # of each string, by the nets
    log_alone: np.ndarray  # of each string
    string: np.ndarray  # for each occurrence elsewhere, which string it is
    features: np.ndarray  # of each occurrence, one for each of the last four numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=["text", "text-large", "papyri"], default="text")
    parser.add_argument("--gaps", type=int, default=100, help="for each row of the table")
    parser.add_argument("--lengths", type=numbers, default=(1, 2, 5, 8, 12))
    parser.add_argument("--words", type=numbers, default=tuple(range(3, 13)))
    parser.add_argument("--data", help="the data directory")
    given = parser.parse_args()
    if given.model == "papyri":
        parts_of_words(given)
        return
    filler = plain(caesura.load(given.model))
    pieces = datasets.load("wiki96", "valid", given.data)
    rows = [("gap", n, gaps_of(pieces, n, given.gaps, 3, True)) for n in given.lengths]
    rows += [("word", n, words_of(pieces, n, given.gaps, 3, True)) for n in given.words]
    scored: list[Scored] = []
    for what, n, places in rows:
        scored += [score(filler, f"{what} of {n}", place) for place in places]
        note(f"{what} of {n}")
    alone = [one.log_prob for one in scored]
    library = [with_echoes(LIBRARY, one) for one in scored]
    table(scored, [alone, crossed(scored), library])
    fitted = fit(scored)
    print("\n" + ", ".join(f"{n} {x:.2f}" for n, x in zip(NAMES, fitted, strict=True)))


def parts_of_words(given: argparse.Namespace) -> None:
    """Print how good the library's numbers are on papyri, with other values of `PART`."""
    filler = lost_letters.plain(caesura.load("papyri"))
    kind: Any = caesura.load("papyri").kind
    texts = datasets.load("papyri", "valid", given.data)
    pieces = [lost_letters.letters_of(kind, text)[0] for text in texts]
    rows = {n: lost_letters.at_random(pieces, n, given.gaps, 3) for n in given.lengths}
    scored = [score(filler, f"{n}", Place(*one)) for n, places in rows.items() for one in places]
    head("PART", "letters", "nats", "top 1, %", "stated, %")
    groups = [[n for n in rows if n <= 10], [n for n in rows if n > 10]]
    for part in (*PARTS, None):
        numbers = np.append(LIBRARY[:-1], part or 0)
        for some in groups:
            of = [one for one in scored if int(one.what) in some]
            found = [one.log_prob if part is None else with_echoes(numbers, one) for one in of]
            if found:
                nats = -np.mean([each[0] for each in found])
                first = 100 * np.mean([each[0] >= each.max() for each in found])
                stated = 100 * np.mean([np.exp(each.max()) for each in found])
                name = "nets alone" if part is None else f"{part:g}"
                line(name, f"{some[0]}–{some[-1]}", f"{nats:.2f}", f"{first:.1f}", f"{stated:.1f}")


def table(scored: list[Scored], ways: list[list[np.ndarray]]) -> None:
    """Print the nats of the truth and how often it is the first, for each way to score."""
    what = ("nets alone", "with echoes, fitted", "with the library's numbers")
    head("hidden", *(f"nats, {name}" for name in what), *(f"top 1, %, {name}" for name in what))
    nats = [np.array([-scores[0] for scores in way]) for way in ways]
    first = [np.array([100.0 * (scores[0] >= scores.max()) for scores in way]) for way in ways]
    names = np.array([one.what for one in scored])
    for name in [*dict.fromkeys(names.tolist()), "all"]:
        some = (names == name) | (name == "all")
        shown = [f"{each[some].mean():.2f}" for each in nats]
        line(name, *shown, *(f"{each[some].mean():.1f}" for each in first))


def score(filler: caesura.Filler, what: str, place: Place) -> Scored:
    """Return what the nets say of the truth, of what a search finds, and of echoes."""
    page = Place(place.before[-BEFORE:], place.truth, place.after[:AFTER])  # the nets read less
    asked = caesura.Request(page.text, page.steps, strategy=NAMED["nets"])
    (fill,) = filler.fill_many([asked])
    kind: Any = filler.kind
    (values,) = filler.read([place.text])
    missing = np.zeros(values.shape, bool)
    missing[place.steps] = True
    sequence, gap = Sequence(values, missing), Span(place.steps.start, place.steps.stop)
    found = echo.occurrences(sequence, gap, len(place.truth), kind.is_word)
    echoes, _ = echo.strongest(found, echo.MOST)
    letters = partial(written, kind.alphabet)
    likely = [place.truth, *(part for part, _ in readings(fill)), *map(letters, echoes)]
    number = {string: i for i, string in enumerate(dict.fromkeys(likely))}
    heard = {letters(symbols): number[letters(symbols)] for symbols in echoes}
    counted, _ = found.heaviest()
    string = np.array([heard.get(letters(symbols), -1) for symbols in counted.strings], int)
    distance = np.log(counted.distance + echo.NEAR)
    part = counted.is_part * len(place.truth)
    features = np.stack([np.ones(len(string)), counted.equal, distance, part], axis=1)
    return Scored(
        what,
        log_probs(filler, "nets", page, list(number)),
        by_themselves(filler, list(number), np.array(echo.edges_of(sequence, gap))),
        string[string >= 0],
        features[string >= 0],
    )


def by_themselves(filler: caesura.Filler, strings: list[str], edges: np.ndarray) -> np.ndarray:
    net: Any = filler.method(NAMED["nets"]).net
    both = eager.with_numpy(net.bidirectional)
    symbols = np.stack([filler.read([string])[0][:, 0] for string in strings])
    return log_alone(both, eager.table(both, both.forward), symbols, edges)


def written(alphabet: str, symbols: np.ndarray) -> str:
    return "".join(alphabet[symbol] for symbol in symbols)


def with_echoes(numbers: np.ndarray, one: Scored) -> np.ndarray:
    """Return the log-probabilities of the strings."""
    power, alone, *others = numbers
    counts = np.bincount(one.string, np.exp(one.features @ others), len(one.log_prob))
    with np.errstate(divide="ignore"):
        log_echo = np.log(counts) + power * one.log_prob - alone * one.log_alone
    log_mass = np.logaddexp.reduce(np.append(log_echo, 0.0))
    return np.logaddexp(one.log_prob, log_echo) - log_mass


def crossed(scored: list[Scored]) -> list[np.ndarray]:
    """Return the log-probabilities of all strings, by numbers that were fitted to other places."""
    folds = np.random.default_rng(0).permutation(len(scored)) % FOLDS
    fitted = [fit([scored[i] for i in np.flatnonzero(folds != fold)]) for fold in range(FOLDS)]
    return [with_echoes(fitted[fold], one) for fold, one in zip(folds, scored, strict=True)]


def fit(scored: list[Scored]) -> np.ndarray:
    def mean_nll(numbers: np.ndarray) -> float:
        return float(np.mean([-with_echoes(numbers, one)[0] for one in scored]))

    return minimize(mean_nll, LIBRARY, method="BFGS", options={"gtol": 1e-4}).x


if __name__ == "__main__":
    main()
