"""Programs that are compiled: one for each shape, a bounded number of them, and really let go."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from caesura import programs
from caesura.programs import Programs, program


@pytest.fixture
def few(monkeypatch):
    kept = Programs(most=2)
    monkeypatch.setattr(programs, "PROGRAMS", kept)
    return kept


def compiled_for(shape: int) -> int:
    """How many programs of the device are live that take so many numbers."""
    gc.collect()
    live = jax.devices()[0].client.live_executables()
    return sum(f"f32[{shape}]" in module.to_string() for e in live for module in e.hlo_modules())


def test_a_program_serves_its_shape_and_its_other_values(few):
    traced = []

    @program
    def power(x, n, up=True):
        traced.append((x.shape, n, up))
        return x**n if up else x

    for _ in range(2):
        assert power(jnp.full(3, 2.0), 2).tolist() == [4, 4, 4]
    assert power(np.full(3, 2.0, np.float32), n=3).tolist() == [8, 8, 8]
    assert power(jnp.full(3, 2.0), 2, up=False).tolist() == [2, 2, 2]
    assert traced == [((3,), 2, True), ((3,), 3, True), ((3,), 2, False)]
    assert (len(few), few.evicted) == (2, 1)


def test_true_is_not_one(few):
    @program
    def kind(x, n):
        return x + (1.0 if n is True else 2.0)

    assert [kind(jnp.zeros(()), n).item() for n in (1, True)] == [2.0, 1.0]


def test_inside_another_it_is_a_part(few):
    @program
    def inner(x):
        return x + 1

    @program
    def outer(x):
        return inner(x) * 2

    assert outer(jnp.ones(2)).tolist() == [4, 4]
    assert len(few) == 1


@pytest.mark.slow
def test_the_least_recently_used_are_let_go(few):
    @program
    def double(x):
        return jnp.tanh(x) * 2

    sizes = (7001, 7002, 7003)
    for size in (sizes[0], sizes[1], sizes[0], sizes[2]):
        double(np.zeros(size, np.float32))
    assert [compiled_for(size) for size in sizes] == [1, 0, 1]
    few.shrink()
    assert [compiled_for(size) for size in sizes] == [0, 0, 1]
    assert few.evicted == 2
