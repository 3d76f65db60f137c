"""A trained model, ready to use."""

from caesura.filler.fill import Fill, LogProb, Marginals
from caesura.filler.filler import Filler, join, load, make_key

__all__ = ["Fill", "Filler", "LogProb", "Marginals", "join", "load", "make_key"]
