"""A model file gives back what was saved, and nothing is written that could not be read."""

import json
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import caesura
from caesura.filler.filler import Filler
from caesura.kinds import Text
from caesura.modelfile import container, read_info
from caesura.nets.architecture import describe
from caesura.nets.cells import CELLS, Cell
from caesura.nets.frames import Categorical
from caesura.nets.rnn import bidirectional
from model_files import (
    ALPHABET,
    TRAINING,
    Switches,
    assert_same,
    deep,
    document_of,
    make_filler,
    model_place,
    quick_and_one_more_kind,
    tiny_filler,
    with_document,
)
from sentences import checked
from small_nets import FRAME_OF_HEAD, make_net, random_values

place = pytest.fixture(model_place)
tiny = pytest.fixture(tiny_filler, scope="module")
quick = pytest.fixture(quick_and_one_more_kind, autouse=True)


# What comes back


@pytest.mark.parametrize("head", FRAME_OF_HEAD)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_every_net_comes_back_bit_for_bit(place, head, cell, layers):
    filler = make_filler(head, cell=cell, layers=layers)
    filler.save(place)
    assert_same(caesura.load(place), filler)


@pytest.mark.parametrize("missing_input", ["none", "added", "gating"])
def test_every_missing_value_input_comes_back(place, missing_input):
    net = bidirectional(
        jax.random.key(1), Categorical(4), head="softmax", hidden=2, missing_input=missing_input
    )
    filler = Filler(Text(ALPHABET), {"bidirectional": net}, "gsn")
    filler.save(place)
    assert_same(caesura.load(place), filler)


@pytest.mark.parametrize("strategy", ["oneway", "onegram"])
def test_a_loaded_filler_answers_as_the_saved_one(place, strategy):
    filler = make_filler()
    filler.save(place)
    loaded = caesura.load(place)
    one, two = (f.fill("a__ ’", samples=3, strategy=strategy, seed=5) for f in (filler, loaded))
    assert one.to_json() == two.to_json()
    asked = {"missing": [1, 2], "strategy": strategy}
    assert filler.log_prob("aa ’", **asked) == loaded.log_prob("aa ’", **asked)


def test_the_same_filler_gives_the_same_bytes(place, tmp_path):
    filler = make_filler()
    filler.save(place)
    other = tmp_path / "other.safetensors"
    turned = dict(reversed(filler.nets.items()))
    replace(filler, nets=turned, training=dict(reversed(TRAINING.items()))).save(other)
    assert place.read_bytes() == other.read_bytes()
    caesura.load(place).save(other)
    assert place.read_bytes() == other.read_bytes()


def test_others_can_read_the_tensors_by_name(place):
    filler = make_filler(cell="gru")
    filler.save(place)
    tensors = safetensors.numpy.load_file(place)
    weights = filler.nets["bidirectional"].forward.cells[0].W_x
    np.testing.assert_array_equal(tensors["bidirectional.forward.cells.0.W_x"], weights)
    assert tensors["onegram.head.log_probs"].dtype == np.float32


@pytest.mark.parametrize(("dtype", "error"), [("float16", 2**-11), ("bfloat16", 2**-8)])
def test_a_small_file_is_near_the_model_and_stays_where_it_is(place, dtype, error):
    filler = make_filler(hidden=16)
    filler.save(place)
    whole = place.stat().st_size
    filler.save(place, dtype=dtype)
    assert place.stat().st_size < 0.75 * whole  # the header does not shrink
    loaded = caesura.load(place)
    for one, two in zip(jax.tree.leaves(filler.nets), jax.tree.leaves(loaded.nets), strict=True):
        assert two.dtype == jnp.float32
        np.testing.assert_allclose(two, one, rtol=error, atol=1e-6)
    # Log-probabilities are not rounded: they would no longer sum to one.
    assert eqx.tree_equal(filler.nets["onegram"], loaded.nets["onegram"])
    content = place.read_bytes()
    loaded.save(place, dtype=dtype)
    assert place.read_bytes() == content


def test_a_matrix_of_8_bit_numbers_is_near_the_model_row_by_row(place):
    filler = make_filler(cell="lstm", hidden=16)
    net = filler.nets["bidirectional"]
    silent = net.forward.cells[0].W_h.at[3].set(0.0)  # a row without a scale of its own
    net = eqx.tree_at(lambda n: n.forward.cells[0].W_h, net, silent)
    filler = replace(filler, nets={**filler.nets, "bidirectional": net})
    filler.save(place, dtype="int8")
    assert read_info(place)["dtypes"] == ["bfloat16", "float32", "int8"]
    loaded = caesura.load(place)
    for one, two in zip(jax.tree.leaves(filler.nets), jax.tree.leaves(loaded.nets), strict=True):
        assert two.dtype == jnp.float32
        # Half a unit of the 127 that the largest number of a row has, and the rounded scale.
        step = np.abs(one).max(axis=-1, keepdims=True) / 127 if one.ndim == 2 else 0.0
        assert np.all(np.abs(two - one) <= (0.5 + 127 * 2**-9) * step)
    assert eqx.tree_equal(filler.nets["onegram"], loaded.nets["onegram"])
    content = place.read_bytes()
    loaded.save(place, dtype="int8")
    assert place.read_bytes() == content


