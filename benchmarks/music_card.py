"""The card of the model `music`: what its file says of itself, and measurements on test scores.

    python benchmarks/bars.py scores/*/test --model music.model --what beat,bar,two-bars,part \\
        --strategies bothways,onegram --json benchmarks/cards/music.bars.json
    python benchmarks/music_card.py music.model scores -o src/caesura/pretrained/music.md

`scores` is what `score_corpus.py` made. The nats and the calibration are measured and kept in
`--results`, unless they are there for the same model. The sets of rolls are in the directory that
CAESURA_DATA names.
"""

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from bars import AFTER, BEFORE, as_lines, open_spread
from cards import RESULTS, recipe_part, settings_of, table

import caesura
from caesura import datasets
from caesura.datasets import DATASETS
from caesura.errors import CaesuraError
from caesura.files import write_text
from caesura.kinds.music.roll import KEYS
from caesura.kinds.music.struck import STRUCK
from caesura.modelfile import read_info
from caesura.scoring.calibration import BINS, KeyTally, tally_keys
from caesura.scoring.gaps import over_gaps, score_gaps

ANSWER = "bothways"
GAPS = {4: 2000, 16: 800, 32: 500}  # steps, and how many of each set: longer ones vary less
CALIBRATED = 16  # steps
MARGIN = 10
PIECES = 60  # of each set, spread evenly over its test part
STRATEGIES = (ANSWER, "onegram")
ROLLS = ("nottingham", "musedata", "piano_midi")
PARTS = ("train", "valid", "test")
STATEMENTS = ("sounds", "is struck")


class Scores(NamedTuple):
    """A set of scores, and what is known of the terms of its encodings."""

    what: str
    terms: str


