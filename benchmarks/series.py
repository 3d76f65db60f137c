"""Imputation of real series by the protocol of TSI-Bench, against its 24 models.

    CAESURA_DATA=data python benchmarks/series.py "ett point01" "beijing point01" --seeds 5
    python benchmarks/series.py "ett point01 steps=500" "ett point01 steps=900 dropout=0.2"
    python benchmarks/series.py "ett point01" --pypots  # and BRITS and SAITS; needs PyPOTS
    python benchmarks/series.py "ett point01" "italy point01" --pool 30s --jobs 16

A run is a set, a pattern of withheld entries, and fields of the recipe. If several of one set and
pattern follow each other, each is trained on the first seed, and the one with the least error on
the withheld entries of the validation part goes on to the test, on all seeds; a seed is one of the
masks and of the training. `calendar=["hour"]` tells the net the hour of the day: the benchmark's
models know it of ETT and Beijing from the place in a window. Errors are in standardised units, on
the withheld entries:

- `valid`, `at once`: the MAE of the medians of the marginals that one pass over all observed values
  gives, on the validation part and on the test part
- `nats`, `valid CRPS`: on the validation part, the mean density of an entry given the earlier ones
  of its window, in nats, and the CRPS of those marginals, in standardised units
- `median`, `mean`: that of the median of the samples and of their mean
- `CRPS`: of their 19 quantiles, over the mean size of a value, as CSDI has it
- `50`, `80`, `95`: the share of the truths inside the central intervals of that coverage
- `linear`: the MAE of interpolation between the nearest entries of a window
- `published`: the best of the benchmark's models

With `--pool`, a Gaussian model of windows is fitted to the training part for so long, and pooled
with the net as `SeriesImputer(adapt="full")` does it. Two more rows are written: of the Gaussian
model alone, and of the pool with its share. Withheld entries of the validation part choose the
share; no model has seen them. `--jobs` Gaussian models are fitted side by side, each on one core,
while the nets are trained.

Seconds are wall-clock, with compilation: of the training, and of all samples of all test windows;
`CPU` is what the training took of all cores together, for machines that others use, too.
"""

import argparse
import csv
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import tsi_bench
from tsi_bench import Part, Seconds, Task

from caesura.filler.rehearsal import CELLS, ROWS
from caesura.filler.rehearsal import Part as Held
from caesura.kinds.series.factors import WindowModel
from caesura.kinds.series.pool import Gap, Pool
from caesura.kinds.series.times import calendar_features, seconds_of
from caesura.nets import bins
from caesura.nets.architecture import Architecture
from caesura.nets.rnn import Net
from caesura.scoring import scores
from caesura.sequence import FrameSpec
from caesura.strategies import BothWays, Window
from caesura.training.loop import Data, fit
from caesura.training.pooling import Drawn, choose_share
from caesura.training.recipe import Recipe, choose, parse_setting
from caesura.training.tuning import fit_model

AT_ONCE = 16  # windows
WINDOWS = 20  # that go to another process together
STRATEGY = BothWays()
COLUMNS = ("set", "pattern", "seed", "model", "valid", "nats", "valid CRPS", "at once", "median")
COLUMNS += ("mean", "CRPS", "50", "80", "95", "fit", "CPU", "sampling", "linear", "published")

# Of a net, windows, and what stands in them in truth.
Answer = Callable[[Net, Window, np.ndarray], Any]


class Run(NamedTuple):
    name: str
    pattern: str
    settings: str

    @staticmethod
    def parse(text: str) -> "Run":
        return Run(*(*text.split(maxsplit=2), "")[:3])

    @property
    def task(self) -> tuple[str, str]:
        return self.name, self.pattern


