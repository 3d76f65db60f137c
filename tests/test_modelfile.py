"""A model file gives back what was saved, or one sentence: never anything else."""

import functools
import json
import random
import time
import tracemalloc
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import caesura
from caesura.filler import Filler
from caesura.kinds import KINDS, Text
from caesura.modelfile import container, read_info
from caesura.modelfile.container import DTYPES
from caesura.modelfile.weights import digest
from caesura.nets.architecture import Architecture, describe
from caesura.nets.cells import CELLS, Cell
from caesura.nets.frames import Categorical
from caesura.nets.rnn import bidirectional
from small_nets import FRAME_OF_HEAD, make_net, random_values

ALPHABET = " a’\ud800"  # a lone half of a surrogate pair is a character to Python, too
TRAINING = {"recipe": "small", "seed": 3, "history": [[1, 2.5], [2, 0.1]], "data": {"items": 2}}


@dataclass(frozen=True)
class Switches(Text):
    """A kind with binary frames and a field that is a number."""

    frame: ClassVar[str] = "binary"
    head: ClassVar[str] = "bernoulli"

    steps_per_beat: int = 4


KIND_OF_HEAD = {"softmax": Text(ALPHABET), "bernoulli": Switches("abc", steps_per_beat=2)}


@pytest.fixture(autouse=True)
def quick_and_one_more_kind(monkeypatch):
    monkeypatch.setitem(KINDS, "switches", Switches)
    # The same few architectures come again and again here; a user's program asks once.
    monkeypatch.setattr(Architecture, "skeleton", SKELETON)


SKELETON = functools.cache(Architecture.skeleton)


@functools.cache
def make_filler(head: str = "softmax", **shape: Any) -> Filler:
    names = ("bidirectional", "forward", "onegram")
    nets = {name: make_net(name, head, **shape) for name in names}
    return Filler(KIND_OF_HEAD[head], nets, "nade", TRAINING)


@pytest.fixture(scope="module")
def tiny() -> Filler:
    """As few bytes as may be."""
    nets = {name: make_net(name, "softmax", hidden=1) for name in ("forward", "onegram")}
    return Filler(KIND_OF_HEAD["softmax"], nets, "oneway", {"seed": 1})


@pytest.fixture
def place(tmp_path) -> Path:
    return tmp_path / "model.safetensors"


def assert_same(one: Filler, two: Filler) -> None:
    assert (one.kind, one.strategy, one.training) == (two.kind, two.strategy, two.training)
    assert one.nets.keys() == two.nets.keys()
    for name, net in one.nets.items():
        assert eqx.tree_equal(net, two.nets[name])  # arrays by every bit, and all that is static


def split(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and what lies behind it."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def join(header: Any, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def document_of(content: bytes) -> dict[str, Any]:
    return json.loads(split(content)[0]["__metadata__"]["caesura"])


def with_document(content: bytes, document: Any, sign: bool = True) -> bytes:
    """Another configuration, with a sha256 that is right: a liar can compute it as well."""
    header, data = split(content)
    if sign and isinstance(document, dict):
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__":
                first, last = entry["data_offsets"]
                values = np.frombuffer(data[first:last], DTYPES[entry["dtype"]])
                tensors[name] = values.reshape(entry["shape"])
        document = document | {"sha256": digest(document, tensors)}
    text = document if isinstance(document, str) else json.dumps(document)
    return join(header | {"__metadata__": {"caesura": text}}, data)


def the_sentence(path: Path) -> str:
    with pytest.raises(caesura.CaesuraError) as caught:
        caesura.load(path)
    return checked(caught.value)


def checked(error: caesura.CaesuraError) -> str:
    text = str(error)
    assert text.isprintable()
    assert len(text) < 700
    assert text[0].isupper()
    assert text[-1] in ".?"
    return text


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


def test_info_speaks_of_the_file_without_its_weights(place):
    filler = make_filler(cell="lstm", hidden=3)
    filler.save(place)
    content = place.read_bytes()
    place.write_bytes(content[:-1] + b"\x7f")  # an altered weight is not looked at
    info = read_info(place)
    assert info["kind"] == {"name": "text", "fields": {"alphabet": ALPHABET, "gap_char": "_"}}
    assert (info["strategy"], info["training"]) == ("nade", TRAINING)
    assert (info["format"], info["caesura"]) == (1, caesura.__version__)
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


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


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


# What cannot be read


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not in the safetensors format"),
        (b"Fellow-Citizens of the Senate", "not in the safetensors format"),
        (b"\x80\x04\x95" + bytes(100), "not in the safetensors format"),  # a pickle
        (b"\xff" * 8, "not in the safetensors format"),
        ((2**63).to_bytes(8, "little") + b"{}", "not in the safetensors format"),
        ((2**20).to_bytes(8, "little") + b"{}", "cut short"),
        (join([], b""), "not in the safetensors format"),
        (join(b"{", b""), "header is not proper JSON"),
        (join(b"\xff\xfe", b""), "header is not proper JSON"),
        (join(b"[" * 100_000, b""), "header is not proper JSON"),
        (join(b'{"a":' * 500 + b"1" + b"}" * 500, b""), "64 levels deep"),
        (join(b'{"a":' + b"9" * 10_000 + b"}", b""), "header is not proper JSON"),
        (join(b'{"a":1e999}', b""), "header is not proper JSON"),
        (join(b'{"a":NaN}', b""), "header is not proper JSON"),
        (join(b'{"a":1,"a":2}', b""), "twice"),
        (safetensors.numpy.save({"a": np.zeros(3)}), "not one that caesura wrote"),
        (safetensors.numpy.save({"a": np.zeros(3)}, {"by": "you"}), "not one that caesura wrote"),
        (join({"__metadata__": {"caesura": 3}}, b""), "not one that caesura wrote"),
    ],
)
def test_a_foreign_file_gets_one_sentence(place, content, sentence):
    place.write_bytes(content)
    assert sentence in the_sentence(place)
    with pytest.raises(caesura.CaesuraError, match=sentence):
        read_info(place)


