"""Text: one character a step, from an alphabet learnt from the training texts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Int

from caesura.errors import CaesuraError
from caesura.sequence import Sequence


@dataclass(frozen=True)
class Text:
    """Characters and their numbers; `gap_char` marks a missing one."""

    frame: ClassVar[str] = "categorical"
    head: ClassVar[str] = "softmax"

    alphabet: str
    gap_char: str = "_"

    @classmethod
    def learn(cls, texts: Iterable[Any], gap_char: str = "_") -> "Text":
        """The characters that occur in the texts, in the order of their code points."""
        characters: set[str] = set()
        for text in texts:
            characters |= set(_string(text))
        if not characters:
            raise CaesuraError("There is no text to learn from.")
        return cls("".join(sorted(characters - {gap_char})), gap_char)

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.alphabet)

    def read(self, text: Any) -> Sequence:
        """The text as numbers; gap characters are missing, and stand as symbol 0."""
        if not _string(text):
            raise CaesuraError("The text is empty.")
        missing = np.array([character == self.gap_char for character in text])
        values = np.array([self.alphabet.find(character) for character in text])
        if (strange := (values < 0) & ~missing).any():
            where = int(np.argmax(strange))
            raise CaesuraError(
                f"The character {text[where]!r} at position {where} is not in the model's alphabet."
            )
        return Sequence(np.where(missing, 0, values)[:, None], missing[:, None])

    def write(
        self, text: str, missing: Bool[np.ndarray, "T D"], values: Int[np.ndarray, "T D"]
    ) -> str:
        """The user's own text with the missing characters, and only those, replaced."""
        return "".join(
            self.alphabet[value] if gap else character
            for character, gap, value in zip(text, missing[:, 0], values[:, 0], strict=True)
        )

    def symbols(self) -> list[str]:
        """What the K values of a component stand for."""
        return list(self.alphabet)


def _string(text: Any) -> str:
    if not isinstance(text, str):
        raise CaesuraError(f"A text is a string, not {type(text).__name__}.")
    return text
