"""The few shapes that the stretches of a model's requests are padded to, compiled one by one."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from caesura.filler.passes import fill_pass
from caesura.filler.stretches import Stretch
from caesura.filler.tasks import PART, Method, Task
from caesura.hardware import sequence_length
from caesura.kinds.base import Kind
from caesura.sequence import Sequence, Span


class Shape(NamedTuple):
    """What a program is compiled for."""

    name: str
    run: Callable[[], object]  # on zeros; the first time compiles
    work: int = 0  # of another run, as of `Filler.work`; 0 if it is less than a fill


def shapes(kind: Kind, method: Method) -> Iterator[Shape]:
    """Yield the shapes of all stretches that a strategy fills for a kind of data.

    There are none if nothing is compiled. Together they hold everything that fills,
    log-probabilities and marginals need, if the method runs windows one by one (`Method.alone`).
    """
    if method.in_numpy:
        return
    widest = method.strategy.stop(kind.stretch, kind.stretch + kind.around)
    longest = kind.stretch + 2 * kind.around
    for width in _up_to(widest, method.strategy.padded):
        stretch = _two_steps(method, width)
        run = partial(fill_pass, method, [Task(stretch, 0, 0, PART, PART)])
        yield Shape(f"windows of {width} steps", run, method.work(stretch, PART))
    for length in _up_to(longest, sequence_length):
        yield Shape(f"sequences of {length} steps", partial(_read, method, length))


def _up_to(most: int, padded: Callable[[int], int]) -> list[int]:
    return sorted({padded(n) for n in range(1, most + 1)})


def _two_steps(method: Method, width: int) -> Stretch:
    """Return a stretch with a wide window that is soon filled: a step is missing at each end."""
    last = width - 1
    while method.strategy.stop(last + 1, 2 * width) > width:
        last -= 1
    return _stretch(method, 2 * width, (0, last))


def _read(method: Method, length: int) -> None:
    method.window([_stretch(method, length, (0,))])


def _stretch(method: Method, length: int, places: tuple[int, ...]) -> Stretch:
    frame = method.net.frame
    missing = np.zeros((length, frame.components), bool)
    missing[list(places)] = frame.fillable
    dtype = np.float32 if frame.spec.name == "continuous" else np.int32
    seen = Sequence(np.zeros(missing.shape, dtype), missing)
    inside = Span(places[0], places[-1] + 1)
    return Stretch(seen, inside, 0, seen, inside)