class Fitted(NamedTuple):
    run: Run
    recipe: Recipe
    net: Net
    calendar: tuple[str, ...]
    seconds: Seconds
    valid: float
    nats: float
    crps: float

    def ask(self, part: Part, answer: Answer) -> np.ndarray:
        return ask(self.net, part, self.calendar, answer)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", help='such as "ett point01 hidden=64"')
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--csv", type=Path, default=Path(os.devnull), help="all rows, as they come")
    parser.add_argument("--pypots", action="store_true")
    parser.add_argument("--pool", type=seconds_of, help="fit a Gaussian model, too: so long")
    parser.add_argument("--jobs", type=int, default=1, help="such models side by side")
    arguments = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", os.cpu_count())  # as the command line does
    runs = list(map(Run.parse, arguments.runs))
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    os.environ.update({} if arguments.pool is None else threads)  # of the other processes
    others = ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn"))
    with open(arguments.csv, "w", newline="") as file, others:
        table, models = Table(file), {}
        if arguments.pool is not None:
            jax.devices()  # this process has its devices: the variable is for the others alone
            models = {
                (*task, seed): others.submit(fit_gaussian, *task, seed, arguments.pool)
                for task in dict.fromkeys(run.task for run in runs)
                for seed in range(arguments.seeds)
            }
        for (name, pattern), tried in groupby(runs, lambda run: run.task):
            measure(name, pattern, list(tried), arguments, table, models, others)


class Table:
    """Rows on the screen and in a file."""

    def __init__(self, file: Any):
        self.file = file
        self.writer = csv.DictWriter(file, COLUMNS)
        self.writer.writeheader()
        print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)

    def add(self, **row: Any) -> None:
        told = {k: f"{v:.4f}" if isinstance(v, float) else str(v) for k, v in row.items()}
        self.writer.writerow(told)
        self.file.flush()
        print(f"| {' | '.join(told.get(column, '') for column in COLUMNS)} |", flush=True)


def measure(
    name: str,
    pattern: str,
    tried: list[Run],
    arguments: Any,
    table: Table,
    models: dict[tuple[str, str, int], "Future[Gaussian]"],
    others: ProcessPoolExecutor,
) -> None:
    tasks = [tsi_bench.load(name, pattern, seed) for seed in range(arguments.seeds)]
    fitted = []
    for run in tried:
        fitted.append(train(run, tasks[0], 0))
        if len(tried) > 1:
            report(table, fitted[-1], tasks[0], 0, 0)
    best = min(fitted, key=lambda one: one.valid)
    for seed, task in enumerate(tasks):
        one = train(best.run, task, seed) if seed else best
        drawn = report(table, one, task, seed, arguments.samples)
        if models:
            found = models[name, pattern, seed].result()
            report_pool(table, one, task, seed, drawn, found, others)
        if arguments.pypots:
            import pypots_models

            for model, valid, test, seconds in pypots_models.measure(task, seed):
                row = {"model": model, "valid": valid, "at once": test, **seconds.told()}
                table.add(set=name, pattern=pattern, seed=seed, **row)


def train(run: Run, task: Task, seed: int) -> Fitted:
    steps, columns = task.train.values.shape[1:]
    settings = {"length": steps} | dict(parse_setting(word) for word in run.settings.split())
    chosen = choose("series", "series", ("calendar",), settings)
    calendar = tuple(chosen.kind_fields.get("calendar", ()))
    recipe = chosen.recipe
    architecture = Architecture(
        net="bidirectional",
        frame=FrameSpec("continuous", columns + 2 * len(calendar), 2 * len(calendar)),
        head=recipe.head or "mixture",
        cell=recipe.cell,
        hidden=recipe.hidden,
        layers=recipe.layers,
        missing_input=recipe.missing_input,
        head_hidden=recipe.head_hidden,
    )
    seen, valid = (
        with_calendar(part.seen, part.moments, calendar) for part in (task.train, task.valid)
    )
    pieces = [np.concatenate(seen)] if task.joined else list(seen)
    key_net, key_fit = jax.random.split(jax.random.key(seed))
    start = Seconds.now()
    net = fit(key_fit, architecture.build(key_net), Data(pieces, list(valid)), recipe).net
    seconds = start.passed()
    medians, of_windows, of_entries = (
        ask(net, task.valid, calendar, one) for one in (one_pass_median, nats, one_pass_crps)
    )
    return Fitted(
        run,
        recipe,
        net,
        calendar,
        seconds,
        tsi_bench.error(medians, task.valid),
        float(of_windows.sum() / task.valid.withheld.sum()),
        float(of_entries[task.valid.withheld].mean()),
    )


