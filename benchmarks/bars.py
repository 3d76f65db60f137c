"""A stretch of a piece, taken out and filled again: its notes against the truth and rivals.

    python benchmarks/bars.py scores/*/test --model music.model --what beat,bar,two-bars,part \\
        --strategies bothways,onegram --json FILE

It takes directories of MIDI or MusicXML files, each of which is a set, or single files. There is a
table for each set and one for all sets. `--what` is what is taken out: a beat, a bar, two bars, or
one part (a voice or a track) over one bar. Gaps are spread evenly over the pieces of a set, and
over a piece: stretches as long as both of their neighbours, in which notes begin. For `part`, the
parts take turns, and music of a single part is left out.

The rivals are a copy of the stretch before, one of the stretch after, and the echo: a copy of the
place in the piece where most around it is alike (`caesura.kinds.music.echo`). For `part`, they are
copies of the same part, without the echo. An answer of the model is an echo where it is expected to
be better than the random fills; "draws" is the best of these alone. Of `onegram`, it is the best
draw that is shown.

All notes are compared on the grid of the model, as frames of keys that are silent, held or struck.
What is written is read again as the same frames. Two notes are the same if they have the same pitch
and begin at the same step. "F1" is that of the notes that begin in the gap, and "sounding" that of
the keys that sound at each step; both are means over the gaps. "notes" is the number of notes as a
share of the truth's, "pitch classes" the distance of their histograms from the truth's (0 to 1,
mean over the gaps), "dissonant" the share of the pairs of keys sounding together that are seconds,
sevenths or tritones (for `part`, with the other parts), and "range" the semitones from the lowest
to the highest note. "nats" are those of the truth by the strategy. The better neighbour is the one
of the two whose mean F1 is higher; "above : below" counts the gaps whose F1 is above and below its
F1.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import caesura
from caesura import Request, pretrained
from caesura.errors import CaesuraError
from caesura.kinds import Composition
from caesura.kinds.music.echo import find_echo
from caesura.kinds.music.items import SongItem
from caesura.kinds.music.roll import KEYS
from caesura.kinds.music.struck import STRUCK, make_frames, settle
from caesura.modelfile import read_info
from caesura.sequence import Sequence, Span

BAR, BEAT = KEYS, KEYS + 1  # the switches of the first step of a bar, and of a beat
WHAT = {"beat": (BEAT, 1), "bar": (BAR, 1), "two-bars": (BAR, 2), "part": (BAR, 1)}
PAIRS = np.subtract.outer(np.arange(KEYS), np.arange(KEYS))
DISSONANT = np.isin(PAIRS % 12, (1, 2, 6, 10, 11)) & (PAIRS > 0)  # octaves left out
BEFORE, AFTER = "the stretch before", "the stretch after"
NUMBERS = ("F1", "sounding", "notes", "pitch classes", "dissonant")
COLUMNS = (*NUMBERS, "range", "nats", "above : below")


class Gap(NamedTuple):
    """A stretch of a piece that is taken out: what is missing of the keys, and rivals for it."""

    piece: SongItem
    item: SongItem  # the piece, or if only a part is taken out, one that says so itself
    lost: np.ndarray  # what is missing of the whole piece, [steps, components]
    span: Span
    missing: np.ndarray  # of the stretch, [steps, keys]
    truth: np.ndarray
    before: np.ndarray
    after: np.ndarray

    @property
    def asked(self) -> np.ndarray | None:
        """What a filler is told to be missing."""
        return self.lost if self.item is self.piece else None

    def filled(self, piece: np.ndarray) -> np.ndarray:
        """The stretch with the keys of a piece where they are missing."""
        return np.where(self.missing, piece[self.span.start : self.span.stop, :KEYS], self.truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--model", default="music")
    parser.add_argument("--what", default="bar", help="with commas between")
    parser.add_argument("--gaps", type=int, default=60, help="of each set")
    parser.add_argument("--strategies", help="with commas between; 'none' runs no net")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    try:
        measure(asked)
    except CaesuraError as error:
        sys.exit(f"Error: {error}")


def measure(asked: argparse.Namespace) -> None:
    filler = caesura.load(asked.model)
    if not filler.kind.struck:  # type: ignore[attr-defined]
        raise CaesuraError("The model does not tell a note that is struck from one that is held.")
    named = filler.strategy if asked.strategies is None else asked.strategies
    strategies = [] if named == "none" else named.split(",")
    kinds_of_gap = asked.what.split(",")
    for what in set(kinds_of_gap) - set(WHAT):
        raise CaesuraError(f"'{what}' is none of {', '.join(WHAT)}.")
    found: dict[str, dict[str, Fills]] = {what: {} for what in kinds_of_gap}
    tables: dict[str, dict[str, Any]] = {what: {} for what in kinds_of_gap}
    for folder in asked.sets:
        name = folder.parent.name if folder.name in ("train", "valid", "test") else folder.name
        pieces = open_spread(filler.kind, folder, asked.gaps)
        for what in kinds_of_gap:
            gaps = find_gaps(pieces, what, asked.gaps)
            if not gaps:
                print(f"\n{name} has no gap for `{what}`.")
                continue
            found[what][name] = fill_all(filler, gaps, strategies, asked.seed)
            tables[what][name] = table(found[what][name])
            show(what, name, tables[what][name])
    for what, sets in found.items():
        if len(sets) > 1:
            tables[what]["all"] = table(join(list(sets.values())))
            show(what, "all", tables[what]["all"])
    if asked.json is not None:
        sha256 = read_info(pretrained.find_model(asked.model))["sha256"]
        document = {"sha256": sha256, "gaps": asked.gaps, "seed": asked.seed, "tables": tables}
        asked.json.write_text(json.dumps(document, indent=1) + "\n")


def open_spread(kind: Any, path: Path, most: int) -> list[SongItem]:
    """Return pieces spread evenly over a directory; what cannot be read is left out."""
    files, pieces = kind.find([path]), []
    for number in np.linspace(0, len(files) - 1, min(most, len(files))).round().astype(int):
        try:
            pieces.append(kind.open(files[number]))
        except CaesuraError as error:
            print(f"Left out: {error}")
    return pieces


def find_gaps(pieces: list[SongItem], what: str, count: int) -> list[Gap]:
    """Return gaps spread evenly over the pieces, and over the stretches of a piece."""
    switch, n = WHAT[what]
    each = -(-count // max(len(pieces), 1))
    gaps: list[Gap] = []
    for item in pieces:
        values = item.complete.values
        tracks = sorted({lane.voice.track for lane in item.lanes})
        if what == "part" and len(tracks) < 2:
            continue
        lines = [*np.flatnonzero(values[:, switch]).tolist(), len(values)]
        fit = [
            Span(lines[i], lines[i + n])
            for i in range(n, len(lines) - 2 * n)
            if np.ptp(np.diff(lines[i - n : i + 2 * n + 1 : n])) == 0
            and np.any(values[lines[i] : lines[i + n], :KEYS] == STRUCK)
        ]
        places = np.linspace(0, len(fit) - 1, each + 2).round()[1:-1].astype(int) if fit else []
        for span in (fit[place] for place in np.unique(places)):
            gap = take_out(item, span, tracks if what == "part" else [], len(gaps))
            gaps += [gap] if gap is not None else []
    return [gaps[i] for i in np.linspace(0, len(gaps) - 1, min(count, len(gaps))).astype(int)]


def take_out(item: SongItem, span: Span, tracks: list[int], turn: int) -> Gap | None:
    """Return a stretch of a piece, or of one of the tracks if there are some, as a gap.

    The tracks that begin notes there take turns.
    """
    here, size = slice(span.start, span.stop), span.stop - span.start
    piece = item
    frames, lost = item.complete.values[:, :KEYS], np.zeros(item.complete.values.shape, bool)
    lost[here, :KEYS] = True
    if tracks:
        own = [_frames_of(item, track) for track in tracks]
        begins = [number for number, keys in enumerate(own) if np.any(keys[here] == STRUCK)]
        number = begins[turn % len(begins)]
        gaps = ((span.start, span.stop),)
        item = Composition(gaps, unit="steps", voice=str(number + 1)).arrange(item)
        frames, lost = own[number], item.missing
    missing, truth = lost[here, :KEYS], item.complete.values[here, :KEYS]
    if not np.any(missing & (truth == STRUCK)):  # the other parts play all of these keys
        return None
    before, after = (
        np.where(missing, frames[here.start + shift : here.stop + shift], truth)
        for shift in (-size, size)
    )
    return Gap(piece, item, lost, span, missing, truth, before, after)


def _frames_of(item: SongItem, track: int) -> np.ndarray:
    return make_frames([lane for lane in item.lanes if lane.voice.track == track], item.grid)


class Fills(NamedTuple):
    """The same gaps filled by rivals and by strategies, and the nats of the truth by these."""

    gaps: list[Gap]
    filled: dict[str, list[np.ndarray]]
    nats: dict[str, list[float]]


def fill_all(filler: Any, gaps: list[Gap], strategies: list[str], seed: int) -> Fills:
    filled = {
        "the truth": [gap.truth for gap in gaps],
        BEFORE: [gap.before for gap in gaps],
        AFTER: [gap.after for gap in gaps],
    }
    has_echo = all(gap.missing.all() for gap in gaps)
    if has_echo:
        filled["the echo"] = [echo_of(gap) for gap in gaps]
    nats = {}
    for strategy in strategies:
        draws = filler.kind.fewer_draws.get(strategy, filler.kind.draws)
        fills = filler.fill_many(
            Request(gap.item, gap.asked, draws, draws, strategy, seed + number)
            for number, gap in enumerate(gaps)
        )
        pairs = list(zip(gaps, fills, strict=True))
        answers = [gap.filled(with_values(fill, fill.completions[0])) for gap, fill in pairs]
        drawn = [gap.filled(with_values(fill, best_draw(fill))) for gap, fill in pairs]
        if strategy == "onegram":  # whose draws are so bad that its answers are the echoes
            filled[strategy] = drawn
        else:
            filled[strategy] = answers
            if has_echo:
                filled[f"{strategy}: draws"] = drawn
        nats[strategy] = [
            -filler.log_prob(gap.piece, missing=gap.lost, strategy=strategy, seed=seed)
            for gap in gaps
        ]
    return Fills(gaps, filled, nats)


def best_draw(fill: Any) -> Any:
    drawn = {one.values.tobytes() for one in fill.sampled}
    return next(one for one in fill.completions if one.values.tobytes() in drawn)


def with_values(fill: Any, one: Any) -> np.ndarray:
    """The piece with the values of a completion."""
    values = fill.sequence.values.copy()
    values[fill.sequence.missing] = one.values
    return values


def echo_of(gap: Gap) -> np.ndarray:
    """The stretch as an echo, with what no notes can be like changed; silence if there is none."""
    values = np.where(gap.lost, 0, gap.item.complete.values)
    echo = find_echo(Sequence(values, gap.lost), gap.span)
    if echo is not None:
        values[gap.span.start : gap.span.stop] = echo.values
    return gap.filled(settle(values[:, :KEYS], gap.lost[:, :KEYS]))


def join(parts: list[Fills]) -> Fills:
    """Return the gaps of several sets together."""
    return Fills(
        [gap for part in parts for gap in part.gaps],
        {name: [f for p in parts for f in p.filled[name]] for name in parts[0].filled},
        {name: [x for p in parts for x in p.nats[name]] for name in parts[0].nats},
    )


def table(fills: Fills) -> dict[str, Any]:
    """Return the statistics of each fill, over all gaps."""
    f1_of = {
        name: np.array([f1(f, g, STRUCK) for f, g in zip(filled, fills.gaps, strict=True)])
        for name, filled in fills.filled.items()
    }
    better = max((BEFORE, AFTER), key=lambda name: f1_of[name].mean())
    notes = sum(begun(gap.truth, gap) for gap in fills.gaps)
    rows = {}
    for name, filled in fills.filled.items():
        pairs = list(zip(filled, fills.gaps, strict=True))
        dissonant, together = np.sum([dissonance(stretch) for stretch in filled], axis=0)
        rows[name] = {
            "F1": f1_of[name].mean(),
            "sounding": np.mean([f1(stretch, gap, 1) for stretch, gap in pairs]),
            "notes": sum(begun(stretch, gap) for stretch, gap in pairs) / notes,
            "pitch classes": np.mean([histogram_distance(*pair) for pair in pairs]),
            "dissonant": dissonant / max(together, 1),
            "range": np.mean([width(*pair) for pair in pairs]),
            "ratio": f1_of[name].mean() / f1_of[better].mean(),
            "above": int((f1_of[name] > f1_of[better]).sum()),
            "below": int((f1_of[name] < f1_of[better]).sum()),
        }
        if name in fills.nats:
            nats = np.array(fills.nats[name])
            error = nats.std(ddof=1) / len(nats) ** 0.5 if len(nats) > 1 else None
            rows[name] |= {"nats": nats.mean(), "standard error": error}
    return {
        "gaps": len(fills.gaps),
        "pieces": len({id(gap.piece.original) for gap in fills.gaps}),
        "better neighbour": better,
        "rows": {name: _plain(row) for name, row in rows.items()},
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: float(x) if isinstance(x, np.floating) else x for name, x in row.items()}


def f1(stretch: np.ndarray, gap: Gap, least: int) -> float:
    """The F1 of the missing keys that are at least HELD (which sound) or STRUCK."""
    found, truth = (gap.missing & (frames >= least) for frames in (stretch, gap.truth))
    total = int(found.sum() + truth.sum())
    return 2 * int((found & truth).sum()) / total if total else 1.0


def begun(stretch: np.ndarray, gap: Gap) -> int:
    return int((gap.missing & (stretch == STRUCK)).sum())


def histogram_distance(stretch: np.ndarray, gap: Gap) -> float:
    """Half the distance of the shares of the pitch classes: 0 to 1."""
    shares = []
    for frames in (stretch, gap.truth):
        counts = (gap.missing & (frames > 0)).sum(axis=0)
        by_class = np.bincount(np.arange(KEYS) % 12, counts, 12)
        shares.append(by_class / max(by_class.sum(), 1))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def dissonance(stretch: np.ndarray) -> tuple[int, int]:
    """Pairs of keys that sound together: those that are dissonant, and all."""
    sounds = (stretch > 0).astype(int)
    dissonant, every = ((sounds @ pairs * sounds).sum() for pairs in (DISSONANT, PAIRS > 0))
    return int(dissonant), int(every)


def width(stretch: np.ndarray, gap: Gap) -> int:
    keys = np.flatnonzero((gap.missing & (stretch > 0)).any(axis=0))
    return int(np.ptp(keys)) if len(keys) else 0


def show(what: str, name: str, found: dict[str, Any]) -> None:
    print(f"\n{what}, {name}: {found['gaps']} gaps in {found['pieces']} pieces\n")
    print("\n".join(as_lines(found)))
    better = found["better neighbour"]
    print(f"\nThe better neighbour is {better}.", flush=True)
    for row in found["rows"]:
        if row not in ("the truth", BEFORE, AFTER):
            print(f"{row}: {found['rows'][row]['ratio']:.3f} of its F1")


def as_lines(found: dict[str, Any]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = [f"| fill | {' | '.join(COLUMNS)} |", "|---" + "|---:" * len(COLUMNS) + "|"]
    for name, row in found["rows"].items():
        numbers = [f"{row[column]:.3f}" for column in NUMBERS]
        nats = f"{row['nats']:.1f} ± {row['standard error'] or 0:.1f}" if "nats" in row else ""
        itself = name in ("the truth", found["better neighbour"])
        compared = "" if itself else f"{row['above']} : {row['below']}"
        cells = [name, *numbers, f"{row['range']:.1f}", nats, compared]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
