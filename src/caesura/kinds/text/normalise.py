"""Normalisation: the form in which a net sees letters, while the user's text stays as it is."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from caesura.errors import CaesuraError, lookup

WORDS = {
    "case": "lower case",
    "marks": "no accents, breathings and other diacritics",
    "sigma": "ς and ϲ are σ",
    "final": "as sigma, and new letters have ς at the end of a word",
    "stops": "every stop is '.', and other punctuation is left out",
    "punctuation": "no punctuation",
    "blanks": "no blanks and line ends: letters follow each other, as in the manuscript",
    "starts": "with 'case' and 'blanks': the first letter of a word is a capital",
}
PRESETS = {"letters": "case marks sigma punctuation blanks"}
DOUBT = "\N{COMBINING DOT BELOW}"  # an editor puts it under a letter that is hard to read
SIGMAS = str.maketrans("ςϲϹ", "σσΣ")  # final and lunate sigma
STOPS = ".;:·\N{GREEK ANO TELEIA}\N{GREEK QUESTION MARK}"
MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # combining characters
CLUSTER = re.compile(rf".[{MARKS}]*", re.DOTALL)  # a character and the marks on it


def words_of(normalise: object) -> frozenset[str]:
    """Return the single choices that a text such as "case marks" or "letters" stands for.

    Raises
    ------
    CaesuraError
        If it is no string, or a word of it is unknown, or two words exclude each other.

    Examples
    --------
    >>> sorted(words_of("case marks"))
    ['case', 'marks']
    >>> sorted(words_of("letters"))
    ['blanks', 'case', 'marks', 'punctuation', 'sigma']
    """
    if not isinstance(normalise, str):
        raise CaesuraError(f"The option 'normalise' must be a string of words, not {normalise!r}.")
    words: set[str] = set()
    for word in normalise.replace(",", " ").split():
        lookup(WORDS | PRESETS, word, "normalisation")
        words |= set(PRESETS.get(word, word).split())
    if {"stops", "punctuation"} <= words:
        raise CaesuraError("The normalisations 'stops' and 'punctuation' exclude each other.")
    if "starts" in words and not {"case", "blanks"} <= words:
        raise CaesuraError("The normalisation 'starts' needs 'case' and 'blanks', too.")
    return frozenset(words)


@lru_cache(maxsize=64)
def normaliser(words: frozenset[str]) -> Callable[[str], str]:
    """Return a function from a character with its marks to what a net sees of it.

    The function gives an empty string for what is left out. What is not left out is one character,
    or, if marks are kept and there is no such character, the letter and its marks. A dot below is
    left out if the letter has it as a mark of doubt: a notation passes it on without the dot.

    Examples
    --------
    >>> see = normaliser(words_of("case marks final"))
    >>> see("Ἀ"), see("ς"), see(",")
    ('α', 'σ', ',')
    """
    known: dict[str, str] = {}

    def normalised(cluster: str) -> str:
        if (found := known.get(cluster)) is None:
            found = _normalised(cluster, words)
            if len(known) < 10_000:  # a hostile text may have more marks than an alphabet has
                known[cluster] = found
        return found

    return normalised


def without_doubt(cluster: str) -> str:
    """Return a letter without the dot below it, which may be part of the character itself.

    Examples
    --------
    >>> without_doubt("ạ"), without_doubt("ά"), without_doubt("α\\N{COMBINING DOT BELOW}")
    ('a', 'ά', 'α')
    """
    if cluster.isascii():
        return cluster
    apart = unicodedata.normalize("NFD", cluster)
    if DOUBT not in apart:
        return cluster
    return unicodedata.normalize("NFC", apart.replace(DOUBT, ""))


def capital(letter: str) -> str:
    """Return a letter as a capital, if it has one.

    Examples
    --------
    >>> capital("α"), capital("1"), capital("ß")
    ('Α', '1', 'ß')
    """
    upper = letter.upper()
    return upper if len(upper) == 1 else letter


def divided(letters: str) -> str:
    """Return letters of which capitals begin words as small letters with blanks between words.

    Examples
    --------
    >>> divided("τουΚυριου"), divided("Του")
    ('του κυριου', 'του')
    """
    return "".join(
        " " + c.lower() if i and c.isupper() else c.lower() for i, c in enumerate(letters)
    )


def undivided(words: str) -> str:
    """Return words as letters that follow each other, each word but the first with a capital.

    Examples
    --------
    >>> undivided("του κυριου")
    'τουΚυριου'
    """
    first, *others = words.split() or [""]
    return first + "".join(capital(word[0]) + word[1:] for word in others)


def with_final_sigmas(letters: str, ends: bool) -> str:
    """Return the letters with ς for σ at the end of each word.

    Parameters
    ----------
    letters
        Letters that are written into a text, with blanks between words, if there are any.
    ends
        Whether a word ends after the last of them.

    Examples
    --------
    >>> with_final_sigmas("τοσ νομοσ", ends=True), with_final_sigmas("τοσ", ends=False)
    ('τος νομος', 'τοσ')
    """
    inside = re.sub(r"(?<=\w)σ(?=\W)", "ς", letters)
    return inside[:-1] + "ς" if ends and re.search(r"σ\Z", inside) else inside


def _normalised(cluster: str, words: frozenset[str]) -> str:
    if cluster.isspace():
        return "" if "blanks" in words else cluster
    text = unicodedata.normalize("NFD" if "marks" in words else "NFC", cluster)
    if "marks" in words:
        text = "".join(c for c in text if not unicodedata.combining(c))
    if "case" in words:
        text = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    if words & {"sigma", "final"}:
        text = text.translate(SIGMAS)
    if words & {"stops", "punctuation"} and not (text and _is_letter(text[0])):
        return "." if "stops" in words and text and text[0] in STOPS else ""
    return text


def _is_letter(character: str) -> bool:
    """A letter or number; signs such as the apostrophe and the stroke of numerals are neither."""
    category = unicodedata.category(character)
    return category[0] in "LN" and category != "Lm"
