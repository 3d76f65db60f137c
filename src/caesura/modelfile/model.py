"""The record of a model: its kind of data, its nets, a strategy, and how it was trained."""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from caesura.kinds import Kind
from caesura.kinds.series.pool import Pool
from caesura.nets.rnn import NetName

N = TypeVar("N")


@dataclass(frozen=True, eq=False)
class Model(Generic[N]):
    """A model whose nets are of type N.

    `Model[Net]` is what a file holds; `Model[Architecture]` is its configuration, without weights.

    Parameters
    ----------
    kind
        Turns a user's data into sequences and back.
    nets
        The nets by name.
    strategy
        The name of the strategy that is used by default.
    training
        How the model was made, as JSON can hold it.
    pool
        For tables: a Gaussian model that is asked beside the nets.
    """

    kind: Kind
    nets: dict[NetName, N]
    strategy: str
    training: dict[str, Any] = field(default_factory=dict)
    pool: Pool | None = None
