"""A damaged or lying model file gets one sentence, and nothing of it is believed."""

import functools
import json
import random
import time
import tracemalloc
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import safetensors.numpy

import caesura
from caesura.filler.filler import Filler
from caesura.modelfile import read_info
from caesura.nets.architecture import Architecture
from caesura.sequence import FrameSpec
from model_files import (
    SKELETON,
    as_format_1,
    assert_same,
    deep,
    document_of,
    join,
    model_place,
    quick_and_one_more_kind,
    split,
    tiny_filler,
    with_document,
)
from sentences import checked

place = pytest.fixture(model_place)
tiny = pytest.fixture(tiny_filler, scope="module")
quick = pytest.fixture(quick_and_one_more_kind, autouse=True)


def the_sentence(path: Path) -> str:
    with pytest.raises(caesura.CaesuraError) as caught:
        caesura.load(path)
    return checked(caught.value)


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
        (join(b"{", b""), "header is not valid JSON"),
        (join(b"\xff\xfe", b""), "header is not valid JSON"),
        (join(b"[" * 100_000, b""), "header is not valid JSON"),
        (join(b'{"a":' * 500 + b"1" + b"}" * 500, b""), "64 levels deep"),
        (join(b'{"a":' + b"9" * 10_000 + b"}", b""), "header is not valid JSON"),
        (join(b'{"a":1e999}', b""), "header is not valid JSON"),
        (join(b'{"a":NaN}', b""), "header is not valid JSON"),
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
        (
            {"format": 3, "caesura": "0.9.1"},
            r"caesura 0.9.1 in format 3, .* up to 2: install caesura 0.9.1 or a later version",
        ),
        ({"format": 3, "kind": None, "more": 1}, "in format 3"),
        ({"format": 3, "caesura": ["0.9"]}, "'caesura' is not a string"),
        ({"format": 0}, "no format 0"),
        ({"format": True}, "no format number"),
        ({"format": "1"}, "no format number"),
        ({"more": 1}, "should not have the key 'more'"),
        ({"kind": "text"}, "'kind' is not a JSON object"),
        ({"kind": {}}, "no valid kind"),
        ({"kind.name": "txet"}, "did you mean 'text'"),
        ({"kind.name": ["text"]}, "'kind' is not a string"),
        ({"kind.name": "x\n\x1b[2J\u202e" * 10**5}, r"no kind called 'x\\n"),
        ({"kind.fields": []}, "kind is not described"),
        ({"kind.fields": {"gap_char": "_"}}, "kind lacks its field 'alphabet'"),
        ({"kind.fields.alphabet": 4}, "'alphabet' of the kind cannot be of type int"),
        ({"kind.fields.colour": 4}, "a field 'colour'"),
        ({"kind.fields.alphabet": "abcdef"}, "but the kind has categorical frames of size 6"),
        (
            {"kind.fields.alphabet": ""},
            "the alphabet must be 'learn', 'paper' or a string of symbols",
        ),
        ({"kind.name": "switches"}, "but the kind has binary frames of size 4"),
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
        ({"nets.forward.head": "constant"}, "'constant' is not for a forward net"),
        ({"nets.onegram.head": "softmax"}, "'softmax' is not for a onegram net"),
        ({"nets.forward.frame.name": "binary"}, "is for binary frames of size 4"),
        ({"nets.forward.frame.name": "bnary"}, "did you mean 'binary'"),
        ({"nets.forward.frame": "binary"}, "'frame' of the forward net is not described"),
        ({"nets.forward.frame": {"name": "binary"}}, "lacks its field 'size'"),
        ({"nets.forward.frame.informing": 1.5}, "'informing' .* cannot be of type float"),
        ({"nets.forward.frame.categories": 3}, "is not a list"),
        ({"nets.forward.frame.colour": 3}, "a field 'colour'"),
        ({"nets.forward.net": "forwar"}, "did you mean 'forward'"),
        ({"nets.forward.net": "bidirectional"}, "is described as a bidirectional net"),
        ({"nets.onegram.layers": 1}, "a one-gram has no cells"),
        ({"nets.forward.missing_input": "gating"}, "only a bidirectional net"),
        ({"nets.forward.missing_input": "adding"}, "no missing-value input called 'adding'"),
        ({"nets.forward.hidden": 2}, r"has the shape \[1, 4\], .* requires \[2, 4\]"),
        ({"nets.forward.hidden": 0}, "'hidden' must be at least 1"),
        ({"nets.forward.hidden": -1}, "'hidden' must be at least 1"),
        ({"nets.forward.hidden": 2**31}, "'hidden' must be at most"),
        ({"nets.forward.hidden": 10**4000}, "'hidden' of the forward net is out of range"),
        ({"nets.forward.hidden": 1.0}, "cannot be of type float"),
        ({"nets.forward.hidden": True}, "cannot be of type bool"),
        ({"nets.forward.layers": 10**6}, "'layers' must be at most"),
        ({"nets.forward.frame.size": 0x110001}, "'size' must be at most"),
        ({"strategy": "nada"}, "did you mean 'nade'"),
        ({"strategy": None}, "'strategy' is not a string"),
        ({"training": [1]}, "'training' is not a JSON object"),
        ({"training": {"a": deep(70)}}, "64 levels"),
        ({"sha256": 3}, "'sha256' is not a string"),
        ({"caesura": 3}, "'caesura' is not a string"),
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
        ({"shape": [1.0, 1]}, "do not match"),
        ({"shape": [True, 1]}, "do not match"),
        ({"shape": [10**4000]}, "shape"),
        ({"shape": list(range(10**5))}, "shape"),
        ({"shape": None}, "shape"),
        ({"dtype": "F64"}, "not of the dtype"),
        ({"dtype": ["F32"]}, "not of the dtype"),
        ({"dtype": "F16"}, "take .* bytes, but the file has"),
        ({"data_offsets": [4, 8]}, "do not match"),
        ({"data_offsets": [0, 8]}, "do not match"),
        ({"data_offsets": [4, 0]}, "do not match"),
        ({"data_offsets": [-4, 0]}, "do not match"),
        ({"data_offsets": [2**64 - 4, 2**64]}, "do not match"),
        ({"data_offsets": [2**63, 2**63 + 4]}, "do not match"),
        ({"data_offsets": None}, "do not match"),
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


