"""A bar of a piece, taken out and filled again: its notes against those of the truth and of rivals.

    python benchmarks/bars.py FILES... [--model music] [--gaps 60] [--strategies sir,onegram]

FILES are MIDI or MusicXML files, or directories of them. Gaps are spread evenly over the pieces,
and over the bars of a piece: bars as long as both of their neighbours, in which notes begin. The
rivals are a copy of the bar before, one of the bar after, and the bar's echo: a copy of the place
in the piece where most around it is alike (`caesura.kinds.music.echo`). An answer of the model is
an echo where it is expected to be better than the random fills; "draws" is the best of these alone.
The second table has the gaps in five groups, by how much the surroundings of the echo resemble
those of the gap, on the grid of the model.

Two notes are the same if they have the same pitch and begin at the same sixteenth. "F1" is that of
the notes that begin in the bar, and "sounding" that of the keys that sound at each sixteenth; both
are means over the gaps. "notes" is the number of notes as a share of the truth's, "pitch classes"
the distance of their histograms from the truth's (0 to 1, mean over the gaps), "dissonant" the
share of the pairs of keys sounding together that are seconds, sevenths or tritones, and "range" the
semitones from the lowest to the highest note of a bar.
"""

import argparse
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

import caesura
from caesura.errors import CaesuraError
from caesura.kinds import Composition
from caesura.kinds.music.echo import find_echo
from caesura.kinds.music.items import SongItem

FINE = 4  # steps to the quarter note at which notes are compared
DISSONANT = (1, 2, 6, 10, 11)  # semitones, octaves left out


class Bar(NamedTuple):
    """What begins and what sounds in a bar, in sixteenths from its start."""

    begins: frozenset[tuple[int, int]]  # (sixteenth, MIDI number)
    sounds: frozenset[tuple[int, int]]
    length: Fraction


def bar_of(item: SongItem, number: int) -> Bar:
    """A bar of a piece, counted from 0."""
    ticks = item.grid.ticks_per_beat
    lines = [*(bar.start for bar in item._bars), Fraction(item.song.end, ticks)]
    start, stop = lines[number], lines[number + 1]
    begins, sounds = set(), set()
    for lane in item.lanes:
        for note in lane.notes:
            on, off = Fraction(note.on_tick, ticks), Fraction(note.off_tick, ticks)
            pitch = lane.key + 21
            first, last = round((on - start) * FINE), round((off - start) * FINE)
            if start <= on < stop:
                begins.add((first, pitch))
            if on < stop and off > start:
                inside = range(max(first, 0), min(max(last, first + 1), int((stop - start) * FINE)))
                sounds |= {(step, pitch) for step in inside}
    return Bar(frozenset(begins), frozenset(sounds), stop - start)


def f1(found: frozenset, truth: frozenset) -> float:
    total = len(found) + len(truth)
    return 2 * len(found & truth) / total if total else 1.0


def pitch_classes(bar: Bar) -> np.ndarray:
    counts = np.bincount([pitch % 12 for _, pitch in bar.sounds], minlength=12).astype(float)
    return counts / max(counts.sum(), 1)


def dissonance(bar: Bar) -> tuple[int, int]:
    """Pairs of keys that sound together: those that are dissonant, and all."""
    pairs = [
        (high - low) % 12
        for step, low in bar.sounds
        for other, high in bar.sounds
        if step == other and low < high
    ]
    return sum(interval in DISSONANT for interval in pairs), len(pairs)


def span(bar: Bar) -> int:
    pitches = [pitch for _, pitch in bar.sounds] or [0]
    return max(pitches) - min(pitches)


class Gap(NamedTuple):
    """A bar of a piece that can be taken out."""

    item: SongItem
    bar: int  # counted from 0
    truth: Bar
    before: Bar
    after: Bar


