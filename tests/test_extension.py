"""A strategy, a cell, a head and a kind from outside the package: one class and one line each."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fastapi.testclient import TestClient

import caesura
from caesura.kinds import KINDS
from caesura.kinds.base import Item, Kind
from caesura.nets.cells import CELLS, Cell
from caesura.nets.frames import Categorical
from caesura.nets.heads import HEADS
from caesura.nets.heads.linear import Linear
from caesura.scale import Run, Summary, fill_locally
from caesura.scale.rows import files_as_rows
from caesura.sequence import FrameSpec, Sequence
from caesura.strategies import STRATEGIES
from caesura.strategies.base import Strategy, exactly
from caesura.strategies.keys import keys_of_windows
from caesura.strategies.nade import each_alone
from caesura.web import make_app
from command_line import run as run_caesura


# --8<-- [start:cell]
class Leaky(Cell):
    """Half of the old state stays."""

    blocks: ClassVar[int] = 1

    def activate(self, state, a_t, u_t):
        return 0.5 * state + 0.5 * jnp.tanh(a_t + u_t)


# --8<-- [end:cell]


# --8<-- [start:head]
class Sharp(Linear):
    """A softmax at half the temperature."""

    frames = Categorical

    def log_probs(self, logits):
        return jax.nn.log_softmax(2 * logits)[None]


# --8<-- [end:head]


# --8<-- [start:strategy]
class Apart(Strategy):
    """Each missing step by itself, as if the other missing steps were never filled."""

    name: ClassVar[str] = "apart"
    net: ClassVar[str] = "bidirectional"
    needs_missing_input: ClassVar[bool] = True

    def is_exact(self, longest_gap):
        return True

    def marginals(self, key, net, window):
        return each_alone(net, window)

    def draw(self, key, net, window, samples):
        def fills(key, log_probs, values, missing):
            drawn = jax.random.categorical(key, log_probs, shape=(samples, *values.shape))
            return jnp.where(missing, drawn, values)  # observed values stay

        keys = keys_of_windows(key, len(window.values)).own  # one for each window
        log_probs = self.marginals(key, net, window).values.log_prob
        return jax.vmap(fills)(keys, log_probs, window.values, window.missing)

    def log_prob(self, key, net, window, fills):
        log_probs = self.marginals(key, net, window).values.log_prob
        of_fills = jnp.take_along_axis(log_probs[:, None], fills[..., None], axis=-1)[..., 0]
        return exactly(jnp.sum(of_fills, axis=(2, 3), where=window.missing[:, None]))


# --8<-- [end:strategy]


# --8<-- [start:kind]
class DiceItem(Item):
    """Throws of a die, as the lines of a text: a question mark is missing."""

    suffix = ".dice"
    original = sequence = None

    def __init__(self, text: str):
        self.original, self.lines = text, text.split()
        known = [int(line) - 1 if line != "?" else 0 for line in self.lines]
        missing = np.array([line == "?" for line in self.lines])
        self.sequence = Sequence(np.array(known, np.int32)[:, None], missing[:, None])

    def write(self, values, missing):
        pairs = zip(self.lines, values[:, 0], missing[:, 0], strict=True)
        return "\n".join(str(v + 1) if m else line for line, v, m in pairs)

    def content(self, filled):
        return filled


@dataclass(frozen=True)
class Dice(Kind):
    """What a die shows, throw by throw."""

    name: ClassVar[str] = "dice"
    head: ClassVar[str] = "sharp"
    options: ClassVar[tuple[str, ...]] = ("sides",)
    suffixes: ClassVar[tuple[str, ...]] = (".dice",)

    sides: int = 6

    @property
    def frame(self) -> FrameSpec:
        return FrameSpec("categorical", self.sides)

    @classmethod
    def path_of(cls, data: Any) -> Path | None:
        return data if isinstance(data, Path) else None  # a string is no path, but throws

    @classmethod
    def load(cls, path: Path) -> str:
        return path.read_text()

    @classmethod
    def learn(cls, items: Iterable[Any], **fields: Any) -> "Dice":
        return cls(**fields)

    def open(self, data: Any) -> Item:
        if isinstance(data, Item):
            return data
        return DiceItem(self.load(data) if isinstance(data, Path) else data)

    def open_content(self, content):
        return self.open(content)

    def symbols(self) -> list[int]:
        return list(range(1, self.sides + 1))


# --8<-- [end:kind]

RULE = "\n".join("123456" * 20)  # each throw follows from the one before
SMALL = {"hidden": 8, "layers": 1, "head_hidden": 0, "steps": 30, "batch": 8, "length": 24}
SMALL |= {"every": 8, "validate_every": 15, "valid_steps": 100, "learning_rate": 0.02}
SMALL |= {"dropout": 0.0, "shift": 0, "burn_in": 0}


@pytest.fixture(scope="module", autouse=True)
def _registered():
    """The one line for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KINDS, "dice", Dice)
        patch.setitem(CELLS, "leaky", Leaky)
        patch.setitem(HEADS, "sharp", Sharp)
        patch.setitem(STRATEGIES, "apart", Apart)
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory, _registered) -> Path:
    data = tmp_path_factory.mktemp("dice")
    for number in range(6):
        (data / f"{number}.dice").write_text(RULE)
    filler = caesura.train(
        [data], kind="dice", recipe="nade", cell="leaky", strategy="apart", **SMALL
    )
    assert filler.strategy == "apart"
    filler.save(data / "dice.model")
    return data / "dice.model"


