"""Stretches as a user writes them: `8:12` is from 8 to before 12, `8` is 8 alone."""

import re
from typing import NamedTuple

from caesura.errors import CaesuraError


class Span(NamedTuple):
    """The first place, and the one after the last."""

    first: int
    stop: int

    def __str__(self) -> str:
        return str(self.first) if self.stop == self.first + 1 else f"{self.first}:{self.stop}"


def parse_span(text: str) -> Span:
    """The stretch, or one sentence."""
    found = re.fullmatch(r"\s*(\d{1,9})\s*(?::\s*(\d{1,9})\s*)?", text, re.ASCII)
    if found is None:
        raise CaesuraError(f"A gap is written as 8 or as 8:12, not as '{text}'.")
    first = int(found[1])
    stop = int(found[2]) if found[2] else first + 1
    if stop <= first:
        raise CaesuraError(f"The gap '{text}' holds nothing: its second number must be the larger.")
    return Span(first, stop)
