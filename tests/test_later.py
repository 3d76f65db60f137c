"""JAX is imported when it is first used, and modules are trees of arrays with and without it."""

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import caesura
from caesura.later import Module, field, map_leaves, map_named
from caesura.nets.architecture import describe
from caesura.nets.frames import Categorical
from caesura.nets.rnn import bidirectional
from caesura.strategies import STRATEGIES, Search
from command_line import PATH
from songs import ode_to_joy

PROGRAM = """
import sys
from caesura.cli import main
try:
    main()
finally:
    print("jax" in sys.modules)
"""
TEXT = "The qu___ brown fox jumps over the lazy dog."


class Leaf(NamedTuple):
    a: np.ndarray
    b: None = None


class Part(Module):
    kind: ClassVar[str] = "part"

    W: np.ndarray
    size: int = field(static=True, default=3)


class Whole(Module):
    parts: tuple[Part, ...]
    named: dict[str, Leaf]

    def __init__(self, *sizes: int):
        self.parts = tuple(Part(np.full(size, 1.0), size) for size in sizes)
        self.named = {"x": Leaf(np.zeros(2))}

    def __check_init__(self) -> None:
        assert self.parts


class Wider(Whole):
    """It has the `__init__` of its base."""


def run(*words: str) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, env=PATH, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_every_strategy_can_be_made_before_jax_is_imported():
    program = "from caesura.strategies import STRATEGIES; print([s() for s in STRATEGIES.values()])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([strategy() for strategy in STRATEGIES.values()])


def test_a_fill_of_a_text_needs_no_jax_and_is_that_of_the_library():
    answer, imported = run("fill", "text", TEXT, "--json")
    assert imported == "False"
    found, wanted = json.loads(answer), caesura.load("text").fill(TEXT).to_dict()
    assert found["best"] == wanted["best"]
    assert found["log_prob"] == pytest.approx(wanted["log_prob"], abs=1e-4)
    assert found["confidence"] == pytest.approx(wanted["confidence"], abs=1e-4)


def test_a_fill_of_music_needs_no_jax_and_is_that_of_the_library(tmp_path):
    song, out = tmp_path / "song.mid", tmp_path / "out.mid"
    ode_to_joy().save(song)
    assert run("fill", "music", str(song), "--gap", "2:3", "-o", str(out))[-1] == "False"
    filler = caesura.load("music")
    item = filler.kind.open(song)
    fill = filler.fill(item, missing=item.steps_of_bars(2, 3))
    assert out.read_bytes() == fill.best.to_bytes()


def test_the_shapes_of_a_net_need_no_jax_and_are_those_of_the_net():
    shape = {"head": "softmax", "hidden": 4, "cell": "gru", "layers": 2, "head_hidden": 3}
    net = bidirectional(jax.random.key(0), Categorical(5), missing_input="gating", **shape)
    program = f"""
import sys
from caesura.nets.architecture import Architecture
from caesura.sequence import FrameSpec
from caesura.modelfile.weights import by_name
named = by_name({{"bidirectional": {describe(net)!r}.skeleton()}})
shapes = {{name: array.shape for name, array in named.items()}}
print(shapes, "jax" in sys.modules, sep=";")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=PATH, check=True, capture_output=True, text=True
    )
    shapes, imported = done.stdout.strip().split(";")
    found = {}
    map_named(lambda name, leaf: found.update({name: leaf.shape}), {"bidirectional": net})
    assert shapes == str(found)
    assert imported == "False"


def test_a_module_is_a_tree_for_jax_and_for_numpy():
    whole = Wider(2, 3)
    leaves = jax.tree.leaves(whole)
    assert [leaf.shape for leaf in leaves] == [(2,), (3,), (2,)]
    twice = map_leaves(lambda a, b: a + b, whole, whole)
    assert eqx.tree_equal(twice, jax.tree.map(lambda a: 2 * a, whole))
    assert isinstance(twice, Wider)
    names = []
    map_named(lambda name, leaf: names.append(name), whole)
    ways = jax.tree_util.tree_flatten_with_path(whole)[0]
    assert names == [jax.tree_util.keystr(way, simple=True, separator=".") for way, _ in ways]


def test_a_module_is_checked_and_does_not_change():
    with pytest.raises(AssertionError):
        Whole()
    part = Part(np.zeros(1))
    with pytest.raises(FrozenInstanceError):
        part.size = 4
    assert replace(part, size=4).size == 4
    changed = eqx.tree_at(lambda one: one.W, part, jnp.ones(2))
    assert changed.W.shape == (2,)
    assert changed.size == 3
    assert Search(width=4) == Search(width=4)
    assert hash(Search(width=4)) == hash(Search(width=4)) != hash(Search(width=5))


def test_static_fields_are_part_of_the_structure():
    one, other = (jax.tree.structure(Part(np.zeros(1), size)) for size in (1, 2))
    assert one != other
    assert one == jax.tree.structure(Part(np.ones(5), 1))