DAMAGED = "1\n2\n3\n?\n5\n6\n1\n2\n?\n4\n5\n6"


@pytest.mark.slow
def test_the_library_fills_scores_and_evaluates(model):
    filler = caesura.load(model)
    fill = filler.fill(DAMAGED)
    assert fill.strategy == "apart"
    kept = [line for line in DAMAGED.split() if line != "?"]
    assert [
        v for v, line in zip(fill.best.split(), DAMAGED.split(), strict=True) if line != "?"
    ] == kept
    assert filler.log_prob(RULE, missing=slice(20, 23)) < 0
    assert filler.marginals(DAMAGED).symbols == [1, 2, 3, 4, 5, 6]
    assert filler.evaluate([RULE], gap=2, limit=5).gaps.gaps == 5


def test_the_strategy_of_its_own_multiplies_the_marginals(model):
    """By enumeration: the probability of a fill is a product, and draws have these frequencies."""
    filler, missing = caesura.load(model), [20, 21, 30]
    damaged = "\n".join("?" if n in missing else c for n, c in enumerate(RULE.split()))
    probs = np.exp(filler.marginals(damaged).log_probs)
    truth = [int(RULE.split()[place]) - 1 for place in missing]
    expected = np.log(probs[range(3), truth]).sum()
    assert filler.log_prob(RULE, missing=missing) == pytest.approx(expected, abs=1e-4)
    samples = filler.fill(damaged, samples=600).samples
    drawn = np.array([[int(s.split()[place]) - 1 for place in missing] for s in samples])
    shares = (drawn[:, :, None] == np.arange(6)).mean(0)
    assert np.abs(shares - probs).max() < 4 * (0.25 / 600) ** 0.5


@pytest.mark.slow
def test_the_command_line_trains_fills_evaluates_and_informs(model, tmp_path):
    file = tmp_path / "damaged.dice"
    file.write_text(DAMAGED)
    out = tmp_path / "full.dice"
    done = run_caesura("fill", "dice", file, "--model", model, "--strategy", "apart", "-o", out)
    assert done.exit_code == 0, done.stderr
    assert out.read_text() == caesura.load(model).fill(file).best
    told = run_caesura("fill", "dice", file, "--model", model, "--json")
    assert json.loads(told.stdout)["strategy"] == "apart"
    settings = [word for pair in SMALL.items() for word in ("--set", "{}={}".format(*pair))]
    other = tmp_path / "other.model"
    done = run_caesura(
        "train",
        "dice",
        model.parent,
        "-o",
        other,
        "--recipe",
        "nade",
        "--set",
        "cell=leaky",
        *settings,
    )
    assert done.exit_code == 0, done.stderr
    told = run_caesura(
        "evaluate", other, model.parent, "--gap", 2, "--limit", 4, "--strategy", "apart"
    )
    assert "apart" in told.stdout
    assert "leaky" in run_caesura("info", other).stdout


def test_the_server_offers_and_fills(model):
    with TestClient(make_app({"dice": caesura.load(model)})) as client:
        (offered,) = client.get("/api/models").json()
        assert offered["kind"] == "dice"
        assert "apart" in offered["strategies"]
        question = {"model": "dice", "sequence": DAMAGED, "strategy": "apart"}
        answer = client.post("/api/fill", json=question | {"samples": 2})
        assert answer.status_code == 200, answer.text
        assert answer.json()["best"] == caesura.load(model).fill(DAMAGED, draws=2).best
        assert client.post("/api/marginals", json=question).status_code == 200


def test_the_local_engine_fills_files(model, tmp_path):
    data = tmp_path / "in"
    data.mkdir()
    (data / "a.dice").write_text(DAMAGED)
    run = Run(model, strategy="apart")
    assert fill_locally([files_as_rows("dice", data)], run, tmp_path / "out") == Summary(filled=1)
    alone = caesura.load(model).fill(data / "a.dice", seed=run.seed_of("a.dice"))
    assert (tmp_path / "out" / "files" / "a.dice").read_text() == alone.best
