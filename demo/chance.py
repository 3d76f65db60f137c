"""Probabilities as people say them."""

from math import floor, log10


def percent(probability: float) -> str:
    """Whole percents, none of which claims to be certain."""
    if probability > 0.995:
        return ">99%"
    return f"{probability:.0%}" if probability >= 0.01 else "<1%"


def chance(probability: float) -> str:
    """Percents, or one in so many where they come to nothing."""
    if probability >= 0.01:
        return percent(probability)
    if probability < 1e-6:
        return "< 1 in a million"
    times = 1 / probability
    return f"1 in {round(times, 1 - floor(log10(times))):,.0f}"
