"""Would a calibration after training make better intervals?

    python benchmarks/calibrate_after.py "ett block05" "italy point01" --seeds 2

As in series.py, a run is a set, a pattern and fields of the recipe. The share of the truths inside
the central intervals of 50, 80 and 95 %, and the CRPS, on the hidden entries of the validation part
and of the test part:

- `as trained`
- `widths`: one number a column widens or narrows all parts of its mixtures; chosen by the
  likelihood of the validation part under the holes that training makes
- `levels`: wider or narrower intervals of the same draws, those that hold 50, 80 and 95 % of the
  hidden entries of the validation part
"""

import argparse
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import series
import tsi_bench

from caesura.hardware import tuning_for
from caesura.nets.rnn import Net
from caesura.scoring import scores
from caesura.training.batches import Chunks, Example, hide
from caesura.training.objectives import total_objective

UPDATES = 60
STEP = 0.03


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", help='such as "ett point01 hidden=64"')
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--samples", type=int, default=100)
    arguments = parser.parse_args()
    print("| run | seed | calibration | valid | CRPS | test | CRPS |\n" + "|---" * 7 + "|")
    for run in map(series.Run.parse, arguments.runs):
        for seed in range(arguments.seeds):
            measure(run, seed, arguments.samples)


def measure(run: series.Run, seed: int, samples: int) -> None:
    task = tsi_bench.load(run.name, run.pattern, seed)
    parts = task.valid, task.test
    trained = series.train(run, task, seed)
    pieces = list(series.with_calendar(task.valid.seen, task.valid.moments, trained.calendar))
    widths = fit_widths(trained, pieces)
    widened = trained._replace(net=widen(trained.net, widths))
    drawn = [draw(trained, part, samples) for part in parts]
    off = [off_centre(some, part) for some, part in zip(drawn, parts, strict=True)]
    wanted = np.array(scores.COVERAGES)
    held = [np.mean(o[:, None] <= np.quantile(off[0], wanted), axis=0) for o in off]
    rows = {
        "as trained": [judge(some, part) for some, part in zip(drawn, parts, strict=True)],
        f"widths × {np.exp(widths.min()):.2f} to {np.exp(widths.max()):.2f}": [
            judge(draw(widened, part, samples), part) for part in parts
        ],
        "levels": [[told(shares), "–"] for shares in held],
    }
    for name, (valid, test) in rows.items():
        print(f"| {' | '.join([' '.join(run), str(seed), name, *valid, *test])} |", flush=True)


def judge(drawn: np.ndarray, part: tsi_bench.Part) -> list[str]:
    found = series.judge(drawn, part)
    return [told([found[share] for share in ("50", "80", "95")]), f"{found['CRPS']:.4f}"]


def told(shares: Any) -> str:
    return " / ".join(f"{100 * share:.0f}" for share in shares)


def draw(fitted: series.Fitted, part: tsi_bench.Part, samples: int) -> np.ndarray:
    """[samples, windows, T, D]."""
    drawn = fitted.ask(part, lambda net, window, _: series.draw_fills(net, window, samples))
    return np.moveaxis(drawn, 1, 0)


def off_centre(drawn: np.ndarray, part: tsi_bench.Part) -> np.ndarray:
    """The smallest central interval that holds each truth: its share of the distribution."""
    below = np.mean(drawn[:, part.hidden] < part.values[part.hidden], axis=0)
    return np.asarray(2 * np.abs(below - 0.5))


def fit_widths(fitted: series.Fitted, pieces: list[np.ndarray]) -> np.ndarray:
    """The logs, one a column."""
    recipe = fitted.recipe
    chunks = Chunks(pieces, recipe)
    keys = jax.random.split(jax.random.key(7), len(chunks.values))
    of_rows = jax.vmap(partial(hide, recipe=recipe), out_axes=1)
    example = of_rows(keys, chunks.values, chunks.valid)
    tuning, optimiser = tuning_for(recipe), optax.adam(STEP)

    def nll(log_widths: jax.Array, net: Net, example: Example) -> jax.Array:
        # With the same components shown each time, and without dropout.
        wide = widen(net, log_widths)
        total = total_objective(wide, example, tuning, jax.random.key(8), dropout=0.0)
        return total.nll / total.steps

    @eqx.filter_jit
    def minimise(net: Net, example: Example) -> jax.Array:
        def update(state: Any, _: None) -> tuple[Any, None]:
            log_widths, moments = state
            gradient = jax.grad(nll)(log_widths, net, example)
            change, moments = optimiser.update(gradient, moments)
            return (log_widths + change, moments), None

        start = jnp.zeros(net.frame.components)
        (found, _), _ = jax.lax.scan(update, (start, optimiser.init(start)), length=UPDATES)
        return found

    return np.asarray(minimise(fitted.net, example))


def widen(net: Net, log_widths: Any) -> Net:
    """With so much more in the biases of the logs of all scales."""
    bias = net.head.b_y.reshape(len(log_widths), 3, -1).at[:, 2].add(log_widths[:, None])
    return eqx.tree_at(lambda net: net.head.b_y, net, bias.reshape(-1))


if __name__ == "__main__":
    main()
