"""The tone of a piano: damped sine waves, whose sum is one product of matrices."""

from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex64, Float32, Float64

RATE = 44_100  # samples in a second
HIGHEST = 11_000.0  # Hz: partials above it are hardly heard
PARTIALS = 24  # at most
STRUCK_AT = 1 / 8  # of the length of a string: partials with a node there are missing
BOARD = 90.0  # Hz, below which the board of a piano hardly sounds
FAST, SLOW = 0.5, 2.0  # how long the two parts of a partial sound, compared with its mean
SHARE = 0.75  # of the fast part
BEATING = 1.0003  # the slow part is a little sharp, as strings of one key differ a little
ATTACK = 0.004  # seconds until a tone has its full loudness
DAMPING = 0.07  # seconds until a tone that was let go has 1/e of its loudness
RELEASE = 0.5  # seconds until it is silent
LONGEST = 12.0  # seconds of a key that is held
WIDTH = 512  # samples in a row of the product; any number gives the same tone


class String(NamedTuple):
    """What a key sounds like, but for how hard it is struck."""

    frequencies: Float64[np.ndarray, " partials"]  # Hz
    strengths: Float64[np.ndarray, " partials"]
    growth: Float64[np.ndarray, "2 parts"]  # of the logarithm in a sample: real and imaginary
    row: Complex64[np.ndarray, "parts width"]  # each part of each partial, for WIDTH samples


def frequency(pitch: int) -> float:
    """Return the frequency of a MIDI key in equal temperament; 69 has 440 Hz."""
    return float(440 * 2 ** ((pitch - 69) / 12))


def tone(pitch: int, velocity: int, seconds: float) -> Float32[np.ndarray, " samples"]:
    """Return the samples of a tone that is struck, held for some seconds, and let go.

    Each partial is a fast and a slow part, as strings of a piano have. Higher keys and higher
    partials fade faster. The harder a key is struck, the louder and brighter it is.
    """
    string, force = _string(pitch), velocity / 127
    # A hard hammer is on the string for less time, and so excites higher partials.
    cutoff = 400 * (string.frequencies[0] / 261.6) ** 0.4 * 8**force
    spectrum = string.strengths * np.exp(-string.frequencies / cutoff)
    spectrum *= force**1.5 / np.linalg.norm(spectrum)
    parts = np.concatenate([SHARE * spectrum, (1 - SHARE) * spectrum])

    held = round(min(seconds, LONGEST) * RATE)
    size = held + round(RELEASE * RATE)
    rows = ceil(size / WIDTH)
    real, imaginary = string.growth
    column = parts * np.exp(np.outer(np.arange(rows) * WIDTH, real + 1j * imaginary))
    column = column.astype(np.complex64)
    row = string.row
    wave: Float32[np.ndarray, " samples"] = column.real @ row.imag + column.imag @ row.real
    wave = wave.reshape(-1)[:size]

    rise = round(ATTACK * RATE)
    wave[:rise] *= (0.5 - 0.5 * np.cos(np.pi * np.arange(rise) / rise)).astype(np.float32)
    after = np.arange(size - held) / RATE
    wave[held:] *= (np.exp(-after / DAMPING) * (1 - after / RELEASE)).astype(np.float32)
    return wave


@lru_cache(maxsize=128)
def _string(pitch: int) -> String:
    base = frequency(pitch)
    numbers = np.arange(1, max(1, min(PARTIALS, int(HIGHEST / base))) + 1)
    stiffness = 1e-4 * 2 ** ((pitch - 45) / 10)  # makes the upper partials sharp
    frequencies = base * numbers * np.sqrt((1 + stiffness * numbers**2) / (1 + stiffness))
    frequencies = frequencies[(frequencies < HIGHEST) | (numbers == 1)]
    numbers = numbers[: len(frequencies)]
    strengths = np.abs(np.sin(np.pi * numbers * STRUCK_AT)) / numbers
    strengths *= frequencies**2 / (frequencies**2 + BOARD**2)
    # Seconds until 1/e: about 4 for the lowest key, 1 for the middle C, 0.1 for the highest.
    fading = 1 / (2.6 * 2 ** ((36 - pitch) / 18)) + 0.7 * (frequencies / 1000) ** 1.4
    real = -np.concatenate([fading / FAST, fading / SLOW]) / RATE
    imaginary = 2 * np.pi * np.concatenate([frequencies, frequencies * BEATING]) / RATE
    row = np.exp(np.outer(real + 1j * imaginary, np.arange(WIDTH))).astype(np.complex64)
    return String(frequencies, strengths, np.stack([real, imaginary]), row)
