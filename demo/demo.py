"""Train a small model on George Washington's addresses to Congress, then fill gaps in a new one.

It needs nothing but the text beside it (works of the United States government, in the public
domain) and writes nothing. The model sees six addresses; the gaps are in the seventh.
"""

import re
import time
from pathlib import Path

import numpy as np

import caesura
from caesura.evaluate import score_gaps
from caesura.strategies import STRATEGIES
from caesura.training.loop import Progress

ADDRESSES = (Path(__file__).parent / "washington.txt").read_text(encoding="utf-8").splitlines()
DAMAGED = [
    "Fellow-Citizens of the S_____ and House of Repre_____tives: In recurring to",
    "with the Creeks their preexisting enga_____ts with the United Sta___, and to obtain",
    "to the esta_____ment of trading hou___ and military posts within",
    "that the virtue and hap_____s of the people may b_ preserved, and that the Government",
]


def main() -> None:
    print("Learning from six addresses (1790 to 1795), about 75 000 characters:", flush=True)
    began = time.perf_counter()
    filler = caesura.train(
        ADDRESSES[:-1],
        kind="text",
        recipe="nade,rnn",
        cell="gru",
        hidden=160,
        layers=1,
        steps=1000,
        batch=16,
        length=48,
        learning_rate=8e-3,
        patience=0,
        report=progress,
    )
    print(f"  done in {time.perf_counter() - began:.0f} s\n")

    unseen = ADDRESSES[-1]
    print("Filling the seventh (1796), which it has not seen, by 'nade':")
    for text in DAMAGED:
        show(filler.fill(text, samples=20), text, truth_of(text, unseen))

    print("\nNats to fill a gap of five characters there, by strategy (lower is better):")
    # Not from its beginning: the settings above were chosen by how well they did there.
    sequence = filler.kind.read_complete(unseen[1000:1524]).values
    for name in ("nade", "oneway", "onegram"):
        strategy = STRATEGIES[name]()
        result = score_gaps(filler.nets[strategy.net], strategy, [sequence], gap=5)
        print(f"  {name:8} {result.nll:5.2f} ± {result.standard_error:.2f}  ({result.gaps} gaps)")


def progress(net: str, now: Progress) -> None:
    if now.validation is not None:
        told = f"{now.loss:.2f} nats a character, {now.validation:.2f} on what was held out"
        print(f"  {net:14} update {now.step:4}  {told}", flush=True)


def truth_of(text: str, whole: str) -> str:
    """The passage of the address that the damaged text comes from."""
    start = whole.index(text[: text.index("_")])
    return whole[start : start + len(text)]


def show(fill: caesura.Fill, text: str, truth: str) -> None:
    """The damaged text, and the three likeliest of the fills that were drawn."""
    print(f"\n  {text}")
    fills = dict(zip(fill.samples, fill.log_probs, strict=True))
    for sample in sorted(fills, key=fills.__getitem__, reverse=True)[:3]:
        words = ", ".join(
            gap if gap == true else f"{gap} ({true})"
            for gap, true in zip(gaps(text, sample), gaps(text, truth), strict=True)
        )
        print(f"    p = {np.exp(fills[sample]):8.2g}   {words}")
    sure = [
        f"{symbol} {chance:.0%}"
        for symbol, chance in zip("".join(gaps(text, fill.best)), fill.confidence, strict=True)
    ]
    print(f"    how sure, character by character: {'  '.join(sure)}")


def gaps(text: str, completed: str) -> list[str]:
    """What stands in the gaps of `text` when it is completed."""
    return [completed[gap.start() : gap.end()] for gap in re.finditer("_+", text)]


if __name__ == "__main__":
    main()