def report(table: Table, fitted: Fitted, task: Task, seed: int, samples: int) -> np.ndarray:
    """Report a net, and return its draws of the test part."""
    test = task.test
    row: dict[str, Any] = {
        "model": f"caesura {fitted.run.settings}".strip(),
        "valid": fitted.valid,
        "nats": fitted.nats,
        "valid CRPS": fitted.crps,
        "at once": tsi_bench.error(fitted.ask(test, one_pass_median), test),
        **fitted.seconds.told(),
        "linear": tsi_bench.error(tsi_bench.interpolate(test.seen), test),
        "published": "{} {}".format(*tsi_bench.published(*fitted.run.task)),
    }
    started = time.monotonic()
    drawn = draws_of(fitted, test, samples) if samples else np.empty((0, *test.values.shape))
    if samples:
        row["sampling"] = f"{time.monotonic() - started:.1f}"
        row |= judge(drawn, test)
    table.add(set=fitted.run.name, pattern=fitted.run.pattern, seed=seed, **row)
    return drawn


class Gaussian(NamedTuple):
    model: WindowModel
    rounds: int
    seconds: Seconds


def fit_gaussian(name: str, pattern: str, seed: int, seconds: float) -> Gaussian:
    """Fit a Gaussian model to the training part; some windows of the validation part say when it
    is best."""
    task, start = tsi_bench.load(name, pattern, seed), Seconds.now()
    seen, (windows, steps, columns) = task.train.seen, task.valid.values.shape
    runs = [np.concatenate(seen)] if task.joined else list(seen)
    most = max(1, min(ROWS, CELLS // columns) // steps)
    chosen = np.unique(np.linspace(0, windows - 1, most).round().astype(int)).tolist()
    held = [Held(n, 0, task.valid.values[n], task.valid.withheld[n]) for n in chosen]
    model, rounds = fit_model(runs, held, columns, steps, time.monotonic() + seconds, seed)
    return Gaussian(model, rounds, start.passed())


def report_pool(
    table: Table,
    fitted: Fitted,
    task: Task,
    seed: int,
    drawn_test: np.ndarray,
    found: Gaussian,
    others: ProcessPoolExecutor,
) -> None:
    """Report the Gaussian model alone, and its pool with the net."""
    columns, valid = task.test.values.shape[2], task.valid
    nets = [draws_of(fitted, valid, len(drawn_test)), drawn_test]
    alone = [
        mixed(Pool(found.model, 1.0, columns), part, of_net, seed, others)
        for part, of_net in zip((valid, task.test), nets, strict=True)
    ]
    at = valid.withheld
    truth, column = valid.values[at], np.nonzero(at)[2]
    share = choose_share(
        Drawn(column, truth, np.zeros_like(truth), nets[0][:, at], alone[0][:, at])
    )
    pooled = mixed(Pool(found.model, share, columns), task.test, nets[1], seed, others)
    names = (
        f"gaussian, {found.rounds} rounds",
        f"pool, {share}, {fitted.run.settings}".strip(", "),
    )
    seconds = found.seconds, fitted.seconds
    for name, drawn, took in zip(names, (alone[1], pooled), seconds, strict=True):
        row = {"model": name, **took.told(), **judge(drawn, task.test)}
        table.add(set=fitted.run.name, pattern=fitted.run.pattern, seed=seed, **row)


def draws_of(fitted: Fitted, part: Part, samples: int) -> np.ndarray:
    """Of the net: [samples, windows, T, D]."""
    drawn = fitted.ask(part, lambda net, window, _: draw_fills(net, window, samples))
    return np.moveaxis(drawn, 1, 0).astype(float)


def mixed(
    pool: Pool, part: Part, drawn: np.ndarray, seed: int, others: ProcessPoolExecutor
) -> np.ndarray:
    """Draws of a net, some of them replaced by those of a Gaussian model."""
    filled = drawn.copy()
    numbers = np.flatnonzero(part.withheld.any(axis=(1, 2))).tolist()
    gaps = [Gap(part.values[n], part.withheld[n]) for n in numbers]
    of_net = [drawn[:, n][:, gap.missing] for n, gap in zip(numbers, gaps, strict=True)]
    seeds = [[seed, n] for n in numbers]
    answers = others.map(partial(mix, pool), seeds, gaps, of_net, chunksize=WINDOWS)
    for n, gap, answer in zip(numbers, gaps, answers, strict=True):
        filled[:, n][:, gap.missing] = answer
    return filled


def mix(pool: Pool, seed: list[int], gap: Gap, drawn: np.ndarray) -> np.ndarray:
    return pool.mix(np.random.default_rng(seed), gap, drawn)


def judge(drawn: np.ndarray, part: Part) -> dict[str, float]:
    """Of samples [n, windows, T, D]."""
    samples, truth = drawn[:, part.withheld].astype(float), part.values[part.withheld]
    covered = scores.covered(samples, truth).mean(axis=1)
    return {
        "median": tsi_bench.error(np.median(drawn, axis=0), part),
        "mean": tsi_bench.error(drawn.mean(axis=0), part),
        "CRPS": scores.csdi_crps(samples, truth),
        **dict(zip(("50", "80", "95"), covered.tolist(), strict=True)),
    }


def ask(net: Net, part: Part, calendar: tuple[str, ...], answer: Answer) -> np.ndarray:
    """What is answered of all windows, some at a time; the last of them are filled up."""
    values = with_calendar(part.values, part.moments, calendar)
    missing = np.pad(part.withheld, [(0, 0), (0, 0), (0, 2 * len(calendar))])
    answers = []
    for first in range(0, len(values), AT_ONCE):
        rows = np.minimum(np.arange(first, first + AT_ONCE), len(values) - 1)
        window = whole(net, values[rows], missing[rows])
        answers.append(np.asarray(answer(net, window, values[rows])))
    return np.concatenate(answers)[: len(values), ..., : part.values.shape[2]]


def with_calendar(values: np.ndarray, moments: np.ndarray, calendar: tuple[str, ...]) -> np.ndarray:
    features = calendar_features(moments.reshape(-1), calendar).reshape(*moments.shape, -1)
    return np.concatenate([values, features], axis=2).astype(np.float32)


def whole(net: Net, values: np.ndarray, missing: np.ndarray) -> Window:
    """Windows with nothing around them; what the data lack is neither seen nor filled."""
    outside = jax.tree.map(lambda h: jnp.broadcast_to(h, (len(values), *h.shape)), net.initial())
    known = jnp.asarray(np.where(missing, 0, values), jnp.float32)
    everywhere = jnp.ones(values.shape[:2], bool)
    return Window(known, jnp.asarray(missing), everywhere, outside.forward, outside.backward)


def one_pass_median(net: Net, window: Window, truth: np.ndarray) -> np.ndarray:
    return one_pass(net, window, lambda log_probs, missing: bins.quantile(log_probs, 0.5))


def one_pass_crps(net: Net, window: Window, truth: np.ndarray) -> np.ndarray:
    return one_pass(net, window, lambda log_probs, missing: bins.crps(log_probs, truth[missing]))


def one_pass(net: Net, window: Window, summary: Callable[..., np.ndarray]) -> np.ndarray:
    missing = np.asarray(window.missing)
    marginals = STRATEGY.marginals(jax.random.key(0), net, window).values.log_prob
    found = np.zeros(missing.shape)
    found[missing] = summary(np.asarray(marginals)[missing], missing)
    return found


def nats(net: Net, window: Window, truth: np.ndarray) -> np.ndarray:
    fills = jnp.asarray(truth)[:, None]
    log_prob = STRATEGY.log_prob(jax.random.key(0), net, window, fills).log_prob
    return np.asarray(log_prob)[:, :, None]  # [windows, 1, 1]


def draw_fills(net: Net, window: Window, samples: int) -> jax.Array:
    return STRATEGY.draw(jax.random.key(1), net, window, samples)


if __name__ == "__main__":
    main()
