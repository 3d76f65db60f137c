"""The Gaussian model of a pool, in a model file.

Its tensors are `pool.knots` and `pool.scores`, of all curves one after another, and `pool.loadings`
and `pool.own`, or `pool.whole` if there are no factors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from caesura.errors import CaesuraError
from caesura.kinds import Kind
from caesura.kinds.series import Series
from caesura.kinds.series.covariance import Covariance
from caesura.kinds.series.curves import Curve
from caesura.kinds.series.factors import Factors, Gaussian, WindowModel
from caesura.kinds.series.pool import Pool

Tensors = dict[str, Float[np.ndarray, "..."]]


class Shape(NamedTuple):
    """The shape of a tensor that is not read yet."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class PoolShape:
    """A pool without its tensors."""

    share: float
    rows: int  # of a window
    factors: int  # 0 if every two numbers of a window have their own covariance
    knots: tuple[int, ...]  # how many the curve of each column has

    def check(self, kind: Kind) -> None:
        """Raise unless a model of this kind may have the pool."""
        if not isinstance(kind, Series) or len(self.knots) != kind.frame.size:
            raise CaesuraError("The pool does not have the columns of the model.")
        if not 0 < self.share <= 1 or self.rows < 1 or self.factors < 0 or min(self.knots) < 2:
            raise CaesuraError("The pool has sizes or a share that cannot be.")

    @property
    def shapes(self) -> dict[str, Shape]:
        """The shape of each tensor."""
        size, count = (len(self.knots), self.rows), sum(self.knots)
        curves = {"pool.knots": Shape((count,)), "pool.scores": Shape((count,))}
        if not self.factors:
            return {"pool.whole": Shape((*size, *size))} | curves
        loadings, own = Shape((*size, self.factors)), Shape((*size, self.rows))
        return {"pool.loadings": loadings, "pool.own": own} | curves


def shape_of(pool: Pool) -> PoolShape:
    """Return the pool without its tensors."""
    gaussian = pool.model.gaussian
    factors = gaussian.loadings.shape[-1] if isinstance(gaussian, Factors) else 0
    knots = tuple(len(curve.knots) for curve in pool.model.curves)
    return PoolShape(float(pool.share), gaussian.rows, factors, knots)


def store_pool(pool: Pool) -> Tensors:
    """Return the tensors; they stay as they are, whatever the weights of the nets are stored as."""
    curves, gaussian = pool.model.curves, pool.model.gaussian
    tensors = {f"pool.{name}": part for name, part in gaussian._asdict().items()} | {
        "pool.knots": np.concatenate([curve.knots for curve in curves]),
        "pool.scores": np.concatenate([curve.scores for curve in curves]),
    }
    return {name: np.array(one, np.float32, order="C") for name, one in tensors.items()}


def fill_in_pool(shape: PoolShape, kind: Kind, tensors: Mapping[str, np.ndarray]) -> Pool:
    """Return the pool, if its tensors are those of a Gaussian model."""
    assert isinstance(kind, Series)  # `PoolShape.check` has seen to it
    parts = {name: tensors[name].astype(np.float32) for name in shape.shapes}
    places = np.cumsum(shape.knots)[:-1]
    knots, scores = (
        np.split(parts[name].astype(np.float64), places) for name in ("pool.knots", "pool.scores")
    )
    rise = all((np.diff(part) > 0).all() for part in (*knots, *scores))
    finite = all(np.isfinite(part).all() for part in parts.values())
    gaussian: Gaussian
    if shape.factors:
        own = parts["pool.own"]
        gaussian = Factors(parts["pool.loadings"], own)
    else:
        gaussian = Covariance(parts["pool.whole"])
        own = gaussian.flat
    if not (rise and finite and _is_covariance(own)):
        raise CaesuraError("The pool has numbers that no Gaussian model has.")
    curves = [Curve(*pair) for pair in zip(knots, scores, strict=True)]
    return Pool(WindowModel(curves, gaussian), shape.share, kind.numbers)


def _is_covariance(own: Float[np.ndarray, "*C n n"]) -> bool:
    """Return whether each is symmetric and positive definite."""
    try:
        np.linalg.cholesky(own.astype(np.float64))
    except np.linalg.LinAlgError:
        return False
    return bool((own == np.swapaxes(own, -1, -2)).all())
