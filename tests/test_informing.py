"""Components that only inform: seen by nets, and never withheld, asked for or filled."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import caesura
from caesura.errors import CaesuraError
from caesura.filler.filler import Filler
from caesura.hardware import Tuning
from caesura.kinds import Series
from caesura.nets.architecture import describe
from caesura.nets.frames import Continuous, make_frame
from caesura.nets.rnn import bidirectional
from caesura.scoring.gaps import score_gaps, score_positions, score_steps
from caesura.sequence import FrameSpec
from caesura.strategies import NADE
from caesura.training.batches import Example
from caesura.training.objectives import total_nll, total_objective

FRAME = Continuous(3, 1)
T, B = 12, 4


@pytest.fixture(scope="module")
def net():
    options = {"head": "mixture", "hidden": 4, "head_hidden": 5, "missing_input": "added"}
    return bidirectional(jax.random.key(0), FRAME, **options)


@pytest.fixture(scope="module")
def batch():
    draw = np.random.default_rng(0)
    values = draw.normal(size=(T, B, 3)).astype(np.float32)
    yes = jnp.ones((T, B), bool)
    return Example(jnp.asarray(values), jnp.asarray(draw.random((T, B, 3)) < 0.5), yes, yes)


@pytest.mark.slow
def test_nothing_is_learnt_of_how_they_are_distributed(net, batch):
    """What the head says of the last component has no gradient; what it says of others has one."""

    def loss(biases):
        changed = eqx.tree_at(lambda n: n.head.b_y, net, biases)
        return total_objective(changed, batch, Tuning(), jax.random.key(1), 0.0).nll

    gradient = jax.grad(loss)(net.head.b_y).reshape(3, -1)
    assert np.all(gradient[2] == 0)
    assert np.all(np.abs(gradient[:2]).sum(axis=1) > 0)


@pytest.mark.slow
def test_they_are_seen_though_the_missingness_would_hide_them(net, batch):
    unseen = jnp.ones_like(batch.unseen)
    score = total_nll(net, batch._replace(unseen=unseen), Tuning()).nll
    other = total_nll(net, batch._replace(unseen=unseen & FRAME.fillable), Tuning()).nll
    changed = batch._replace(unseen=unseen, values=batch.values.at[..., 2].add(1.0))
    assert score == other
    assert abs(total_nll(net, changed, Tuning()).nll - score) > 1e-4


@pytest.mark.slow
def test_gaps_of_an_evaluation_leave_them(net):
    values = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    blank = values.copy()
    blank[:, 2] = 0
    for score in (score_gaps, score_positions):
        seen, unseen = (score(net, NADE(), [v], gap=2, limit=3).nll for v in (values, blank))
        assert not np.allclose(seen, unseen, atol=1e-4)
    assert score_positions(net, NADE(), [values], gap=2, limit=3).tally.true.sum() == 3 * 2 * 2
    assert np.isfinite(score_steps(net, [values]).nll)


@pytest.mark.slow
def test_a_filler_never_fills_them(net, tmp_path):
    table = np.random.default_rng(2).normal(size=(30, 3))
    kind = Series.learn([table], covariates=[2], least_observed=1)
    filler = Filler(kind, {"bidirectional": net}, "nade")
    fill = filler.fill(table, missing=slice(4, 6))
    assert fill.places.tolist() == [[4, 0], [4, 1], [5, 0], [5, 1]]
    assert np.array_equal(fill.best[:, 2], table[:, 2])
    filler.save(tmp_path / "a.model")
    again = caesura.load(tmp_path / "a.model")
    assert again.kind == kind
    assert np.array_equal(again.fill(table, missing=slice(4, 6)).best, fill.best)
    assert describe(net).frame.informing == 1


def test_a_net_and_a_kind_that_disagree_are_refused(net, tmp_path):
    kind = Series.learn([np.arange(12.0).reshape(4, 3)], least_observed=1)
    with pytest.raises(
        CaesuraError,
        match="with 1 covariates, but the kind has continuous frames",
    ):
        Filler(kind, {"bidirectional": net}, "nade").save(tmp_path / "a.model")
    for frame, informing in (("continuous", 3), ("binary", 1)):
        with pytest.raises(CaesuraError, match="'informing' must be at most"):
            make_frame(FrameSpec(frame, 3, informing))