NONE = "none stated in the files"
SCORES = {
    "chorales": Scores(
        "chorales by J. S. Bach",
        f"{NONE}; most files credit Margaret Greentree (jsbchorales.net, © 2004)",
    ),
    "quartets": Scores("string quartets by Beethoven", NONE),
    "haydn": Scores("string quartets by Haydn", NONE),
    "mozart": Scores("four string quartets by Mozart, and a part of a piano sonata", NONE),
    "madrigals": Scores(
        "madrigals by Monteverdi", f"{NONE}; two have a line of Ut Orpheus Edizioni (© 2003)"
    ),
    "romantic": Scores("a string quartet and a song by Robert Schumann", NONE),
    "clara": Scores(
        "four polonaises and a movement of a piano trio by Clara Schumann",
        "four of five files: CC BY-SA 4.0, typeset by Cypressdome for IMSLP; the other one: "
        f"{NONE}",
    ),
    "ragtime": Scores("the Maple Leaf Rag by Joplin", f"{NONE}; from musescore.com"),
    "fiddle": Scores(
        "Ryan's Mammoth Collection (1883), dance tunes", f"{NONE}; the transcribers are named"
    ),
    "irish": Scores(
        "O'Neill's Music of Ireland (1903), tunes", f"{NONE}; the transcribers are named"
    ),
    "airs": Scores("Aird's Airs (from 1782), tunes", f"{NONE}; transcribed by Jack Campin, 2009"),
    "masses": Scores("masses by Palestrina", NONE),
}
SERVES = (
    "Missing beats, bars or parts of tonal music for keyboard, choir or strings, and of dance "
    "tunes, in MIDI, MusicXML or piano rolls. It sees each of the 88 keys as silent, held or "
    "struck at each sixteenth, or at each triplet sixteenth if the piece has triplets, and knows "
    "the bar and the beat from the time signatures. It gives several fills to choose from, at "
    "once: the default strategy, `bothways`, compiles nothing. The best fill is the draw whose "
    "notes agree best with those of all draws, among those with a usual number of notes. If "
    "another place of the piece is similar enough, the best fill is a copy of that place."
)
FAILS = (
    "It does not see loudness, the pedal, instruments, drums or rhythms finer than the grid, and a "
    "piece has one grid: sixteenths or triplets. It does not know which part plays a key. Of a "
    "roll, bars and beats are not known. It was trained on gaps of {gap[0]} to {gap[1]} steps; "
    "longer ones are filled less well. Fills in styles other than those of its sources are "
    "guesses."
)
TERMS = (
    "The scores are from the corpus of music21 10.5.1. Its `license.txt` says that each piece is "
    "out of copyright in the United States or licensed, and that some encodings may not be used "
    "commercially; it refers to the files, in which we found what the table says. So take the "
    "weights as made for research."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("scores", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the card")
    parser.add_argument("--results", type=Path, default=RESULTS / "music.json")
    parser.add_argument("--bars", type=Path, default=RESULTS / "music.bars.json")
    given = parser.parse_args()
    try:
        info, bars = read_info(given.model), json.loads(given.bars.read_text())
        if bars["sha256"] != info["sha256"]:
            raise CaesuraError(f"'{given.bars}' is not of this model: run benchmarks/bars.py.")
        results = json.loads(given.results.read_text()) if given.results.exists() else {}
        if results.get("sha256") != info["sha256"]:
            results = {"sha256": info["sha256"]} | measure(given.model, given.scores)
            write_text(given.results, json.dumps(results, indent=1) + "\n")
        write_text(given.output, page(info, results, bars, count(given.scores)))
    except CaesuraError as error:
        sys.exit(f"Error: {error}")


def measure(model: Path, scores: Path, most: dict[int, int] = GAPS) -> dict[str, Any]:
    """Return the nats of gaps of several lengths by each strategy, and the calibration."""
    filler = caesura.load(model)
    sets: dict[str, Any] = {}
    every: dict[str, KeyTally] = {}
    for folder in sorted(scores.glob("*/test")):
        pieces = [item.complete.values for item in open_spread(filler.kind, folder, PIECES)]
        nats: dict[str, Any] = {}
        for strategy in STRATEGIES:
            method = filler.method(strategy)
            for gap, limit in most.items():
                choice = {"gap": gap, "margin": MARGIN, "limit": limit}
                found = score_gaps(method.net, method.strategy, pieces, **choice)
                nats.setdefault(str(gap), {})[strategy] = found._asdict()
                print(f"{folder.parent.name}, {gap} steps, {strategy}: {found}", flush=True)
        tallies = calibrate(filler, pieces, most[CALIBRATED])
        every = {name: every[name] + t if name in every else t for name, t in tallies.items()}
        calibration = {name: rates(tally) for name, tally in tallies.items()}
        sets[folder.parent.name] = {"nats": nats, "calibration": calibration}
    return {
        "machine": f"JAX {jax.__version__}, {jax.devices()[0].device_kind}, {platform.machine()}",
        "sets": sets,
        "reliability": {name: tally.to_dict()["reliability"] for name, tally in every.items()},
    }


def calibrate(filler: Any, pieces: list[np.ndarray], limit: int) -> dict[str, KeyTally]:
    """Return how often keys sound, and are struck, against how often it is stated."""
    method = filler.method(ANSWER)
    net, strategy = method.net, method.strategy

    def ask(key: Any, windows: Any) -> tuple[Any, Any]:
        values, _ = strategy.marginals(key, net, windows)
        return values.log_prob[:, :CALIBRATED, :KEYS], windows.values[:, :CALIBRATED, :KEYS]

    choice = {"gap": CALIBRATED, "margin": MARGIN, "limit": limit}
    stated, truth = over_gaps(ask, net, strategy, pieces, **choice).of_gaps
    silent, held, struck = np.moveaxis(stated, -1, 0)
    is_struck = np.stack([np.logaddexp(silent, held), struck], axis=-1)
    tallies = tally_keys(stated, truth), tally_keys(is_struck, (truth == STRUCK).astype(int))
    return dict(zip(STATEMENTS, tallies, strict=True))


def rates(tally: KeyTally) -> dict[str, float]:
    """Return rates over all steps of the gaps."""
    chosen, right, true = (int(np.sum(x)) for x in (tally.chosen, tally.right, tally.true))
    steps = tally.gaps * len(tally.chosen)
    return {
        "gaps": tally.gaps,
        "precision": right / max(chosen, 1),
        "recall": right / max(true, 1),
        "keys": true / steps,
        "keys expected": float(tally.stated.sum()) / steps,
        "calibration error": tally.calibration_error,
    }


def count(scores: Path) -> dict[str, list[int]]:
    """Return how many pieces each set has in its parts, and the rolls after the scores."""
    folders = sorted(folder for folder in scores.iterdir() if folder.is_dir())
    found = {f.name: [len([*f.glob(f"{part}/*")]) for part in PARTS] for f in folders}
    return found | {name: [len(datasets.load(name, part)) for part in PARTS] for name in ROLLS}


def page(
    info: dict[str, Any],
    results: dict[str, Any],
    bars: dict[str, Any],
    pieces: dict[str, list[int]],
) -> str:
    """Return the card."""
    training = info["training"]
    parts = [
        "# The model `music`",
        "<!-- Made by `python benchmarks/music_card.py`: change that, not this. -->",
        f'`caesura.load("music")`, or `caesura fill music`. {info["bytes"] / 1e6:.1f} MB, '
        f"{' and '.join(info['dtypes'])}; sha256 `{info['sha256']}`.",
        f"**For:** {SERVES}",
        f"**Not for:** {FAILS.format(**training['nets']['bidirectional']['fields'])}",
        "## Data",
        table(["set", "what", *PARTS, "terms"], [_data_row(*one) for one in pieces.items()]),
        TERMS,
        "Numbers are pieces. Those of a set of scores are divided by a hash of the names of the "
        "works, and those of a set of rolls as it comes. Trained on {pieces} pieces with {steps} "
        "steps in all, of which those of small sets are counted several times, and chosen on "
        "{valid_pieces} others with {valid_steps}; fingerprint of both `{fingerprint}`. No score "
        "of the test parts was seen in training. But `musedata` has works by the same composers, "
        "and tunes may be in several collections; we did not look for works that are in two "
        "sets.".format(**training["data"]),
        *recipe_part(commands(info), info),
        *_nats(results),
        *_fills(bars),
        *_calibration(results),
    ]
    return "\n\n".join(parts) + "\n"


def _data_row(name: str, pieces: list[int]) -> list[str]:
    if name in DATASETS:
        what, terms = DATASETS[name].description, DATASETS[name].licence
    else:
        what, terms = SCORES[name]
    return [f"`{name}`", what, *map(str, pieces), terms]


def commands(info: dict[str, Any]) -> list[str]:
    """Return what to type for this model."""
    record, seed = info["training"]["nets"]["bidirectional"], info["training"]["seed"]
    fields = {k: v for k, v in record["fields"].items() if k != "steps"}
    options = settings_of("music", record | {"fields": fields})
    train = f"train frames.npz music.model --steps {record['fields']['steps']}"
    return [
        "python benchmarks/score_corpus.py scores",
        "python benchmarks/pretrain_music.py pack scores frames.npz",
        f"python benchmarks/pretrain_music.py {train} {options} --seed {seed}",
    ]


def _nats(results: dict[str, Any]) -> list[str]:
    rows = [
        [
            f"`{name}`",
            gap,
            *(f"{s['nll']:.2f} ± {s['standard_error']:.2f}" for s in by_strategy.values()),
            str(by_strategy[ANSWER]["gaps"]),
        ]
        for name, found in results["sets"].items()
        for gap, by_strategy in found["nats"].items()
    ]
    return [
        "## Test: nats",
        "Nats of a whole gap, with the standard error. A step is a sixteenth, or a sixth of a "
        "quarter note if the piece has triplets. The gaps are spread evenly over the pieces of the "
        f"test part (at most {PIECES}), at least {MARGIN} steps from the ends. The standard error "
        "takes gaps as independent, which those of few pieces are not. "
        f"({results['machine']}.)",
        table(["set", "steps", *(f"`{s}`" for s in STRATEGIES), "gaps"], rows),
    ]


def _fills(bars: dict[str, Any]) -> list[str]:
    tables, bar = bars["tables"], bars["tables"]["bar"]["all"]["rows"][ANSWER]
    wholes = {what: sets["all"] for what, sets in tables.items()}
    shown = [
        (f"**{what}**, {all_sets['gaps']} gaps in {all_sets['pieces']} pieces:", all_sets)
        for what, all_sets in wholes.items()
    ]
    columns = ["what", "set", "gaps", "before", "after", "echo", "answer"]
    columns += ["ratio", "above : below", "notes"]
    rows = [_fill_row(what, *one) for what, sets in tables.items() for one in sets.items()]
    return [
        "## Test: fills against rivals",
        f"In gaps of one bar, the F1 of the notes that begin is {bar['ratio']:.2f} times that of a "
        f"copy of the better neighbour, and the fills have {bar['notes']:.3f} times as many notes "
        "as the truth.",
        "A beat, a bar, two bars, or one part over a bar is taken out and filled again, in the "
        f"test parts: up to {bars['gaps']} gaps of each set. The rivals are copies of the stretch "
        "before and after it, the echo (a copy of the most similar place of the piece) and the "
        f"best of 24 draws of the one-gram. `{ANSWER}` is the answer of the model, which may be an "
        'echo, and "draws" the best of its 24 draws. `benchmarks/bars.py` says what the columns '
        "are. `gsn` is left out: its draws had no notes at all in two gaps of a beat, and two gaps "
        "of a bar took more than a minute. All sets together:",
        *(text for title, found in shown for text in (title, "\n".join(as_lines(found)))),
        'F1 by set. "Ratio" is that of the answer to the better neighbour, "above : below" counts '
        "the gaps in which the answer is better and worse than this neighbour, and the last column "
        "has the number of notes of the answers as a share of the truth's:",
        table(columns, rows),
    ]


def _fill_row(what: str, name: str, found: dict[str, Any]) -> list[str]:
    rows = found["rows"]
    ours, echo = rows[ANSWER], rows.get("the echo")
    return [
        what,
        name if name == "all" else f"`{name}`",
        str(found["gaps"]),
        f"{rows[BEFORE]['F1']:.3f}",
        f"{rows[AFTER]['F1']:.3f}",
        f"{echo['F1']:.3f}" if echo else "",
        f"**{ours['F1']:.3f}**",
        f"{ours['ratio']:.2f}",
        f"{ours['above']} : {ours['below']}",
        f"{ours['notes']:.3f}",
    ]


def _calibration(results: dict[str, Any]) -> list[str]:
    columns = ("precision", "recall", "keys", "keys expected", "calibration error")
    rows = [
        [f"`{name}`", statement, *(f"{said[column]:.3f}" for column in columns)]
        for name, found in results["sets"].items()
        for statement, said in found["calibration"].items()
    ]
    bins = [
        [statement, str(b["statements"]), f"{b['stated']:.3f}", f"{b['true']:.3f}"]
        for statement, found in results["reliability"].items()
        for b in found
        if b["statements"]
    ]
    return [
        "## Calibration",
        f"Each step of a gap of {CALIBRATED} steps is predicted by itself, by `{ANSWER}`. "
        "For each of the 88 keys there are two statements: the key sounds, and the key is struck. "
        '"Precision" and "recall" are those of the keys with a probability above 1/2, and "keys" '
        "is how many there are at a step. The calibration error is the mean difference between the "
        f"stated share and the true share, in {BINS} bins.",
        table(["set", "statement: a key", *columns], rows),
        "By what is stated, in all sets:",
        table(["statement: a key", "statements", "stated", "true"], bins),
    ]


if __name__ == "__main__":
    main()
