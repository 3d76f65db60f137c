"""The picture of the README: a text with its gaps filled, shaded by confidence.

python benchmarks/readme_picture.py
"""

from pathlib import Path

import caesura

PICTURE = Path(__file__).parent.parent / "docs/pictures/fill.png"
TEXT = (
    "The Battle of Hast____ was fought in 1066 between the Nor____ and the English. William, Duke "
    "of Norm____, had landed in the south of Engl___, and King Harold marched from the no___ to "
    "meet him. After a long d__ of fighting, the English army was defe____ and the king was ki____."
)

if __name__ == "__main__":
    figure = caesura.load("text").fill(TEXT).plot()
    figure.savefig(PICTURE, dpi=150, bbox_inches="tight")
