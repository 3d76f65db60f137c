"""What a filler answers with."""

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from caesura.errors import CaesuraError
from caesura.kinds import Song
from caesura.kinds.series.table import is_frame
from caesura.plots import plot_roll, plot_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class LogProb(float):
    """A log-probability in nats that knows its standard error, which is zero where it is exact."""

    standard_error: float

    def __new__(cls, log_prob: float, standard_error: float) -> "LogProb":
        """A float with one more number."""
        number = super().__new__(cls, log_prob)
        number.standard_error = standard_error
        return number

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.standard_error

    def __repr__(self) -> str:
        error = f" ± {self.standard_error:.2g}" if self.standard_error else ""
        return f"{float(self):.6g}{error}"


@dataclass(frozen=True, eq=False)
class Fill:
    """Completed sequences in the user's own form, and how sure the model is of them."""

    best: Any  # the most probable of the samples
    samples: list[Any]
    log_probs: Float[np.ndarray, " samples"]  # nats of all missing values together
    standard_errors: Float[np.ndarray, " samples"]
    places: Int[np.ndarray, "places 2"]  # step and component of each missing value
    confidence: Float[np.ndarray, " places"]  # the probability of what `best` has there
    strategy: str
    seed: int
    values: Shaped[np.ndarray, "T D"]  # `best` as the model sees it

    def to_json(self) -> str:
        """Everything but the values, as one JSON object; an unknown standard error is null.

        An array is a list of lists, a table an object of columns, index and data, and a song the
        base64 of its MIDI file.
        """
        errors = [e if np.isfinite(e) else None for e in self.standard_errors]
        told = vars(self) | {"standard_errors": errors}
        del told["values"]
        return json.dumps(told, default=_plain, ensure_ascii=False)

    def plot(self) -> "Figure":
        """A matplotlib figure of `best`: what is new in it, and how sure the model is of that."""
        if self.values.dtype.kind == "f":
            raise CaesuraError(
                "A series is drawn with its quantiles, by `caesura.plots.plot_filled`."
            )
        if isinstance(self.best, str):
            return plot_text(self.best, self.places[:, 0], self.confidence)
        return plot_roll(self.values, self.places, self.confidence)


def _plain(value: Any) -> Any:
    if isinstance(value, Song):
        return base64.b64encode(value.to_bytes()).decode("ascii")
    if is_frame(value):
        return json.loads(value.to_json(orient="split", date_format="iso", double_precision=15))
    if value.dtype.kind == "f":  # NaN, in a column that is left as it is, is no JSON
        value = np.where(np.isnan(value), np.array(None), value)
    return value.tolist()


@dataclass(frozen=True, eq=False)
class Marginals:
    """The distribution at each missing place by itself."""

    places: Int[np.ndarray, "places 2"]  # step and component
    symbols: list[Any]  # what the K columns stand for
    log_probs: Float[np.ndarray, "places K"]
    standard_errors: Float[np.ndarray, "places K"]

    def top(self, n: int) -> list[list[tuple[Any, float]]]:
        """The n likeliest symbols at each place, with their probabilities."""
        order = np.argsort(-self.log_probs, axis=1)[:, :n]
        return [
            [(self.symbols[k], float(np.exp(row[k]))) for k in likeliest]
            for row, likeliest in zip(self.log_probs, order, strict=True)
        ]
