"""Fillers with random weights, which are ready at once, for tests of what is around them."""

import string
from dataclasses import replace

import equinox as eqx
import jax
import numpy as np

from caesura.filler import Filler
from caesura.kinds import Music, Text
from caesura.kinds.music.metre import SWITCHES
from caesura.kinds.music.roll import KEYS
from caesura.nets.frames import Binary, Categorical, Keys
from caesura.nets.rnn import bidirectional, onegram, unidirectional

GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
ALPHABET = "\n " + string.ascii_letters + string.digits + string.punctuation


def text_filler() -> Filler:
    return _filler(Text(ALPHABET), Categorical(len(ALPHABET)), "softmax")


def greek_filler() -> Filler:
    """One that sees letters without accents, of which capitals begin words, in Leiden notation."""
    kind = Text(GREEK + GREEK.upper(), notation="leiden", normalise="letters final starts")
    return replace(_filler(kind, Categorical(2 * len(GREEK)), "softmax"), strategy="search")


def music_filler() -> Filler:
    return _filler(Music(2), Binary(88), "bernoulli")


def keys_filler() -> Filler:
    """One for keys that are silent, held or struck; it likes silence, as music does."""
    frame = Keys(KEYS + SWITCHES, SWITCHES)
    net = bidirectional(jax.random.key(0), frame, head="orderless", hidden=5, head_hidden=5)
    net = eqx.tree_at(lambda net: net.head.b_y, net, net.head.b_y - 2)
    return Filler(Music(0, struck=True), {"bidirectional": net}, "bothways")


def _filler(kind, frame, head) -> Filler:
    shape = {"head": head, "hidden": 5}
    counted = np.arange(frame.components * 4).reshape(4, -1) % 2
    nets = {
        "bidirectional": bidirectional(jax.random.key(0), frame, **shape),
        "forward": unidirectional(jax.random.key(1), frame, **shape),
        "onegram": onegram(frame, counted.astype(np.int32)),
    }
    return Filler(kind, nets, "nade")
