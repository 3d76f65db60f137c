"""`caesura reproduce`: the paper's tables and figures, in a run that can be stopped and resumed."""

import math
import shlex
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from caesura.cli.interruption import Interruption
from caesura.cli.options import DataDirectory, Json, documented
from caesura.cli.output import answer_json, note
from caesura.errors import CaesuraError, lookup, whole_number
from caesura.reproduce.paper import ITEMS
from caesura.reproduce.results import MODELS
from caesura.reproduce.watch import Watch
from caesura.training.progress import Count, Report, counting, showing

if TYPE_CHECKING:
    from caesura.reproduce.plan import Plan


@documented
def reproduce(
    output: Path,
    items: list[str] | None = None,
    plan: Path | None = None,
    dataset: list[str] | None = None,
    recipe: list[str] | None = None,
    minutes: float | None = None,
    nets: int | None = None,
    folder: DataDirectory = None,
    json: Json = False,
) -> None:
    """Reproduce the tables and figures of the paper.

    Each result is added to DIRECTORY/reproduce.csv as soon as it is computed. Results in that file
    are not computed again, and nets whose models are in DIRECTORY/models are not trained again, so
    the same command continues after any interruption. `all` and `pages` also write
    DIRECTORY/reproduce.md and its pictures.

    Parameters
    ----------
    output : --out DIRECTORY
        The directory of the table of results, the page, the models and the checkpoints.
    items : ITEM
        What to measure: table1, table2, table3, figure2 or figure3; or models to only train; pages
        to only make the page from the table of results; all for everything. Default: all.
    plan : --plan FILE
        A TOML file that says what is trained and measured. Default: the whole paper.
    dataset : --dataset NAME
        Only this data set; may be given several times. Default: all of the plan.
    recipe : --recipe NAME
        Only this recipe; may be given several times. Default: all of the plan.
    minutes : --minutes NUMBER
        Stop after about so many minutes, with everything saved. A training can only stop between
        updates, so the first minute, in which it is compiled, may be added. Default: no limit.
    nets : --nets NUMBER
        How many nets one program trains at most. Nets of one shape, such as those of all learning
        rates, are trained together. More nets keep a GPU busier and take more memory. Default: 27.
    """
    chosen = items or ["all"]
    for name in chosen:
        lookup(dict.fromkeys((*ITEMS, MODELS, "pages", "all")), name, "item")
    with_pages = not {"all", "pages"}.isdisjoint(chosen)
    if with_pages:
        from caesura.plots import check_picture

        check_picture("page.png")
    from caesura.hardware import keep_memory, use_all_cores

    keep_memory()
    use_all_cores()
    told: dict[str, Any] = {"folder": str(output)}
    if set(chosen) != {"pages"}:
        from caesura.reproduce.plan import read_plan

        part = read_plan(plan).only(dataset or [], recipe or [])
        limits = _Limits(minutes, nets)
        told |= _work(part, chosen, output, folder, limits)
    if with_pages:
        from caesura.reproduce.page import write_pages

        told["page"] = str(write_pages(output))
    if json:
        answer_json(told)
    else:
        _show(told)


class _Limits(NamedTuple):
    """How long a run may take, and how many nets it may train at once."""

    minutes: float | None
    nets: int | None

    def check(self) -> None:
        """Raise for a limit that leaves nothing to do."""
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise CaesuraError(f"The option 'minutes' is a number above 0, not {self.minutes}.")
        if self.nets is not None:
            whole_number("nets", self.nets, 1)


def _work(
    part: "Plan", chosen: list[str], output: Path, folder: Path | None, limits: _Limits
) -> dict[str, Any]:
    from caesura.reproduce.run import reproduce
    from caesura.reproduce.trainer import MOST_NETS

    limits.check()
    wanted = list(part.items) if "all" in chosen else [c for c in chosen if c in ITEMS]
    for name in wanted:
        lookup(part.items, name, "item in the plan")
    if MODELS in chosen:
        wanted.append(MODELS)
    with Interruption() as interruption:
        watch = _Shown(interruption, limits.minutes)
        summary = reproduce(part, wanted, output, folder, watch, limits.nets or MOST_NETS)
        note(str(summary.left))
        if summary.stopped:
            note(f"Stopped; to continue: {shlex.join(['caesura', *sys.argv[1:]])}")
            if interruption.asked():
                raise typer.Exit(128 + interruption.signal)
    return asdict(summary)


class _Shown(Watch):
    """Shows progress on stderr, and stops at a signal or when the time is over."""

    def __init__(self, interruption: Interruption, minutes: float | None) -> None:
        self.interruption = interruption
        self.end = math.inf if minutes is None else time.monotonic() + 60 * minutes

    def note(self, sentence: str) -> None:
        note(sentence)

    def stopped(self) -> bool:
        return self.interruption.asked() or time.monotonic() > self.end

    def training(self, name: str) -> AbstractContextManager[Report]:
        note(f"training: {name}")
        return showing()

    def scoring(self, name: str) -> AbstractContextManager[Count]:
        note(name)
        return counting(f"{name}: gaps")


def _show(told: dict[str, Any]) -> None:
    if "trained" in told:
        print(
            f"{told['trained']} nets trained, {told['computed']} results computed, "
            f"{told['found']} found in '{told['folder']}'."
        )
    if "page" in told:
        print(f"The page is '{told['page']}'.")
