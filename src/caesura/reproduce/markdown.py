"""Tables and texts in Markdown."""

from collections.abc import Sequence

NONE = "–"  # not measured
MARKUP = frozenset("\\`*_{}[]<>&#|$~!")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table: the first `left` columns hold words, the others numbers."""
    if not rows:
        return NONE
    ruler = ["---" if column < left else "---:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ruler, *rows))


def literal(text: str) -> str:
    """Return a text for a cell of a table, with its markup characters escaped."""
    plain = "".join(f"&#{ord(c)};" if c in MARKUP else c for c in text)
    return plain.replace("\n", "↵")