def test_info_speaks_of_the_file_without_its_weights(place):
    filler = make_filler(cell="lstm", hidden=3)
    filler.save(place)
    content = place.read_bytes()
    place.write_bytes(content[:-1] + b"\x7f")  # an altered weight is not looked at
    info = read_info(place)
    fields = {"alphabet": ALPHABET, "gap_char": "_", "brackets": "{}"}
    fields |= {"notation": "plain", "normalise": "", "lost": "", "divided": True}
    assert info["kind"] == {"name": "text", "fields": fields}
    assert (info["strategy"], info["training"]) == ("nade", TRAINING)
    assert (info["format"], info["caesura"]) == (2, caesura.__version__)
    assert (info["bytes"], info["dtypes"]) == (len(content), ["float32"])
    both = info["nets"]["bidirectional"]
    assert (both["cell"], both["hidden"], both["missing_input"]) == ("lstm", 3, "added")
    for name, net in filler.nets.items():
        assert info["nets"][name]["parameters"] == sum(a.size for a in jax.tree.leaves(net))
    json.dumps(info)


def test_the_record_of_training_is_kept_as_json_has_it(place):
    told = {"nll": np.float32(1.5), "curve": np.arange(3.0), "worst": float("nan"), "at": (1, True)}
    replace(make_filler(), training=told).save(place)
    kept = {"nll": 1.5, "curve": [0.0, 1.0, 2.0], "worst": None, "at": [1, True]}
    assert caesura.load(place).training == kept


def test_a_kind_may_gain_a_field_that_has_a_default(place):
    make_filler("bernoulli").save(place)
    document = document_of(place.read_bytes())
    del document["kind"]["fields"]["steps_per_beat"]
    place.write_bytes(with_document(place.read_bytes(), document))
    assert caesura.load(place).kind == Switches("abc", steps_per_beat=4)


# What cannot be saved


class Odd(CELLS["tanh"]):
    """A cell that no registry knows."""


def spoilt(number: float) -> Filler:
    filler = make_filler()
    nets = eqx.tree_at(lambda n: n["forward"].head.b_y, filler.nets, jnp.full(4, number))
    return replace(filler, nets=nets)


def odd_net(cell: type[Cell], layers: int) -> Filler:
    """A net of so many layers, and one more that does not go with them."""
    net = make_net("forward", "softmax", layers=layers)
    odd = cell(jax.random.key(0), 4, 3, from_frame=True, gated=False)
    net = eqx.tree_at(lambda n: n.forward.cells, net, (*net.forward.cells, odd))
    return replace(make_filler(), nets={"forward": net})


@pytest.mark.parametrize(
    ("filler", "dtype", "sentence"),
    [
        (make_filler, "float17", "no dtype called 'float17': did you mean 'float16'"),
        (lambda: spoilt(float("nan")), "float32", "'forward.head.b_y' are not finite as float32"),
        (lambda: spoilt(1e6), "float16", "'forward.head.b_y' are not finite as float16"),
        (lambda: replace(make_filler(), strategy="nada"), "float32", "did you mean 'nade'"),
        (lambda: replace(make_filler(), nets={}), "float32", "has no nets"),
        (lambda: replace(make_filler(), kind=Text("ab")), "float32", "frames of size 4, but .* 2"),
        (lambda: replace(make_filler(), training={"a": object()}), "float32", "holds a object"),
        (lambda: replace(make_filler(), training={"a": {1: 2}}), "float32", "the key 1"),
        (lambda: replace(make_filler(), training={"a": "\ud83d\ude00"}), "float32", "halves"),
        (lambda: replace(make_filler(), training={"a": deep(99)}), "float32", "64 levels"),
        (lambda: odd_net(CELLS["tanh"], layers=1), "float32", "layers differ"),
        (lambda: odd_net(Odd, layers=0), "float32", "class 'Odd'"),
    ],
)
def test_what_could_not_be_read_is_not_written(place, filler, dtype, sentence):
    place.write_text("as before")
    with pytest.raises(caesura.CaesuraError, match=sentence) as caught:
        filler().save(place, dtype=dtype)
    checked(caught.value)
    assert place.read_text() == "as before"
    assert [entry.name for entry in place.parent.iterdir()] == [place.name]


def test_a_record_too_long_to_be_read_is_not_written(place, monkeypatch):
    monkeypatch.setattr(container, "MOST_HEADER", 1000)
    with pytest.raises(caesura.CaesuraError, match="record is too long"):
        make_filler().save(place)


def test_a_folder_or_no_folder_cannot_be_written(place, tiny):
    for path in (place.parent, place / "deeper.safetensors"):
        with pytest.raises(caesura.CaesuraError, match="Cannot write"):
            tiny.save(path)


# How a net is described


def test_a_description_builds_a_net_like_the_one_described():
    for head in FRAME_OF_HEAD:
        for name in ("bidirectional", "forward", "onegram"):
            net = make_net(name, head, cell="gru", layers=2)
            built = describe(net).build(jax.random.key(0))
            assert describe(built) == describe(net)
            assert jax.tree.structure(built) == jax.tree.structure(net)
            values = random_values(net.frame, 5)
            net.frame.check(values, np.zeros(values.shape, bool))
