"""What training makes small."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from caesura.nets.rnn import Net


def nll(
    net: Net,
    values: Shaped[Array, "B T D"],
    unknown: Bool[Array, "B T D"],
    valid: Bool[Array, "B T"],
) -> Float[Array, ""]:
    """Mean NLL of a step given what its context may see, over all real steps of a batch.

    All outputs are targets, hidden from the input or not: "NADE no mask" in the paper.
    """

    def log_probs(values: Array, unknown: Array, valid: Array) -> Float[Array, " T"]:
        contexts = net.contexts(net.states(net.inputs(values, unknown), valid))
        return jax.vmap(net.head.log_prob)(contexts, values, jnp.ones_like(unknown))

    per_step = jax.vmap(log_probs)(values, unknown, valid)
    return -jnp.sum(jnp.where(valid, per_step, 0.0)) / jnp.sum(valid)
