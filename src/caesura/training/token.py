"""The missing-value token of a net, added and removed: one more column of the input weights.

A net without the token is trained beside nets that have it as one whose column stays zero.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from caesura.nets.rnn import Net


def with_token(net: Net) -> Net:
    """Return the net with a column of zeros for the token; one that has the token as it is."""
    if net.missing_input == "added":
        return net
    return _replaced(net, [jnp.pad(W_x, [(0, 0), (0, 1)]) for W_x in _input_weights(net)], "added")


def without_token(net: Net) -> Net:
    """Return the net without the column of the token."""
    return _replaced(net, [W_x[:, :-1] for W_x in _input_weights(net)], "none")


def keep_token(net: Net, keep: Bool[Array, ""]) -> Net:
    """Return the net with the column of the token, or with zeros, which then get no gradient."""
    cut = [W_x.at[:, -1].multiply(keep) for W_x in _input_weights(net)]
    return _replaced(net, cut, "added")


def _input_weights(net: Net) -> list[Array]:
    return [stack.cells[0].W_x for stack in (net.forward, net.backward)]


def _replaced(net: Net, weights: list[Array], missing_input: str) -> Net:
    net = eqx.tree_at(lambda n: (n.forward.cells[0].W_x, n.backward.cells[0].W_x), net, weights)
    return Net(net.forward, net.backward, net.head, missing_input)  # type: ignore[arg-type]
