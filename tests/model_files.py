"""Fillers to save, and model files taken apart and put together again."""

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from caesura.filler.filler import Filler
from caesura.kinds import KINDS, Series, Text
from caesura.kinds.series.columns import Column
from caesura.modelfile.container import DTYPES
from caesura.modelfile.weights import digest
from caesura.nets.architecture import Architecture
from caesura.sequence import FrameSpec
from small_nets import make_net

ALPHABET = " a’\ud800"  # a lone half of a surrogate pair is a character to Python, too
TRAINING = {"recipe": "small", "seed": 3, "history": [[1, 2.5], [2, 0.1]], "data": {"items": 2}}


@dataclass(frozen=True)
class Switches(Text):
    """A kind with binary frames and a field that is a number."""

    name: ClassVar[str] = "switches"
    head: ClassVar[str] = "bernoulli"

    steps_per_beat: int = 4

    @property
    def frame(self) -> FrameSpec:
        return FrameSpec("binary", len(self.alphabet))


KIND_OF_HEAD = {"softmax": Text(ALPHABET), "bernoulli": Switches("abc", steps_per_beat=2)}
KIND_OF_HEAD["orderless"] = KIND_OF_HEAD["bernoulli"]
KIND_OF_HEAD["mixture"] = Series.learn([np.arange(12.0).reshape(4, 3) ** 2], least_observed=1)
COLUMNS = (Column("x", 0), *(Column(name, n, fills=False) for n, name in enumerate("abc", 1)))
KIND_OF_HEAD["weighing"] = Series(COLUMNS, 4)


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


def tiny_filler() -> Filler:
    """As few bytes as may be."""
    nets = {name: make_net(name, "softmax", hidden=1) for name in ("forward", "onegram")}
    return Filler(KIND_OF_HEAD["softmax"], nets, "oneway", {"seed": 1})


def model_place(tmp_path: Path) -> Path:
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


def as_format_1(document: dict[str, Any]) -> dict[str, Any]:
    """The document as caesura 0.1 would have written it."""
    nets = {}
    for name, net in document["nets"].items():
        rest = {key: value for key, value in net.items() if key not in ("net", "frame")}
        frame = {"frame" if key == "name" else key: v for key, v in net["frame"].items()}
        direction = {"bidirectional": "both", "forward": "forward", "onegram": "none"}[name]
        nets[name] = {"direction": direction} | frame | rest
    return document | {"format": 1, "nets": nets}


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


def write_sums(models: Path) -> None:
    """As `sha256sum *.safetensors > SHA256SUMS` does."""
    files = sorted(models.glob("*.safetensors"))
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (models / "SHA256SUMS").write_text("".join(lines))
