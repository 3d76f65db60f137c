"""Synthetic tables to pretrain on: courses of many families, mixed into columns that are related.

    python benchmarks/synthetic_tables.py tables.png     a look at some of them

A table has a few hidden courses. Most columns are sums of some of them, through lags, bends and
noise; others stand alone. Last, sensors spoil some columns: they round, stick, saturate or spike.
Everything depends on the seed.
"""

import sys
from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
Course = Callable[[Rng, int], np.ndarray]


def make_table(seed: int, rows: int, columns: int) -> np.ndarray:
    """Return a table [rows, columns], each column with mean 0 and deviation 1, or constant."""
    rng = np.random.default_rng([20, seed])
    period = _period(rng)  # one clock for the whole table
    hidden = int(rng.integers(1, columns + 1))
    courses = [_course(rng, rows, period) for _ in range(hidden)]
    noisy = rng.choice([0.0, 0.02, 0.1, 0.4], p=[0.25, 0.3, 0.3, 0.15])
    table = np.stack([_column(rng, courses, noisy, period) for _ in range(columns)], axis=1)
    if rng.random() < 0.15:  # some columns are copies of others, with noise
        for _ in range(int(rng.integers(1, 4))):
            source, copy = rng.integers(0, columns, 2)
            table[:, copy] = _unit(table[:, source]) + _amount(rng, 1e-3, 0.3) * rng.normal(
                size=rows
            )
    for number in range(columns):
        table[:, number] = _spoilt(rng, _unit(table[:, number]))
    return np.stack([_unit(column) for column in table.T], axis=1)


def _column(rng: Rng, courses: list[np.ndarray], noisy: float, period: float) -> np.ndarray:
    rows = len(courses[0])
    if rng.random() < 0.15:
        return _course(rng, rows, period)
    count = min(len(courses), 1 + int(rng.geometric(0.5)))
    total = np.zeros(rows)
    for number in rng.choice(len(courses), count, replace=False):
        part = courses[number]
        if rng.random() < 0.25:
            part = _shifted(part, int(rng.integers(-6, 7)))
        if rng.random() < 0.25:
            part = _bent(rng, part)
        total += rng.normal() * part
    own = noisy * _amount(rng, 0.3, 3.0)
    total = _unit(total) + own * _unit(
        _course(rng, rows, period) if rng.random() < 0.5 else rng.normal(size=rows)
    )
    return _bent(rng, total) if rng.random() < 0.2 else total


def _course(rng: Rng, rows: int, period: float) -> np.ndarray:
    family = rng.choice(len(FAMILIES), p=WEIGHTS)
    course = _unit(FAMILIES[family](rng, rows, period))
    if rng.random() < 0.3:
        course = course + _amount(rng, 0.1, 2.0) * _unit(_coloured(rng, rows, period))
    if rng.random() < 0.2:
        course = course * np.exp(0.5 * _unit(_coloured(rng, rows, period, least=1.5)))
    return _unit(course)


# Families of courses


def _coloured(rng: Rng, rows: int, period: float, least: float = 0.0) -> np.ndarray:
    """Noise with a spectrum of f to a power: white, pink, a random walk, or smooth."""
    power = rng.uniform(least, 4.0)
    size = 4 * rows
    f = np.fft.rfftfreq(size)
    corner = _amount(rng, 1 / size, 0.1)
    amplitude = (f**2 + corner**2) ** (-power / 4)
    phases = rng.normal(size=(2, len(f)))
    wave = np.fft.irfft(amplitude * (phases[0] + 1j * phases[1]), size)
    start = int(rng.integers(0, size - rows + 1))
    return wave[start : start + rows]


