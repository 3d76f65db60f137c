"""A fill that strays does not drag the next ones along: parts of a mixture have a widest scale."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura.nets.frames import Continuous
from caesura.nets.heads.base import Query
from caesura.nets.heads.mixture import NARROWEST, WIDEST, Mixture
from caesura.nets.memory import DEPTH


@pytest.mark.parametrize(("asked", "had"), [(1.0, 1.0), (WIDEST, WIDEST), (50.0, WIDEST)])
def test_no_part_is_wider_than_the_widest(asked, had):
    head = Mixture(jax.random.key(0), Continuous(1), (2, 2), hidden=3)
    head = jax.tree.map(jnp.zeros_like, head)
    bias = jnp.array([0, 0, 0, 0, 0, 0, asked, asked, asked], jnp.float32)
    head = eqx.tree_at(lambda h: h.b_y, head, bias)
    context = jnp.zeros(2 * (2 + 2 * DEPTH))  # no neighbours: the line is at zero, its scale one
    found = head.log_prob(Query(context, jnp.zeros(1), jnp.ones(1, bool)))
    assert float(found) == pytest.approx(-np.log(4 * (NARROWEST + np.exp(had))), abs=1e-5)
