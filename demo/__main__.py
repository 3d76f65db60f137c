"""Fill gaps in some texts, a tune and a series, and show the results on one page."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console

import caesura
from caesura.files import make_folder, write_text
from caesura.plots import plot_filled, save_picture
from demo import terminal
from demo.bars import refill
from demo.carbon import fill_weeks
from demo.page import write_page
from demo.restoration import CONTEST, CONTESTANTS, TEXTS, restore
from demo.tune import ERASED, song

OUT = Path(__file__).parent / "out"


def main(
    folder: Path = OUT,
    load: Callable[[str], caesura.Filler] = caesura.load,
) -> None:
    """Write everything into one folder. `load` gives the models 'text' and 'music'."""
    began = time.perf_counter()
    console = Console(highlight=False)
    terminal.greet(console)
    # Most of the time is compilation, which uses one core: so all parts run side by side.
    with console.status("One moment: programs are being compiled"), ThreadPoolExecutor() as pool:
        refilling = pool.submit(refill, load("music"), song(), ERASED)
        measuring = pool.submit(fill_weeks)
        filler = load("text")
        restorations = []
        for title, text in TEXTS.items():
            restorations.append(restore(filler, title, text))
            terminal.show(console, restorations[-1])
        contest = [restore(filler, strategy, CONTEST, strategy) for strategy in CONTESTANTS]
        terminal.show_contest(console, contest)
        refilled = refilling.result()
        weeks = measuring.result()
    terminal.show_bars(console, refilled)
    terminal.show_weeks(console, weeks)
    make_folder(folder)
    for name, version in refilled.songs.items():
        version.save(folder / f"{name}.mid")
        version.save(folder / f"{name}.wav")
    save_picture(refilled.fill.plot(), folder / "filled.png")
    save_picture(plot_filled([weeks.filled], "90 % interval"), folder / "co2.png")
    write_text(folder / "index.html", write_page(restorations, contest, refilled, weeks))
    terminal.farewell(console, folder, time.perf_counter() - began)


if __name__ == "__main__":
    main()
