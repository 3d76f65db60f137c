"""A trained model, ready to use: a kind of data, the nets, and a strategy."""

import os
from collections import abc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, PRNGKeyArray, Shaped

from caesura.errors import CaesuraError, lookup, whole_number
from caesura.filler.fill import Fill, LogProb, Marginals
from caesura.kinds.base import Kind
from caesura.modelfile import Model, read_model, write_model
from caesura.nets.frames import Frame
from caesura.nets.pair import Nets, Pair
from caesura.nets.rnn import Net, NetName
from caesura.pretrained import find_model
from caesura.sequence import Sequence
from caesura.strategies import NADE, STRATEGIES, Strategy, Window, around_each
from caesura.strategies.base import Estimate

Missing = Any  # a slice, a list of steps, or a mask over steps or values
MOST_SAMPLES = 100_000


def make_key(seed: int, use: int = 0) -> PRNGKeyArray:
    """The source of what is random in one call; another for each use.

    It is that of `jax.random.key(seed + 2**32 * use)`, which would be a program to compile.
    """
    words = np.array([use, whole_number("seed", seed, 0, 2**32 - 1)], np.uint32)
    return jax.random.wrap_key_data(jax.device_put(words), impl="threefry2x32")


class Method(NamedTuple):
    """A strategy with the net it works on, or the pair of them."""

    name: str
    strategy: Strategy
    net: Nets

    def window(self, *sequences: Sequence) -> Window:
        """The stretches of the sequences that the strategy needs to see."""
        stops = [self.strategy.stop(s.gaps[-1].stop, len(s)) for s in sequences]
        return around_each(self.net, sequences, stops)


class Gapped(NamedTuple):
    """A sequence that is to be filled together with others."""

    data: Any
    missing: Missing | None
    seed: int


