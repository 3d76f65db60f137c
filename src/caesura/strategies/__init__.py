"""Strategies: how gaps are filled, and how probable a fill is."""

from caesura.strategies.base import Estimate, Marginals, Strategy
from caesura.strategies.bayes import Bayes
from caesura.strategies.bothways import BothWays
from caesura.strategies.gsn import GSN
from caesura.strategies.keys import Keys
from caesura.strategies.nade import NADE
from caesura.strategies.onegram import OneGram
from caesura.strategies.oneway import OneWay
from caesura.strategies.search import Found, Search
from caesura.strategies.sir import SIR
from caesura.strategies.window import (
    Place,
    Window,
    around_each,
    around_each_eagerly,
    around_gaps,
    around_missing,
)

STRATEGIES: dict[str, type[Strategy]] = {
    "gsn": GSN,
    "nade": NADE,
    "bothways": BothWays,
    "bayes": Bayes,
    "search": Search,
    "sir": SIR,
    "oneway": OneWay,
    "onegram": OneGram,
}

__all__ = [
    "GSN",
    "NADE",
    "SIR",
    "STRATEGIES",
    "Bayes",
    "BothWays",
    "Estimate",
    "Found",
    "Keys",
    "Marginals",
    "OneGram",
    "OneWay",
    "Place",
    "Search",
    "Strategy",
    "Window",
    "around_each",
    "around_each_eagerly",
    "around_gaps",
    "around_missing",
]
