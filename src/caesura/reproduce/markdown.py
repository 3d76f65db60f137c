"""Tables and texts as Markdown."""

from collections.abc import Sequence

NONE = "–"  # for what was not measured
MARKUP = frozenset("\\`*_{}[]<>&#|$~!")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns hold words and the others numbers."""
    if not rows:
        return NONE
    ruler = ["---" if column < left else "---:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ruler, *rows))


def literal(text: str) -> str:
    """A text as it is, in a cell of a table."""
    plain = "".join(f"&#{ord(c)};" if c in MARKUP else c for c in text)
    return plain.replace("\n", "↵")
