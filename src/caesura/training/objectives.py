"""What training makes small."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from caesura.nets.rnn import Net
from caesura.sequence import UNKNOWN


def nll(
    net: Net,
    values: Shaped[Array, "B T D"],
    unknown: Bool[Array, "B T D"],
    valid: Bool[Array, "B T"],
) -> Float[Array, ""]:
    """Mean NLL of a step given what its context may see, over all real steps of a batch.

    All outputs are targets, hidden from the input or not: "NADE no mask" in the paper. A frame of
    which nothing is known is no target, and does not count.
    """

    def log_probs(values: Array, unknown: Array, valid: Array) -> Float[Array, " T"]:
        contexts = net.contexts(net.states(net.inputs(values, unknown), valid))
        return jax.vmap(net.head.log_prob)(contexts, values, jnp.ones_like(unknown))

    per_step = jax.vmap(log_probs)(values, unknown, valid)
    counts = valid & jnp.any(values != UNKNOWN, axis=-1)
    return -jnp.sum(jnp.where(counts, per_step, 0.0)) / jnp.maximum(jnp.sum(counts), 1)
