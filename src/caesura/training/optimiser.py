"""The optimiser: from a gradient to a change of the weights."""

from typing import NamedTuple

import jax
import optax
from jaxtyping import Array, Float, PyTree

from caesura.training.recipe import Recipe


class Descended(NamedTuple):
    """The weights after an update, and the state of the optimiser."""

    weights: PyTree[Float[Array, "..."]]
    state: optax.OptState


def descend(
    recipe: Recipe,
    rate: Float[Array, ""],
    gradient: PyTree[Float[Array, "..."]],
    weights: PyTree[Float[Array, "..."]],
    state: optax.OptState,
) -> Descended:
    """Make one update with this learning rate."""
    change, state = make_optimiser(recipe).update(gradient, state, weights)
    return Descended(jax.tree.map(lambda w, d: w + rate * d, weights, change), state)


def make_optimiser(recipe: Recipe) -> optax.GradientTransformation:
    """Return the optimiser for a learning rate of one.

    The caller multiplies the changes by the real one, so several can be tried side by side in one
    program. A gradient that is not finite changes nothing, and is counted in the state.
    """
    decay = {
        "linear": optax.linear_schedule(1.0, 0.0, recipe.steps),
        "cosine": optax.cosine_decay_schedule(1.0, recipe.steps),
    }[recipe.decay]
    if rising := round(recipe.warm_up * recipe.steps):
        rise = optax.linear_schedule(1 / rising, 1.0, rising)
        fall = decay
        decay = lambda count: rise(count) * fall(count)  # noqa: E731
    direction = {
        # The paper: "we normalize the gradients at each update to have length one".
        "sgd": optax.normalize_by_update_norm(),
        "adam": optax.chain(
            optax.clip_by_global_norm(recipe.clip),
            optax.scale_by_adam(b2=0.99),
            optax.add_decayed_weights(recipe.weight_decay),
        ),
    }[recipe.optimiser]
    change = optax.chain(direction, optax.scale_by_schedule(lambda count: -decay(count)))
    return optax.apply_if_finite(change, max_consecutive_errors=2**30)
