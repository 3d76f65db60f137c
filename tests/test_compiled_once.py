"""Training compiles its programs once: the types of new weights are those that updates leave."""

import jax
import pytest

from caesura.nets.heads import HEADS
from small_nets import make_net


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("net", ["forward", "bidirectional", "onegram"])
def test_no_weight_is_weakly_typed(net, head):
    arrays = jax.tree.leaves(make_net(net, head))
    assert arrays
    assert not any(array.weak_type for array in arrays)
