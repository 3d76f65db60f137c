"""Few shapes: fills in parts of eight, in padded windows, are the fills that they would be else."""

import jax.numpy as jnp
import numpy as np
import pytest

import caesura
from caesura.filler import Request
from caesura.filler.opening import open_request
from caesura.filler.passes import fill_pass, prepare
from caesura.filler.shapes import shapes
from caesura.filler.tasks import PART
from caesura.hardware import sequence_length
from caesura.strategies import NADE, SIR, Search
from small_fillers import music_filler

# A part of its fills of one window has 8 × 16 lanes, so that windows are run one by one.
ALONE = SIR(particles=4, replicas=16, apart=True)


def opened(draws: int, strategy=ALONE):
    roll = (np.random.default_rng(0).random((50, 88)) < 0.05).astype(int)
    return open_request(
        music_filler(), Request(roll, slice(20, 23), draws=draws, strategy=strategy)
    )


@pytest.mark.slow
def test_fills_in_parts_are_those_at_once():
    one = opened(11)
    (filled,) = fill_pass(one.method, one.tasks)
    window, keys = prepare(one.method, one.tasks)
    assert window.values.shape[1] == 48
    # Parts have keys of their own; the first part is that of a request for fewer draws.
    (fewer,) = fill_pass(one.method, opened(3).tasks)
    np.testing.assert_array_equal(fewer.drawn, filled.drawn[:3])
    np.testing.assert_allclose(fewer.log_probs, filled.log_probs[:3], rtol=1e-5)
    fills = np.tile(np.asarray(window.values)[:, None], (1, 11, 1, 1))
    fills[0][:, *(filled.places - [20, 0]).T] = filled.drawn
    whole = ALONE.log_prob(keys.score, one.method.net, window, jnp.asarray(fills))
    np.testing.assert_allclose(filled.log_probs, whole.log_prob[0], rtol=1e-4)
    np.testing.assert_allclose(filled.errors, whole.standard_error[0], rtol=1e-3)


def test_which_methods_run_windows_one_by_one():
    assert opened(PART).method.alone
    assert not opened(PART, NADE()).method.alone
    assert not opened(PART, SIR()).method.alone


def test_the_cost_of_a_request_grows_with_its_draws_and_gaps():
    filler = music_filler()
    roll = np.zeros((400, 88), int)

    def cost(*gaps: slice, draws: int = 8) -> tuple[int, int]:
        missing = np.zeros(400, bool)
        for gap in gaps:
            missing[gap] = True
        request = Request(roll, missing, draws=draws, strategy=ALONE)
        return filler.states(request), filler.work(request)

    short, long = cost(slice(10, 12)), cost(slice(10, 80))
    assert short[0] < long[0]
    assert 20 * short[1] < long[1]
    assert cost(slice(10, 12), draws=1) == short  # eight are drawn in any case
    many = cost(slice(10, 12), draws=64)
    assert many[0] == short[0]  # one part after the other
    assert many[1] > 3 * short[1]
    # Two stretches, one after the other.
    assert cost(slice(10, 12), slice(300, 302)) == (short[0], 2 * short[1])


def test_every_stretch_has_a_shape_of_the_list():
    filler, rng = music_filler(), np.random.default_rng(1)
    method = filler.method(ALONE)
    names = {shape.name for shape in shapes(filler.kind, method)}
    assert len(names) == 8
    for _ in range(50):
        length = int(rng.integers(1, 2500))
        missing = rng.random(length) < rng.choice([0.002, 0.05, 0.9])
        missing[int(rng.integers(0, length))] = True
        one = open_request(filler, Request(np.zeros((length, 88), int), missing, strategy=ALONE))
        for stretch in one.stretches:
            assert f"windows of {method.width(stretch)} steps" in names
            assert f"sequences of {sequence_length(len(stretch.seen))} steps" in names


def test_what_compiles_nothing_has_no_shapes():
    filler = caesura.load("text")
    assert list(shapes(filler.kind, filler.method(Search()))) == []