@dataclass(frozen=True, eq=False)
class Filler:
    """Fills gaps, and gives the probability of what could stand in them."""

    kind: Kind
    nets: dict[NetName, Net]
    strategy: str  # the one that serves where none is asked for
    training: dict[str, Any] = field(default_factory=dict)  # how it was made, as JSON can hold it

    def fill(
        self,
        data: Any,
        *,
        missing: Missing | None = None,
        samples: int = 1,
        strategy: str | Strategy | None = None,
        seed: int = 0,
    ) -> Fill:
        """Complete the sequence `samples` times; what is observed comes back untouched."""
        samples = whole_number("samples", samples, 1, MOST_SAMPLES)
        key_draw, key_score, key_marginals = (make_key(seed, use) for use in range(3))
        method = self.method(strategy)
        sequence = self.read(data, missing)
        if not sequence.gaps:
            sure, nowhere = np.zeros(samples), np.zeros((0, 2), int)
            same = self.kind.write(data, sequence.missing, sequence.values)
            return Fill(
                best=same,
                samples=[same] * samples,
                log_probs=sure,
                standard_errors=sure,
                places=nowhere,
                confidence=np.zeros(0),
                strategy=method.name,
                seed=seed,
                values=sequence.values,
            )
        window = method.window(sequence)
        with ThreadPoolExecutor(1) as aside:  # the first call compiles, on more than one core
            side = aside.submit(self._marginals, key_marginals, method, sequence, window)
            drawn = method.strategy.draw(key_draw, method.net, window, samples)
            scores = method.strategy.log_prob(key_score, method.net, window, drawn)
            marginals = side.result()
        asked = Gapped(data, missing, seed)
        values = np.asarray(drawn)[0]
        return self._tell(method, asked, sequence, values, _row(scores, 0), marginals)

    def fill_together(self, asked: abc.Sequence[Gapped], *, samples: int = 1) -> list[Fill]:
        """What `fill` answers to each of them by `nade`, in one pass of the net over all.

        But for rounding, company changes nothing, since each has a seed of its own. Gaps that are
        too long for an exact score are refused: its estimate would be random as well.
        """
        method = self.method("nade")
        sequences = [self.read(one.data, one.missing) for one in asked]
        lengths = [gap.stop - gap.start for sequence in sequences for gap in sequence.gaps]
        if max(lengths, default=0) > NADE().exact_up_to or not all(s.gaps for s in sequences):
            raise CaesuraError("What is filled together has gaps, and such as are scored exactly.")
        window = method.window(*sequences)
        keys = jnp.stack([make_key(one.seed) for one in asked])
        drawn = method.strategy.draw(keys, method.net, window, samples)
        scores = method.strategy.log_prob(keys[0], method.net, window, drawn)
        marginals = method.strategy.marginals(keys[0], method.net, window).values
        fills = []
        for row, (one, sequence) in enumerate(zip(asked, sequences, strict=True)):
            at_places = self._at_places(sequence, _row(marginals, row))
            values, score = np.asarray(drawn)[row], _row(scores, row)
            fills.append(self._tell(method, one, sequence, values, score, at_places))
        return fills

    def log_prob(
        self,
        data: Any,
        *,
        missing: Missing,
        strategy: str | Strategy | None = None,
        seed: int = 0,
    ) -> LogProb:
        """Nats of the values that complete `data` has at the missing places, given the rest."""
        key = make_key(seed)
        method = self.method(strategy)
        complete = self._check(self.kind.read_complete(data), None)
        if complete.gaps:
            raise CaesuraError(
                "A probability is asked of complete data, but some of it is missing."
            )
        sequence = Sequence(complete.values, self._mask(missing, complete))
        self._frame.check(sequence.values, sequence.missing)  # a category is missing as a whole
        if not sequence.gaps:
            return LogProb(0.0, 0.0)
        strange = sequence.missing & self._frame.unknown(sequence.values)
        if strange.any():
            what = self.kind.describe(data, int(np.argwhere(strange)[0, 0]))
            raise CaesuraError(f"The {what} is unknown to the model, so it has no probability.")
        window = method.window(sequence)
        score = method.strategy.log_prob(key, method.net, window, window.values[:, None])
        log_prob, error = (float(a[0, 0]) for a in score)
        return LogProb(log_prob - self.kind.log_scale(sequence.missing), error)

    def marginals(
        self,
        data: Any,
        *,
        missing: Missing | None = None,
        strategy: str | Strategy | None = None,
        seed: int = 0,
    ) -> Marginals:
        """The distribution at each missing place."""
        key = make_key(seed)
        method = self.method(strategy)
        sequence = self.read(data, missing)
        if not sequence.gaps:
            symbols = self.kind.symbols()
            nothing = np.zeros((0, len(symbols)))
            return Marginals(np.zeros((0, 2), int), symbols, nothing, nothing)
        return self._marginals(key, method, sequence, method.window(sequence))

    def read(self, data: Any, missing: Missing | None = None) -> Sequence:
        """The data as the nets see it, with all in it that is missing."""
        return self._check(self.kind.read(data), missing)

    def save(self, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Write the model file that `load` reads; 'float16' and 'bfloat16' halve its size."""
        write_model(path, Model(self.kind, self.nets, self.strategy, self.training), dtype)

    def method(self, strategy: str | Strategy | None) -> Method:
        """The strategy with its net, or one sentence that says why this model cannot serve it."""
        if not isinstance(strategy, Strategy):
            name = self.strategy if strategy is None else strategy
            strategy = lookup(STRATEGIES, name, "strategy")()
        name = type(strategy).__name__.lower()
        net = self._nets(name, strategy)
        strategy.check(net)
        return Method(name, strategy, net)

    def _nets(self, name: str, strategy: Strategy) -> Nets:
        """What the strategy works with."""
        needed: tuple[NetName, ...] = (
            ("forward", "bidirectional") if strategy.net == "pair" else (strategy.net,)
        )
        for net in needed:
            if net not in self.nets:
                recipe = {"bidirectional": "nade", "forward": "rnn"}.get(net, "")
                raise CaesuraError(
                    f"The strategy '{name}' needs a {net} net, which this model lacks: "
                    f"the recipe '{recipe}' trains one."
                )
        nets = [self.nets[net] for net in needed]
        return nets[0] if len(nets) == 1 else Pair(*nets)

    def _marginals(
        self, key: PRNGKeyArray, method: Method, sequence: Sequence, window: Window
    ) -> Marginals:
        values, _ = method.strategy.marginals(key, method.net, window)
        return self._at_places(sequence, _row(values, 0))

    def _at_places(self, sequence: Sequence, values: list[np.ndarray]) -> Marginals:
        """What is known of every step of a window, at the missing places alone."""
        places = np.argwhere(sequence.missing)
        rows = (places[:, 0] - sequence.gaps[0].start, places[:, 1])
        return Marginals(places, self.kind.symbols(), *(a[rows] for a in values))

    def _tell(
        self,
        method: Method,
        asked: Gapped,
        sequence: Sequence,
        drawn: Shaped[np.ndarray, "S W D"],
        scores: list[np.ndarray],
        marginals: Marginals,
    ) -> Fill:
        """All that was found out, as a user wants to know it."""
        log_probs, errors = scores
        log_probs = log_probs - self.kind.log_scale(sequence.missing)
        values = fill_gaps(sequence, drawn)
        completed = [self.kind.write(asked.data, sequence.missing, v) for v in values]
        best = int(np.argmax(log_probs))
        chosen = np.asarray(self._frame.index(values[best][sequence.missing]))
        return Fill(
            best=completed[best],
            samples=completed,
            log_probs=log_probs,
            standard_errors=errors,
            places=marginals.places,
            confidence=np.exp(marginals.log_probs[np.arange(len(chosen)), chosen]),
            strategy=method.name,
            seed=asked.seed,
            values=values[best],
        )

    def _check(self, sequence: Sequence, missing: Missing | None) -> Sequence:
        mask = sequence.missing
        if missing is not None:
            mask = mask | self._mask(missing, sequence)
        return Sequence(self._frame.check(sequence.values, mask), mask)

    def _mask(self, missing: Missing, sequence: Sequence) -> Bool[np.ndarray, "T D"]:
        """`missing` in any of its forms, as a mask over values that can be filled."""
        return _mask(missing, sequence) & self._frame.fillable

    @property
    def _frame(self) -> Frame:
        return next(iter(self.nets.values())).frame


def load(model: str | os.PathLike[str]) -> Filler:
    """A model that comes with the library, by its name ('text' or 'music'), or one from a file."""
    found = read_model(find_model(model))
    return Filler(found.kind, found.nets, found.strategy, found.training)


def join(first: Filler, *others: Filler) -> Filler:
    """The first filler with the nets of the others as well, and the records of their trainings."""
    fillers = (first, *others)
    nets = {name: net for one in fillers for name, net in one.nets.items()}
    records = {name: told for one in fillers for name, told in one.training["nets"].items()}
    return replace(first, nets=nets, training=first.training | {"nets": records})


def _row(estimate: Estimate, row: int) -> list[np.ndarray]:
    """Both parts of an estimate, of one window."""
    return [np.asarray(part)[row] for part in estimate]


def fill_gaps(
    sequence: Sequence, drawn: Shaped[np.ndarray, "S W D"]
) -> Shaped[np.ndarray, "S T D"]:
    """Whole sequences; what is observed is written last, so that nothing can move it."""
    start, stop = sequence.gaps[0].start, sequence.gaps[-1].stop
    completed = np.repeat(sequence.values[None], len(drawn), axis=0)
    completed[:, start:stop] = drawn[:, : stop - start]
    return np.where(sequence.missing, completed, sequence.values)


def _mask(missing: Missing, sequence: Sequence) -> Bool[np.ndarray, "T D"]:
    """`missing` in any of its forms, as a mask over values."""
    steps = np.zeros(len(sequence), bool)
    wrong = CaesuraError("`missing` is a slice, a list of steps, or a mask of True and False.")
    try:
        given = np.arange(len(sequence))[missing] if isinstance(missing, slice) else missing
        given = np.asarray(given)
    except (TypeError, ValueError):
        raise wrong from None
    if isinstance(missing, slice) and not given.size:
        raise CaesuraError(f"`missing` holds none of the {len(sequence)} steps.")
    if given.dtype == bool:
        if given.shape == sequence.values.shape:
            return given
        if given.shape != steps.shape:
            raise CaesuraError(
                f"`missing` has the shape {list(given.shape)}, but the sequence has "
                f"{len(sequence)} steps."
            )
        steps = given
    elif given.size:
        if given.dtype.kind not in "iu" or given.ndim != 1:
            raise wrong
        if given.min() < 0 or given.max() >= len(sequence):
            raise CaesuraError(f"`missing` names a step outside 0 to {len(sequence) - 1}.")
        steps[given] = True
    return np.repeat(steps[:, None], sequence.values.shape[1], axis=1)
