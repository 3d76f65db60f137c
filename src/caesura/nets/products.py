"""Products of weights and the states of a batch, by NumPy."""

from functools import cache

import numpy as np
from jaxtyping import Float

from caesura.hardware import multiplies_small

TOGETHER = 4  # lanes: OpenBLAS multiplies 3 no faster than 4
FEW = 48  # lanes, up to which the weights are taken in parts
SMALL = 10**6  # multiplications of a small product
ROWS = (64, 32, 48)  # of a part of the weights, the fastest first


def times(W: Float[np.ndarray, "N c"], x: Float[np.ndarray, "c n"]) -> Float[np.ndarray, "N n"]:
    """Return W x, in memory in the order of x; W should have Fortran's order.

    In Fortran's order, the numbers of a lane are next to each other. For few lanes, OpenBLAS would
    copy all weights to where it multiplies them, which takes longer than the product. With AVX-512
    it multiplies small matrices where they are, so the weights are taken in parts.
    """
    if not x.flags.f_contiguous:
        return W @ x
    lanes, count = x.T, x.shape[1]
    if count == 2 and not multiplies_small():
        return np.stack([W @ lane for lane in lanes]).T
    if count % TOGETHER and count > 1:
        lanes = np.zeros((count - count % TOGETHER + TOGETHER, len(x)), x.dtype)
        lanes[:count] = x.T
    in_parts = 1 < count <= FEW and multiplies_small()
    rows = _rows_at_once(*W.shape, len(lanes)) if in_parts else len(W)
    if rows == len(W):
        product = lanes @ W.T
    else:
        product = np.empty((len(lanes), len(W)), W.dtype)
        parts, into = (a.reshape(len(a), -1, rows).swapaxes(0, 1) for a in (W.T, product))
        np.matmul(lanes, parts, out=into)
    return product[:count].T


@cache
def _rows_at_once(rows: int, columns: int, lanes: int) -> int:
    """Return how many rows of the weights make a small product, or all if none do."""
    sizes = (n for n in (rows, *ROWS) if rows % n == 0 and n * columns * lanes <= SMALL)
    return next(sizes, rows)
