"""Changes of the kinds that break readers, made to files that were sound."""

import random

NUMBERS = [bytes([b]) * n for n in (1, 2, 4, 8) for b in (0, 0x7F, 0x80, 0xFF)]
WORDS = [b'"', b"'", b"{", b"[", b"]", b",", b"\n", b"\0", b"=", b":", b"-", b"9" * 400, b"1e999"]
WORDS += [b"nan", b"inf", b"true", b"\xed\xa0\x80", b"\x1b[2J", "\u202e".encode(), b"MTrk"]
WORDS += [b"[" * 99, b"(", b")", b"|", b"*", b"+", b"?", b"\\", b"{9,99}", b"(?=", b"[^", b"(" * 99]
WORDS += [b"<", b"/>", b"</ab>", b"&", b"&#0;", b"]]>", b"<!--", b"<!DOCTYPE a [", b'="', b"<gap/>"]
WORDS += [b"---", b"c. 5", b"[...]", b". ", "\u0323".encode(), "ά".encode(), "Σ".encode(), b"\r"]


def damage(draw: random.Random, seeds: list[bytes]) -> bytes:
    """Return one of the files with a few changes, or now and then bytes of any kind."""
    if draw.random() < 0.02:
        return draw.randbytes(draw.randrange(200))
    content = draw.choice(seeds)
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(content))
        stop = min(len(content), at + draw.randint(0, 9))
        piece = draw.choice(WORDS if draw.random() < 0.6 else NUMBERS)
        if draw.random() < 0.2:
            piece = draw.randbytes(draw.randrange(10))
        match draw.randrange(6):
            case 0:
                content = content[:at] + piece + content[at + len(piece) :]
            case 1:
                content = content[:at] + piece + content[at:]
            case 2:
                content = content[:at] + content[stop:]
            case 3:
                content = content[:at] + content[at:stop] * 3 + content[stop:]
            case 4:
                content = content[:at]
            case 5:  # the beginning of one and the end of another
                other = draw.choice(seeds)
                content = content[:at] + other[draw.randint(0, len(other)) :]
    return content
