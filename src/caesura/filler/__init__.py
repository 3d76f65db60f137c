"""A trained model, ready to use, and what it answers with."""

from caesura.filler.fill import Candidate, Fill, LogProb, Marginals, SeriesFill
from caesura.filler.filler import Filler
from caesura.filler.loading import join, load
from caesura.filler.passes import Method
from caesura.filler.request import Request

__all__ = [
    "Candidate",
    "Fill",
    "Filler",
    "LogProb",
    "Marginals",
    "Method",
    "Request",
    "SeriesFill",
    "join",
    "load",
]