def test_a_path_without_a_file_gets_one_sentence(place):
    assert "There is no file" in the_sentence(place)
    assert "not a file" in the_sentence(place.parent)
    assert "not a file" in the_sentence(Path("/dev/null"))
    place.write_text("")
    assert "Cannot read" in the_sentence(place / "deeper")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 2}, r"newer caesura \(format 2\); this one reads format 1"),
        ({"format": 2, "kind": None, "more": 1}, "newer caesura"),
        ({"format": 0}, "no format 0"),
        ({"format": True}, "no format number"),
        ({"format": "1"}, "no format number"),
        ({"more": 1}, "should not have the key 'more'"),
        ({"kind": "text"}, "'kind' is not a JSON object"),
        ({"kind": {}}, "no proper kind"),
        ({"kind.name": "txet"}, "did you mean 'text'"),
        ({"kind.name": ["text"]}, "'kind' is not given by a string"),
        ({"kind.name": "x\n\x1b[2J\u202e" * 10**5}, r"no kind called 'x\\n"),
        ({"kind.fields": []}, "kind is not described"),
        ({"kind.fields": {"gap_char": "_"}}, "kind lacks its field 'alphabet'"),
        ({"kind.fields.alphabet": 4}, "'alphabet' of the kind cannot be of type int"),
        ({"kind.fields.colour": 4}, "a field 'colour'"),
        ({"kind.fields.alphabet": "abcdef"}, "but the kind has categorical ones of size 6"),
        ({"kind.fields.alphabet": ""}, "the alphabet is 'learn', 'paper' or a string of symbols"),
        ({"kind.name": "switches"}, "but the kind has binary ones of size 4"),
        (
            {"kind.name": "switches", "kind.fields.steps_per_beat": 2**40},
            "'steps_per_beat' of the kind is out of range",
        ),
        ({"nets": {}}, "has no nets"),
        ({"nets.backward": {}}, "no net called 'backward'"),
        ({"nets.forward": 3}, "forward net is not described"),
        ({"nets.forward.cell": "gro"}, "did you mean 'gru'"),
        ({"nets.forward.cell": None}, "no cell called 'None'"),
        ({"nets.forward.cell": {}}, "'cell' of the forward net cannot be of type dict"),
        ({"nets.forward.head": "softmix"}, "did you mean 'softmax'"),
        ({"nets.forward.head": "bernoulli"}, "head 'bernoulli' is for binary frames"),
        ({"nets.forward.head": "constant"}, "'constant' is for nets without cells"),
        ({"nets.onegram.head": "softmax"}, "'constant' is for nets without cells"),
        ({"nets.forward.frame": "binary"}, "is for binary frames of size 4"),
        ({"nets.forward.frame": "bnary"}, "did you mean 'binary'"),
        ({"nets.forward.direction": "fore"}, "no direction called 'fore'"),
        ({"nets.forward.direction": "both"}, "tensor 'forward.backward.cells.0.W_h' is missing"),
        ({"nets.onegram.layers": 1}, "no direction of time"),
        ({"nets.forward.missing_input": "gating"}, "only a net of both directions"),
        ({"nets.forward.missing_input": "adding"}, "no missing-value input called 'adding'"),
        ({"nets.forward.hidden": 2}, r"has the shape \[1, 4\], .* wants \[2, 4\]"),
        ({"nets.forward.hidden": 0}, "'hidden' must be at least 1"),
        ({"nets.forward.hidden": -1}, "'hidden' must be at least 1"),
        ({"nets.forward.hidden": 2**31}, "'hidden' must be at most"),
        ({"nets.forward.hidden": 10**4000}, "'hidden' of the forward net is out of range"),
        ({"nets.forward.hidden": 1.0}, "cannot be of type float"),
        ({"nets.forward.hidden": True}, "cannot be of type bool"),
        ({"nets.forward.layers": 10**6}, "'layers' must be at most"),
        ({"nets.forward.size": 0x110001}, "'size' must be at most"),
        ({"strategy": "nada"}, "did you mean 'nade'"),
        ({"strategy": None}, "'strategy' is not given by a string"),
        ({"training": [1]}, "'training' is not a JSON object"),
        ({"training": {"a": deep(70)}}, "64 levels"),
        ({"sha256": 3}, "'sha256' is not given by a string"),
        ({"caesura": 3}, "'caesura' is not given by a string"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_configuration_that_lies_gets_one_sentence(place, tiny, change, sentence):
    tiny.save(place)
    document = document_of(place.read_bytes())
    for way, value in change.items():
        *parents, last = way.split(".")
        functools.reduce(lambda inner, name: inner[name], parents, document)[last] = value
    place.write_bytes(with_document(place.read_bytes(), document, sign="sha256" not in change))
    with pytest.raises(caesura.CaesuraError, match=sentence) as caught:
        caesura.load(place)
    checked(caught.value)


@pytest.mark.parametrize("text", ["", "3", "null", "[" * 10**5, '{"format":1,"format":1}', "{"])
def test_a_configuration_that_is_none_gets_one_sentence(place, tiny, text):
    tiny.save(place)
    place.write_bytes(with_document(place.read_bytes(), text))
    the_sentence(place)


W_H = "forward.forward.cells.0.W_h"


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"shape": [-1, -1]}, "shape"),
        ({"shape": [1]}, "shape"),
        ({"shape": [2**62, 2**62]}, "shape"),
        ({"shape": [1.0, 1]}, "do not lie"),
        ({"shape": [True, 1]}, "do not lie"),
        ({"shape": [10**4000]}, "shape"),
        ({"shape": list(range(10**5))}, "shape"),
        ({"shape": None}, "shape"),
        ({"dtype": "F64"}, "not of the dtype"),
        ({"dtype": ["F32"]}, "not of the dtype"),
        ({"dtype": "F16"}, "take .* bytes, but the file has"),
        ({"data_offsets": [4, 8]}, "do not lie"),
        ({"data_offsets": [0, 8]}, "do not lie"),
        ({"data_offsets": [4, 0]}, "do not lie"),
        ({"data_offsets": [-4, 0]}, "do not lie"),
        ({"data_offsets": [2**64 - 4, 2**64]}, "do not lie"),
        ({"data_offsets": [2**63, 2**63 + 4]}, "do not lie"),
        ({"data_offsets": None}, "do not lie"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_header_that_lies_gets_one_sentence(place, tiny, entry, sentence):
    tiny.save(place)
    header, data = split(place.read_bytes())
    header[W_H] |= entry
    place.write_bytes(join(header, data))
    with pytest.raises(caesura.CaesuraError, match=sentence) as caught:
        caesura.load(place)
    checked(caught.value)


def test_tensors_are_those_of_the_configuration(place, tiny):
    tiny.save(place)
    content = place.read_bytes()
    header, data = split(content)
    for entry in ([], 3, None, "F32"):
        place.write_bytes(join(header | {W_H: entry}, data))
        assert "not of the dtype" in the_sentence(place)
    renamed = {name.replace("W_h", "W\n"): entry for name, entry in header.items()}
    place.write_bytes(join(renamed, data))
    assert r"cells.0.W\n' that the configuration does not know" in the_sentence(place)
    extra = {"z": {"dtype": "F32", "shape": [0], "data_offsets": [len(data)] * 2}}
    place.write_bytes(join(header | extra, data))
    assert "tensor 'z' that the configuration does not know" in the_sentence(place)
    place.write_bytes(content + b"\x00")
    assert "bytes, but the file has" in the_sentence(place)
    del header[W_H]
    place.write_bytes(join(header, data))
    assert f"'{W_H}' is missing" in the_sentence(place)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_weights_that_are_not_finite_are_refused_though_signed(place, tiny, number):
    tiny.save(place)
    content = place.read_bytes()
    content = content[:-4] + np.float32(number).tobytes()
    place.write_bytes(with_document(content, document_of(content)))
    assert "not finite" in the_sentence(place)


def test_a_wrong_sha256_is_found(place, tiny):
    tiny.save(place)
    document = document_of(place.read_bytes()) | {"training": {"seed": 2}}
    place.write_bytes(with_document(place.read_bytes(), document, sign=False))
    assert "altered" in the_sentence(place)


@pytest.mark.parametrize("layers", [1, 32])
def test_a_lying_size_allocates_nothing(place, tiny, layers):
    """The configuration and the header agree on terabytes; the file has none of them."""
    tiny.save(place)
    header, data = split(place.read_bytes())
    document = document_of(place.read_bytes())
    net = document["nets"]["forward"] | {"cell": "lstm", "hidden": 2**16, "layers": layers}
    document["nets"] = {"forward": net}
    shapes = jax.tree_util.tree_flatten_with_path({"forward": Architecture(**net).skeleton()})[0]
    at, header = 0, {"__metadata__": {"caesura": json.dumps(document)}}
    for way, leaf in shapes:
        size = 4 * int(np.prod(leaf.shape, dtype=object))
        name = jax.tree_util.keystr(way, simple=True, separator=".")
        header[name] = {"dtype": "F32", "shape": leaf.shape, "data_offsets": [at, at + size]}
        at += size
    place.write_bytes(join(header, data))
    with open(place, "r+b") as sparse:  # the size that it claims, in holes
        sparse.truncate(len(join(header, b"")) + min(at, 2**37))
    SKELETON.cache_clear()
    tracemalloc.start()
    began = time.perf_counter()
    sentence = the_sentence(place)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "more than any model should have" in sentence
    assert peak < 2**24
    assert time.perf_counter() - began < 10


# Damage at random


def outcome(path: Path, content: bytes, filler: Filler) -> bool:
    """Whether the file still holds the filler; it gets one sentence if not."""
    path.write_bytes(content)
    try:
        loaded = caesura.load(path)
    except caesura.CaesuraError as error:
        checked(error)
        return False
    assert_same(loaded, filler)
    return True


def test_a_file_cut_anywhere_gets_one_sentence(place, tiny):
    tiny.save(place)
    content = place.read_bytes()
    assert not any(outcome(place, content[:n], tiny) for n in range(len(content)))


def mutated(draw: random.Random, content: bytes) -> bytes:
    at = draw.randrange(len(content))
    if draw.random() < 0.3:
        at = draw.randrange(8)  # the length of the header is small, and matters
    other = draw.randrange(len(content))
    length = draw.randrange(1, 9)
    piece = content[at : at + length]
    return draw.choice(
        [
            content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :],
            content[:at] + draw.randbytes(1) + content[at + 1 :],
            content[:at] + draw.choice(b'0919"{}[],:-\\ ').to_bytes() + content[at + 1 :],
            content[:at] + draw.randbytes(length) + content[at + length :],
            content[:at] + content[at + length :],
            content[:at] + piece + content[at:],
            content[:other] + piece + content[other + len(piece) :],
        ]
    )