def find_gaps(kind, paths: list[Path], count: int) -> list[Gap]:
    """Gaps spread evenly over the pieces; what cannot be read is left out, and said so."""
    files = kind.find(paths)
    chosen = np.linspace(0, len(files) - 1, min(count, len(files))).round().astype(int)
    each = -(-count // len(chosen))
    gaps: list[Gap] = []
    for path in (files[i] for i in chosen):
        try:
            item = kind.open(path)
        except CaesuraError as error:
            print(f"Left out: {error}")
            continue
        total = len(item._bars)
        bars = [bar_of(item, number) for number in range(total)]
        fit = [
            number
            for number in range(1, total - 1)
            if bars[number].begins
            and bars[number - 1].length == bars[number].length == bars[number + 1].length
        ]
        places = np.linspace(0, len(fit) - 1, each + 2).round()[1:-1].astype(int) if fit else []
        for at in (fit[place] for place in np.unique(places)):
            gaps.append(Gap(item, at, bars[at], bars[at - 1], bars[at + 1]))
    return [gaps[i] for i in np.linspace(0, len(gaps) - 1, min(count, len(gaps))).astype(int)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--model", default="music")
    parser.add_argument("--gaps", type=int, default=60)
    parser.add_argument("--strategies", help="with commas between; 'none' runs no net")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    filler = caesura.load(asked.model)
    gaps = find_gaps(filler.kind, asked.files, asked.gaps)
    print(f"{len(gaps)} gaps of one bar in {len({id(gap.item) for gap in gaps})} pieces")
    print("| bar | F1 | sounding | notes | pitch classes | dissonant | range |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    found = [echo_of(gap) for gap in gaps]
    show("the truth", [gap.truth for gap in gaps], gaps)
    show("the bar before", [gap.before for gap in gaps], gaps)
    show("the bar after", [gap.after for gap in gaps], gaps)
    show("the echo", [bar for _, bar in found], gaps)
    named = filler.strategy if asked.strategies is None else asked.strategies
    for strategy in [] if named == "none" else named.split(","):
        answers, draws = filled(filler, gaps, strategy, asked.seed)
        show(f"{asked.model}, {strategy}", answers, gaps)
        show(f"{asked.model}, {strategy}: draws", draws, gaps)
    print("\n| resemblance | sounding: the echo | the bar before | the bar after |")
    print("|---:|---:|---:|---:|")
    order = np.argsort([resemblance for resemblance, _ in found])
    for group in np.array_split(order, 5):
        rows = [
            (
                found[i][0],
                f1(found[i][1].sounds, gaps[i].truth.sounds),
                f1(gaps[i].before.sounds, gaps[i].truth.sounds),
                f1(gaps[i].after.sounds, gaps[i].truth.sounds),
            )
            for i in group
        ]
        print("| " + " | ".join(f"{mean:.2f}" for mean in np.mean(rows, axis=0)) + " |")


def echo_of(gap: Gap) -> tuple[float, Bar]:
    """How much the surroundings of the echo resemble those of the gap, and the echo written."""
    arranged = arrange(gap)
    echo = find_echo(arranged.sequence, arranged.sequence.gaps[0])
    values = arranged.sequence.values.copy()
    if echo is not None:
        values[arranged.missing.any(axis=1)] = echo.values
    filled = replace(gap.item, original=arranged.write(values, arranged.missing), wanted=None)
    return 0.0 if echo is None else echo.resemblance, bar_of(filled, gap.bar)


def arrange(gap: Gap) -> SongItem:
    """The piece without the bar."""
    first = gap.bar + gap.item.first_bar
    return Composition(gaps=((first, first + 1),)).arrange(gap.item)


def filled(filler, gaps: list[Gap], strategy: str, seed: int) -> tuple[list[Bar], list[Bar]]:
    """The bars as the filler fills them, each by itself, and as the best of its draws does."""
    answers, best_draws = [], []
    for number, gap in enumerate(gaps):
        draws = filler.kind.draws
        fill = filler.fill(
            arrange(gap), strategy=strategy, seed=seed + number, draws=draws, samples=draws
        )
        drawn = next(one.sequence for one in fill.candidates if one.sequence in fill.samples)
        for bars, filled in ((answers, fill.best), (best_draws, drawn)):
            bars.append(bar_of(filler.kind.open(filled), gap.bar))
    return answers, best_draws


def show(name: str, bars: list[Bar], gaps: list[Gap]) -> None:
    truths = [gap.truth for gap in gaps]
    pairs = list(zip(bars, truths, strict=True))
    notes = sum(len(bar.begins) for bar in bars) / sum(len(truth.begins) for truth in truths)
    distance = np.mean([np.abs(pitch_classes(b) - pitch_classes(t)).sum() / 2 for b, t in pairs])
    dissonant, together = np.sum([dissonance(bar) for bar in bars], axis=0)
    numbers = [
        np.mean([f1(b.begins, t.begins) for b, t in pairs]),
        np.mean([f1(b.sounds, t.sounds) for b, t in pairs]),
        notes,
        distance,
        dissonant / max(together, 1),
    ]
    told = " | ".join(f"{number:.3f}" for number in numbers)
    print(f"| {name} | {told} | {np.mean([span(bar) for bar in bars]):.1f} |", flush=True)


if __name__ == "__main__":
    main()