def _seasonal(rng: Rng, rows: int, period: float) -> np.ndarray:
    """Cycles of one shape, whose strength and phase may change slowly, and a trend."""
    t = np.arange(rows)
    wander = _amount(rng, 1e-4, 0.05) * period * _unit(_coloured(rng, rows, period, least=2.0))
    phase = 2 * np.pi * (t + wander) / period + rng.uniform(0, 7)
    wave = np.zeros(rows)
    decay = rng.uniform(0.3, 2.5)
    for k in range(1, int(rng.integers(1, 9)) + 1):
        wave += rng.normal() / k**decay * np.cos(k * phase + rng.uniform(0, 7))
    if rng.random() < 0.4:  # a week of days
        days = rng.normal(1.0, _amount(rng, 0.1, 1.0), 7)
        wave *= days[(t // max(1, round(period))) % 7]
    if rng.random() < 0.5:
        wave *= np.exp(rng.uniform(0.1, 0.8) * _unit(_coloured(rng, rows, period, least=1.5)))
    slow = _amount(rng, 0.02, 3.0) * _unit(_coloured(rng, rows, period, least=1.5))
    noise = _amount(rng, 0.003, 0.6) * rng.normal(size=rows)
    return _unit(wave) + slow + noise


def _daylight(rng: Rng, rows: int, period: float) -> np.ndarray:
    """Zero for a part of each cycle, as the sun at night, and dimmed by clouds."""
    t = np.arange(rows)
    sun = np.cos(2 * np.pi * t / period + rng.uniform(0, 7)) + rng.uniform(-0.3, 0.5)
    clouds = np.exp(-np.abs(rng.uniform(0, 1.5) * _unit(_coloured(rng, rows, period))))
    return np.maximum(sun, 0) ** rng.uniform(0.5, 2.0) * (clouds / clouds.max())


def _walk(rng: Rng, rows: int, period: float) -> np.ndarray:
    """A random walk, with steps that may have heavy tails."""
    steps = (
        rng.standard_t(rng.uniform(2.0, 10.0), rows)
        if rng.random() < 0.5
        else rng.normal(size=rows)
    )
    return np.cumsum(steps + rng.normal(0, 0.1))


def _autoregressive(rng: Rng, rows: int, period: float) -> np.ndarray:
    """A process of order two: it falls back, or swings."""
    radius, angle = 1 - _amount(rng, 0.005, 0.8), rng.choice([0.0, 2 * np.pi / rng.uniform(4, 100)])
    a, b = 2 * radius * np.cos(angle), -(radius**2)
    if angle == 0:
        a, b = radius, 0.0
    noise, x = rng.normal(size=rows + 100), np.zeros(rows + 100)
    for t in range(2, rows + 100):
        x[t] = a * x[t - 1] + b * x[t - 2] + noise[t]
    return x[100:]


def _regimes(rng: Rng, rows: int, period: float) -> np.ndarray:
    """Levels and noises that change at random times."""
    stay = _amount(rng, 8, 200)
    change = rng.random(rows) < 1 / stay
    regime = np.cumsum(change)
    levels = rng.normal(size=regime[-1] + 1)
    noises = _amount(rng, 1e-3, 0.5) * np.exp(rng.normal(size=regime[-1] + 1))
    smooth = _coloured(rng, rows, period) if rng.random() < 0.5 else rng.normal(size=rows)
    return levels[regime] + noises[regime] * _unit(smooth)


def _pieces(rng: Rng, rows: int, period: float) -> np.ndarray:
    """Straight lines from one random point to the next, or stairs."""
    count = int(rng.integers(3, max(4, rows // 10)))
    knots = np.sort(rng.uniform(0, rows, count))
    heights = np.cumsum(rng.normal(size=count)) if rng.random() < 0.5 else rng.normal(size=count)
    if rng.random() < 0.4:
        return heights[np.clip(np.searchsorted(knots, np.arange(rows)), 0, count - 1)]
    return np.interp(np.arange(rows), knots, heights)


def _waveform(rng: Rng, rows: int, period: float) -> np.ndarray:
    """A square, a sawtooth or pulses, with a period."""
    phase = (np.arange(rows) / period + rng.random()) % 1
    duty = rng.uniform(0.05, 0.95)
    shapes = (phase < duty, phase, np.minimum(phase / duty, (1 - phase) / (1 - duty)))
    wave = shapes[int(rng.integers(3))].astype(float)
    return wave + _amount(rng, 1e-3, 0.5) * rng.normal(size=rows)


def _bursts(rng: Rng, rows: int, period: float) -> np.ndarray:
    """Zero most of the time, with events that decay, as rain or traffic."""
    rate = _amount(rng, 0.005, 0.2)
    heights = np.where(rng.random(rows) < rate, rng.gamma(rng.uniform(0.3, 2.0), size=rows), 0.0)
    fade = np.exp(-np.arange(60) / _amount(rng, 0.2, 15.0))
    if rng.random() < 0.3:  # more by day
        heights *= 1 + np.cos(2 * np.pi * np.arange(rows) / period)
    return np.convolve(heights, fade)[:rows]


def _volatile(rng: Rng, rows: int, period: float) -> np.ndarray:
    """Noise whose strength changes, by itself or summed up, as prices."""
    strength = np.exp(rng.uniform(0.3, 1.5) * _unit(_coloured(rng, rows, period, least=1.0)))
    noise = strength * rng.normal(size=rows)
    return np.cumsum(noise) if rng.random() < 0.5 else noise


def _counts(rng: Rng, rows: int, period: float) -> np.ndarray:
    """Counts of events whose rate has cycles."""
    rate = np.exp(0.8 * _unit(_seasonal(rng, rows, period))) * _amount(rng, 0.5, 50.0)
    return rng.poisson(np.minimum(rate, 1e6)).astype(float)


def _noise(rng: Rng, rows: int, period: float) -> np.ndarray:
    return rng.normal(size=rows)


def _states(rng: Rng, rows: int, period: float) -> np.ndarray:
    """A machine that is off and on, or in one of a few states, each constant for long."""
    if rng.random() < 0.3:  # something slow drives it, so that other columns tell its state
        driver = _seasonal if rng.random() < 0.5 else _coloured
        above = _unit(driver(rng, rows, period)) > rng.uniform(-1.0, 1.5)
        state = above.astype(int)
    else:
        stays = [_amount(rng, 3, 150) for _ in range(int(rng.choice([2, 2, 2, 3, 4])))]
        state = _chain(rng, rows, stays)
    levels = np.concatenate([[0.0], 1 + rng.exponential(size=state.max())])
    course = levels[state]
    if rng.random() < 0.4:  # what it does while it is on is a course of its own
        at_work = 1 + rng.uniform(0.05, 0.5) * _unit(_coloured(rng, rows, period))
        course = np.where(state > 0, course * at_work, 0.0)
    return course


def _chain(rng: Rng, rows: int, stays: list[float]) -> np.ndarray:
    """The state at each step; each lasts for its own mean number of steps."""
    state = np.empty(rows, int)
    at, now = 0, int(rng.integers(len(stays)))
    while at < rows:
        until = at + 1 + int(rng.exponential(stays[now]))
        state[at:until] = now
        at, now = until, (now + int(rng.integers(1, len(stays)))) % len(stays)
    return state


def _angle(rng: Rng, rows: int, period: float) -> np.ndarray:
    """A direction in turns, such as that of the wind: past 1 it is 0 again."""
    if rng.random() < 0.5:  # of a vector that varies around a prevailing one
        prevailing = rng.uniform(0, 2 * np.pi)
        mean = rng.uniform(0, 2.5) * np.array([np.cos(prevailing), np.sin(prevailing)])
        least = rng.uniform(0.5, 2.0)
        x, y = (m + _unit(_coloured(rng, rows, period, least=least)) for m in mean)
        turns = np.arctan2(y, x) / (2 * np.pi)
    else:  # it turns back and forth, or on and on
        swing = _amount(rng, 0.05, 1.5) * _unit(_coloured(rng, rows, period, least=1.0))
        drift = rng.choice([0.0, 1 / period, -1 / period])
        turns = swing + drift * np.arange(rows) + rng.random()
    noise = _amount(rng, 1e-3, 0.05) * rng.normal(size=rows)
    return (turns + noise) % 1


FAMILIES = (
    _seasonal,
    _coloured,
    _walk,
    _autoregressive,
    _regimes,
    _pieces,
    _waveform,
    _bursts,
    _volatile,
    _counts,
    _daylight,
    _noise,
    _states,
    _angle,
)
WEIGHTS = (0.25, 0.2, 0.09, 0.09, 0.05, 0.04, 0.04, 0.05, 0.05, 0.03, 0.04, 0.02, 0.03, 0.02)


# What the columns share


def _period(rng: Rng) -> float:
    usual = (7, 12, 24, 24, 24, 48, 52, 60, 96, 96, 144, 144, 168)
    return float(rng.choice(usual)) if rng.random() < 0.6 else _amount(rng, 4, 200)


def _bent(rng: Rng, x: np.ndarray) -> np.ndarray:
    x = _unit(x)
    bends = (
        np.tanh(2 * x),
        np.exp(rng.uniform(0.3, 1.2) * np.clip(x, -4, 4)),
        np.maximum(x, rng.normal()),
        x**2,
        np.sign(x) * np.sqrt(np.abs(x)),
        np.abs(x),
    )
    return bends[int(rng.integers(len(bends)))]


def _spoilt(rng: Rng, x: np.ndarray) -> np.ndarray:
    """What a sensor makes of it."""
    if rng.random() < 0.25:  # it rounds
        step = _amount(rng, 0.003, 0.5)
        x = np.round(x / step) * step
    if rng.random() < 0.08:  # it saturates
        x = np.clip(x, *np.sort(rng.normal(0, 1.5, 2)) + np.array([-0.5, 0.5]))
    if rng.random() < 0.08:  # it spikes
        at = rng.random(len(x)) < _amount(rng, 0.002, 0.03)
        x = x + at * rng.standard_t(2, len(x)) * rng.uniform(1, 6)
    if rng.random() < 0.05:  # it sticks
        for _ in range(int(rng.integers(1, 4))):
            first = int(rng.integers(0, len(x)))
            last = first + int(_amount(rng, 4, 100))
            x = x.copy()
            x[first:last] = x[first]
    return x


def _shifted(x: np.ndarray, steps: int) -> np.ndarray:
    at = np.clip(np.arange(len(x)) - steps, 0, len(x) - 1)
    return x[at]


def _amount(rng: Rng, least: float, most: float) -> float:
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def _unit(x: np.ndarray) -> np.ndarray:
    x = x - x.mean()
    scale = x.std()
    return x / scale if scale > 1e-9 else 0 * x


def main() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(8, 3, figsize=(18, 20))
    for seed, axis in enumerate(axes.flat):
        axis.plot(make_table(seed, 512, 8) + 5 * np.arange(8), lw=0.8)
        axis.set_axis_off()
    plt.savefig(sys.argv[1], bbox_inches="tight", dpi=60)


if __name__ == "__main__":
    main()
