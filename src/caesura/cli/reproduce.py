"""`caesura reproduce`: the paper's tables and figures, in a run that can be stopped and resumed."""

import shlex
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from caesura.cli.interruption import Interruption
from caesura.cli.options import DataDirectory, Json, documented
from caesura.cli.output import answer_json, note
from caesura.errors import lookup
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
    """
    chosen = items or ["all"]
    for name in chosen:
        lookup(dict.fromkeys((*ITEMS, MODELS, "pages", "all")), name, "item")
    with_pages = not {"all", "pages"}.isdisjoint(chosen)
    if with_pages:
        from caesura.plots import check_picture

        check_picture("page.png")
    from caesura.hardware import use_all_cores

    use_all_cores()
    told: dict[str, Any] = {"folder": str(output)}
    if set(chosen) != {"pages"}:
        from caesura.reproduce.plan import read_plan

        told |= _work(read_plan(plan).only(dataset or [], recipe or []), chosen, output, folder)
    if with_pages:
        from caesura.reproduce.page import write_pages

        told["page"] = str(write_pages(output))
    if json:
        answer_json(told)
    else:
        _show(told)


def _work(part: "Plan", chosen: list[str], output: Path, folder: Path | None) -> dict[str, Any]:
    from caesura.reproduce.run import reproduce
    from caesura.training.loop import Stopped

    wanted = list(part.items) if "all" in chosen else [c for c in chosen if c in ITEMS]
    for name in wanted:
        lookup(part.items, name, "item in the plan")
    if MODELS in chosen:
        wanted.append(MODELS)
    with Interruption() as interruption:
        try:
            return vars(reproduce(part, wanted, output, folder, _Shown(interruption)))
        except Stopped:
            note(f"Stopped; to continue: {shlex.join(['caesura', *sys.argv[1:]])}")
            raise typer.Exit(128 + interruption.signal) from None


class _Shown(Watch):
    """Shows progress on stderr, and stops at a signal."""

    def __init__(self, interruption: Interruption) -> None:
        self.interruption = interruption

    def note(self, sentence: str) -> None:
        note(sentence)

    def stopped(self) -> bool:
        return self.interruption.asked()

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