def test_bytes_changed_at_random_never_change_the_model(place, tiny):
    tiny.save(place)
    content = place.read_bytes()
    draw = random.Random(0)
    survived = sum(outcome(place, mutated(draw, content), tiny) for _ in range(3000))
    assert survived < 300  # pieces put where they were, or spaces behind the header


def test_every_altered_weight_bit_is_found(place, tiny):
    tiny.save(place)
    content = place.read_bytes()
    start = len(content) - len(split(content)[1])
    for bit in range(start * 8, len(content) * 8):
        altered = bytearray(content)
        altered[bit // 8] ^= 1 << bit % 8
        assert not outcome(place, bytes(altered), tiny)


JUNK = [None, True, 0, 1, -1, 2, 3.5, 2**31, 10**300, "", "gru", "both", "x" * 999, [], {}, [[1]]]


def shaken(draw: random.Random, value: Any) -> Any:
    """The document with junk in one place, which may be deep inside."""
    if isinstance(value, dict | list) and value and draw.random() < 0.9:
        way = draw.choice(list(value) if isinstance(value, dict) else range(len(value)))
        changed = value.copy()
        changed[way] = shaken(draw, value[way])
        return changed
    return draw.choice(JUNK)


def test_a_signed_configuration_with_junk_loads_or_gets_one_sentence(place, tiny):
    tiny.save(place)
    content = place.read_bytes()
    draw = random.Random(1)
    document = document_of(content)
    for _ in range(300):
        place.write_bytes(with_document(content, shaken(draw, document)))
        try:
            caesura.load(place)
        except caesura.CaesuraError as error:
            checked(error)


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
