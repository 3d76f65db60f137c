"""Gaps as a user writes them: `8:12` is from 8 to before 12, `8` is 8 alone."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from caesura.errors import CaesuraError


class Span(NamedTuple):
    """The first place, and the one after the last."""

    first: int
    stop: int

    def __str__(self) -> str:
        return str(self.first) if self.stop == self.first + 1 else f"{self.first}:{self.stop}"


def parse_span(text: str) -> Span:
    """Return the gap that is written so."""
    found = re.fullmatch(r"\s*(\d{1,9})\s*(?::\s*(\d{1,9})\s*)?", text, re.ASCII)
    if found is None:
        raise CaesuraError(f"A gap is written as 8 or as 8:12, not as '{text}'.")
    first = int(found[1])
    stop = int(found[2]) if found[2] else first + 1
    if stop <= first:
        raise CaesuraError(f"The gap '{text}' is empty: its second number must be larger.")
    return Span(first, stop)


def steps_in(spans: Sequence[Span], length: int, unit: str) -> list[int] | None:
    """Return the steps of gaps in a sequence, which are counted from 0; None without gaps."""
    for span in spans:
        if span.stop > length:
            raise CaesuraError(f"The gap {span} ends after the last of {length} {unit}.")
    return [step for span in spans for step in range(*span)] or None
