"""A trained model, ready to use, and what it answers with."""

from caesura.filler.candidates import Asked, Candidate, GapFill, LogProb, Reading
from caesura.filler.fill import Fill
from caesura.filler.filler import Filler
from caesura.filler.loading import join, load
from caesura.filler.marginals import Marginals
from caesura.filler.request import Request
from caesura.filler.series_fill import SeriesFill
from caesura.filler.tasks import Method

__all__ = [
    "Asked",
    "Candidate",
    "Fill",
    "Filler",
    "GapFill",
    "LogProb",
    "Marginals",
    "Method",
    "Reading",
    "Request",
    "SeriesFill",
    "join",
    "load",
]
