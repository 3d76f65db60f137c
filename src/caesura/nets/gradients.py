"""The equations of cells with gradients by hand, which keep less per step than JAX's own."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from caesura.nets.arrays import parts, sigmoid


@jax.custom_jvp
def tanh(a: Float[Array, "c *B"]) -> Float[Array, "c *B"]:
    """Return the hyperbolic tangent."""
    return jnp.tanh(a)


@tanh.defjvp
def _tanh_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """Keep one array per step, its slope, where JAX keeps two."""
    h = jnp.tanh(primals[0])
    return h, tangents[0] * ((1 - h) * (1 + h))


@jax.custom_vjp
def lstm(c: Float[Array, "c *B"], a: Float[Array, "Bc *B"]) -> tuple[Array, Array]:
    """Return h and c of the next step, from the memory and the pre-activations."""
    return _lstm_forward(c, a)[0]


def _lstm_forward(c: Any, a: Any) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
    i, f, g, o = parts(a, 4)
    i, f, g, o = sigmoid(i), sigmoid(f), jnp.tanh(g), sigmoid(o)
    new = f * c + i * g
    squashed = jnp.tanh(new)
    return (o * squashed, new), (c, i, f, g, o, squashed)


def _lstm_backward(kept: tuple[Array, ...], d: tuple[Array, Array]) -> tuple[Array, Array]:
    """Keep half as much per step as automatic differentiation."""
    c, i, f, g, o, squashed = kept
    d_h, d_c = d
    d_c = d_c + d_h * o * (1 - squashed * squashed)
    d_i, d_f = d_c * g * i * (1 - i), d_c * c * f * (1 - f)
    d_g, d_o = d_c * i * (1 - g * g), d_h * squashed * o * (1 - o)
    return d_c * f, jnp.concatenate([d_i, d_f, d_g, d_o])


lstm.defvjp(_lstm_forward, _lstm_backward)
