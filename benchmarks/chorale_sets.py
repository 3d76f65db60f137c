"""The chorales: read, padded to one length, cut and transposed."""

from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from chorale_echoes import echoes
from chorale_nets import ECHOES, LOWEST, PITCHES, REST, VOICES, Chorales
from jaxtyping import Array, Float, Int, PRNGKeyArray

EDGE = 16  # steps: so much more often does a stretch begin or end where its chorale does


class Set(NamedTuple):
    """Chorales, padded to one length; and by how many semitones each may be transposed."""

    values: Int[np.ndarray, "P T 4"]
    lengths: Int[np.ndarray, " P"]
    echoes: Int[np.ndarray, "P T E 4"]
    echo_lengths: Int[np.ndarray, "P T E"]
    lowest: Int[np.ndarray, " P"]
    highest: Int[np.ndarray, " P"]


def read(data: Path, split: str) -> list[np.ndarray]:
    """Return the chorales of a split."""
    with np.load(data / "music" / "jsb16_separated.npz", allow_pickle=False) as arrays:
        lengths, pitches = arrays[f"{split}_len"], arrays[f"{split}_pitch"].astype(np.int32)
    return np.split(np.where(pitches < 0, REST, pitches - LOWEST), np.cumsum(lengths)[:-1])


def make_set(pieces: list[np.ndarray], bank: list[np.ndarray]) -> Set:
    """Return a set of chorales, with their echoes from the training chorales in `bank`."""
    ranges = np.array([(v[v < REST].min(), v[v < REST].max()) for v in np.concatenate(bank).T])
    lengths = np.array([len(p) for p in pieces], np.int32)
    shape = (len(pieces), int(lengths.max()))
    values = np.full((*shape, VOICES), REST, np.int32)
    found = np.full((*shape, ECHOES, VOICES), REST, np.int32)
    echo_lengths = np.zeros((*shape, ECHOES), np.int32)
    shifts = np.zeros((len(pieces), 2), np.int32)
    for i, (piece, (echo, length)) in enumerate(zip(pieces, echoes(pieces, bank), strict=True)):
        values[i, : len(piece)] = piece
        found[i, : len(piece)], echo_lengths[i, : len(piece)] = echo, length
        sounding = np.ma.masked_equal(piece, REST)
        room = ranges - np.stack([sounding.min(0).filled(0), sounding.max(0).filled(0)], axis=1)
        shifts[i] = min(room[:, 0].max(), 0), max(room[:, 1].min(), 0)
    return Set(values, lengths, found, echo_lengths, *shifts.T)


def stretch(chosen: Set, piece: Int[Array, " B"], start: Int[Array, " B"], length: int) -> Chorales:
    """Return stretches of chorales, [T, B]; a step that a chorale does not have is not valid."""
    steps = start + jnp.arange(length)[:, None]
    total = jnp.asarray(chosen.lengths)[piece]
    valid = steps < total
    at = jnp.minimum(steps, chosen.values.shape[1] - 1)
    values = jnp.where(valid[..., None], jnp.asarray(chosen.values)[piece, at], REST)
    echoes = jnp.asarray(chosen.echoes)[piece, at]
    lengths = jnp.where(valid[..., None], jnp.asarray(chosen.echo_lengths)[piece, at], 0)
    return Chorales(values, steps, total - 1 - steps, valid, echoes, lengths)


def transpose(chorales: Chorales, semitones: Int[Array, " B"]) -> Chorales:
    def move(values: Int[Array, "T B *E 4"]) -> Int[Array, "T B *E 4"]:
        moved = values + semitones.reshape(-1, *[1] * (values.ndim - 2))
        return jnp.where((values < REST) & (moved >= 0) & (moved < PITCHES), moved, REST)

    return chorales._replace(values=move(chorales.values), echoes=move(chorales.echoes))


def draw(key: PRNGKeyArray, train: Set, batch: int, length: int) -> Chorales:
    """Return random stretches of the training chorales, randomly transposed."""
    key_piece, key_start, key_shift = jax.random.split(key, 3)
    piece = jax.random.randint(key_piece, (batch,), 0, len(train.lengths))
    most = jnp.maximum(jnp.asarray(train.lengths)[piece] - length, 0)
    # Often from the beginning of a chorale, or to its end.
    start = jnp.clip(jax.random.randint(key_start, (batch,), -EDGE, most + 1 + EDGE), 0, most)
    lowest, highest = jnp.asarray(train.lowest)[piece], jnp.asarray(train.highest)[piece]
    semitones = jax.random.randint(key_shift, (batch,), lowest, highest + 1)
    return transpose(stretch(train, piece, start, length), semitones)


def of_values(
    log_probs: Float[Array, "*S 4 values"], values: Int[Array, "*S 4"]
) -> Float[Array, "*S 4"]:
    return jnp.take_along_axis(log_probs, values[..., None], axis=-1)[..., 0]
