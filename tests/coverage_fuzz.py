"""Coverage-guided fuzzing of one reader: `python tests/coverage_fuzz.py midi -max_total_time=60`.

Atheris changes bytes wherever that makes the library take a way it has not taken before. The
options behind the reader's name are those of libFuzzer; what breaks the reader is written to a
file `crash-*`, whose bytes then belong into test_hostile_files.py.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["caesura"]):
    from hostile import READERS


def main() -> None:
    name, *options = sys.argv[1:]
    read, seeds = READERS[name]
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds):
            (Path(corpus) / str(number)).write_bytes(seed)
        atheris.Setup([sys.argv[0], *options, corpus], read)
        atheris.Fuzz()


main()
