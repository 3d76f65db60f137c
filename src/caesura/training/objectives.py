"""What training minimises."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from caesura.hardware import Tuning
from caesura.nets.batch import Inputs, contexts
from caesura.nets.heads.base import Head, Query
from caesura.nets.rnn import Net
from caesura.training.batches import Example


class Total(NamedTuple):
    """A sum of nats over a number of steps."""

    nll: Float[Array, ""]
    steps: Int[Array, ""]


def total_objective(
    net: Net, batch: Example, tuning: Tuning, key: PRNGKeyArray, dropout: float
) -> Total:
    """Return the training objective, summed over the predicted steps of a batch."""
    batch = _as_asked(net, batch)
    key_head = jax.random.fold_in(key, 2**31)  # far from the keys that the layers split it into
    head, seen = _seen(net, batch, tuning, key, dropout)
    keys = jax.random.split(key_head, batch.targets.shape)

    def objective(key: PRNGKeyArray, *query: Array) -> Array:
        return head.objective(key, Query(*query))

    of_all = jax.vmap(jax.vmap(objective))
    return _sum(net, batch, of_all(keys, seen, batch.values, _asked(net, batch)))


def total_nll(net: Net, batch: Example, tuning: Tuning) -> Total:
    """Return the NLL of the same steps, by which nets are compared."""
    batch = _as_asked(net, batch)
    nothing_random = jax.random.key(0)
    head, seen = _seen(net, batch, tuning, nothing_random, dropout=0.0)

    def log_prob(*query: Array) -> Array:
        return head.log_prob(Query(*query))

    of_all = jax.vmap(jax.vmap(log_prob))
    return _sum(net, batch, -of_all(seen, batch.values, _asked(net, batch)))


def _seen(
    net: Net, batch: Example, tuning: Tuning, key: PRNGKeyArray, dropout: float
) -> tuple[Head, Float[Array, "T B C"]]:
    """Return the head, in the chosen precision, and its context at every step."""
    encode = jax.vmap(jax.vmap(net.encode))
    inputs = Inputs(*encode(batch.values, batch.unseen), batch.valid)

    def besides(seen: Bool[Array, "T B"] | None) -> Inputs | None:
        """Return the inputs of the cells that see these steps, too."""
        if seen is None:
            return None
        return Inputs(*encode(batch.values, batch.unseen & ~seen[..., None]), batch.valid)

    ways = besides(batch.in_order), besides(batch.in_reverse)
    seen = contexts(net, inputs, tuning, key, dropout, *ways)
    return jax.tree.map(lambda a: a.astype(tuning.dtype), net.head), seen


def _as_asked(net: Net, batch: Example) -> Example:
    """Return the batch with informing components seen, and a category seen as a whole or not."""
    return batch._replace(unseen=batch.unseen[..., net.frame.leaders] & net.frame.fillable)


def _asked(net: Net, batch: Example) -> Bool[Array, "T B D"]:
    """Return what is predicted: the unseen values of each frame, or all if none is unseen."""
    return batch.unseen | (~jnp.any(batch.unseen, axis=-1, keepdims=True) & net.frame.fillable)


def _sum(net: Net, batch: Example, nats: Float[Array, "T B"]) -> Total:
    """Sum over the predicted steps, without frames that have no known value."""
    known = ~net.frame.unknown(batch.values) & net.frame.fillable
    counts = batch.targets & jnp.any(known, axis=-1)
    return Total(jnp.sum(jnp.where(counts, nats, 0.0)), jnp.sum(counts))
