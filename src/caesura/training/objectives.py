"""What training makes small."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from caesura.nets.batch import Inputs, Tuning, contexts
from caesura.nets.rnn import Net
from caesura.sequence import UNKNOWN
from caesura.training.batches import Example


class Total(NamedTuple):
    """A sum of nats, and the number of steps that it is over."""

    nll: Float[Array, ""]
    steps: Int[Array, ""]


def total_nll(
    net: Net, batch: Example, tuning: Tuning, key: PRNGKeyArray, dropout: float = 0.0
) -> Total:
    """The NLL of the targets of a batch, each given what its context may see.

    A frame of which nothing is known is no target, and does not count.
    """
    unknown = jnp.broadcast_to(batch.hidden[..., None], batch.values.shape)
    axis = -tuning.batch_axis  # counted from the end, it holds for scalars too
    x, m = jax.vmap(jax.vmap(net.encode, out_axes=axis))(batch.values, unknown)
    seen = contexts(net, Inputs(x, m, batch.valid), tuning, key, dropout)
    head = jax.tree.map(lambda a: a.astype(tuning.dtype), net.head)
    log_prob = jax.vmap(jax.vmap(head.log_prob, in_axes=(axis, 0, 0)))
    log_probs = log_prob(seen, batch.values, jnp.ones_like(unknown))
    counts = batch.targets & jnp.any(batch.values != UNKNOWN, axis=-1)
    return Total(-jnp.sum(jnp.where(counts, log_probs, 0.0)), jnp.sum(counts))
