"""Texts with gaps whose truth is known, and what a filler makes of them."""

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from caesura import Fill, Filler

SHOWN = 3  # of the restorations of a text, and of the characters at a place

# The text in brackets is hidden from the model. The texts, their gaps and the distances between
# the gaps have similar lengths, so all strategies but `search` share their compiled programs.
TEXTS = {
    "A chronicle": "The Battle of Hast[ings] was fought in 1066 between the Nor[mans] and the "
    "English.",
    "A declaration": "We hold these truths to be self-evi[dent], that all men are created "
    "eq[ual ]before the law.",
    "A letter to the editor": "To the Edi[tor ]of the Times: Sir, I have the hon[our ]to remain, "
    "your obedient servant.",
    "A wet letter": "The letter, dam[aged] by water, says that the army will att[ack ]the city "
    "before dawn.",
    "A pangram": "The q[uick] brown fox jumped over the lazy dog, who was ver[y mu]ch surprised.",
    "Two dates": "Columbus sailed to America in [1492], and died in the town of Valladolid "
    "in [1506].",
}
CONTEST = "He was a [prof]essor of physics at the Univ[ersi]ty of Vienna, and died there in 1906."
CONTESTANTS = {
    "search": "both sides",
    "oneway": "the left side",
    "onegram": "neither side",
}


class Reading(NamedTuple):
    """The content of the gaps of a text, from left to right."""

    words: tuple[str, ...]
    probability: float  # of all of them together
    true: bool


class Candidate(NamedTuple):
    """A possible character at a place."""

    character: str
    probability: float


class Letter(NamedTuple):
    """A missing character: the one that was chosen, what it should be, and what else it could."""

    place: int
    chosen: Candidate
    truth: str
    others: list[Candidate]


@dataclass(frozen=True)
class Restoration:
    """A damaged text, and how a strategy restored it."""

    title: str
    truth: str
    gaps: list[tuple[int, int]]  # the first character of each, and the one after its last
    fill: Fill
    # All characters at each missing place by itself, the most probable first.
    likeliest: list[list[tuple[str, float]]]
    truth_probability: float

    @property
    def damaged(self) -> str:
        """The text as the model sees it."""
        missing = {letter.place for letter in self.letters}
        return "".join("_" if n in missing else c for n, c in enumerate(self.truth))

    @property
    def letters(self) -> list[Letter]:
        """The missing characters, from left to right."""
        letters = []
        for (place, _), likeliest in zip(self.fill.places.tolist(), self.likeliest, strict=True):
            character = self.fill.best[place]
            chosen = Candidate(character, dict(likeliest)[character])
            others = [Candidate(*pair) for pair in likeliest if pair[0] != chosen.character]
            letters.append(Letter(place, chosen, self.truth[place], others[: SHOWN - 1]))
        return letters

    @property
    def readings(self) -> list[Reading]:
        """The most probable ones that were found, and the truth at its place among them."""
        found = {one.sequence: float(np.exp(one.log_prob)) for one in self.fill.candidates or ()}
        first = list(found)[:SHOWN]
        found.setdefault(self.truth, self.truth_probability)
        shown = sorted({*first, self.truth}, key=found.__getitem__, reverse=True)
        return [self._reading(text, found[text]) for text in shown]

    @property
    def best(self) -> Reading:
        """The most probable one that was found."""
        return self._reading(self.fill.best, float(np.exp(self.fill.log_prob)))

    def _reading(self, text: str, probability: float) -> Reading:
        words = tuple(text[start:stop] for start, stop in self.gaps)
        return Reading(words, probability, text == self.truth)


def restore(filler: Filler, title: str, marked: str, strategy: str | None = None) -> Restoration:
    """Hide the text in brackets, and fill it again; by default with the model's own strategy."""
    truth = re.sub(r"[\[\]]", "", marked)
    gaps = [
        (match.start() - 2 * number, match.end() - 2 * number - 2)
        for number, match in enumerate(re.finditer(r"\[.+?\]", marked))
    ]
    missing = [place for gap in gaps for place in range(*gap)]
    fill = filler.fill(truth, missing=missing, strategy=strategy)
    marginals = filler.marginals(truth, missing=missing, strategy=strategy)
    found = [one.log_prob for one in fill.candidates or () if one.sequence == truth]
    nats = found[0] if found else filler.log_prob(truth, missing=missing, strategy=strategy)
    likeliest = marginals.top(len(marginals.symbols))
    return Restoration(title, truth, gaps, fill, likeliest, float(np.exp(nats)))