@pytest.mark.parametrize(
    ("name", "entry", "sentence"),
    [
        (W_H + ".scale", {"dtype": "I8"}, "8-bit numbers, but it is not a matrix"),
        (W_H + ".scale", {"shape": [1, 1]}, "shape"),
        ("forward.forward.cells.0.b_h", {"dtype": "I8"}, "8-bit numbers, but it is not a matrix"),
        (W_H, {"dtype": "BF16"}, "W_h.scale' that the configuration does not know"),
    ],
)
def test_a_scale_belongs_to_a_matrix_of_8_bit_numbers(place, tiny, name, entry, sentence):
    tiny.save(place, dtype="int8")
    header, data = split(place.read_bytes())
    header[name] |= entry
    place.write_bytes(join(header, data))
    with pytest.raises(caesura.CaesuraError, match=sentence):
        caesura.load(place)
    del header[W_H + ".scale"]
    place.write_bytes(join(header | {W_H: header[W_H] | {"dtype": "I8"}}, data))
    assert "W_h.scale' is missing" in the_sentence(place)


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
    assert "changed or damaged" in the_sentence(place)


@pytest.mark.parametrize("layers", [1, 32])
def test_a_lying_size_allocates_nothing(place, tiny, layers):
    """The configuration and the header agree on terabytes; the file has none of them."""
    tiny.save(place)
    header, data = split(place.read_bytes())
    document = document_of(place.read_bytes())
    net = document["nets"]["forward"] | {"cell": "lstm", "hidden": 2**16, "layers": layers}
    document["nets"] = {"forward": net}
    frame = FrameSpec(**net["frame"] | {"categories": ()})  # JSON has no tuples
    architecture = Architecture(**net | {"frame": frame})
    shapes = jax.tree_util.tree_flatten_with_path({"forward": architecture.skeleton()})[0]
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


@pytest.mark.slow
def test_bytes_changed_at_random_never_change_the_model(place, tiny):
    tiny.save(place)
    content = place.read_bytes()
    draw = random.Random(0)
    survived = sum(outcome(place, mutated(draw, content), tiny) for _ in range(3000))
    assert survived < 300  # pieces put where they were, or spaces behind the header


@pytest.mark.slow
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


@pytest.mark.parametrize("older", [False, True])
def test_a_signed_configuration_with_junk_loads_or_gets_one_sentence(place, tiny, older):
    tiny.save(place)
    content = place.read_bytes()
    draw = random.Random(1)
    document = document_of(content)
    if older:
        document = as_format_1(document)
        place.write_bytes(with_document(content, document))
        assert_same(caesura.load(place), tiny)
    for _ in range(300):
        place.write_bytes(with_document(content, shaken(draw, document)))
        try:
            caesura.load(place)
        except caesura.CaesuraError as error:
            checked(error)
