"""A mistake is told in one sentence."""

from caesura.errors import CaesuraError


def checked(error: CaesuraError) -> str:
    """The sentence, which fits on a line and is whole."""
    text = str(error)
    assert text.isprintable()
    assert len(text) < 700
    assert text[0].isupper()
    assert text[-1] in ".?"
    return text
