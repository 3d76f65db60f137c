"""Write .ci/lock.txt: the versions of everything that caesura[dev,ray] needs, as installed here.

`make lock` calls it after the tests have passed. The file names no index and no path. It is for
`pip install -c .ci/lock.txt -e '.[dev]'`, which installs what the tests ran with.
"""

import os
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

PLACE = Path(__file__).parent / "lock.txt"


def needed(name: str, extras: frozenset[str], found: dict[str, str], done: set[object]) -> None:
    """Add the versions of all that a package needs, with these extras."""
    if (name, extras) in done:
        return
    done.add((name, extras))
    for line in requires(name) or ():
        one = Requirement(line)
        environments = [{"extra": extra} for extra in (extras or {""})]
        if one.marker and not any(map(one.marker.evaluate, environments)):
            continue
        key = re.sub(r"[-_.]+", "-", one.name).lower()
        try:
            if key != "caesura":
                found[key] = version(key)
        except PackageNotFoundError:
            sys.exit(f"The package {key} is not installed: pip install -e '.[dev,ray]' first.")
        needed(key, frozenset(one.extras), found, done)


def main() -> None:
    """Write the file."""
    found: dict[str, str] = {}
    needed("caesura", frozenset({"dev", "ray"}), found, set())
    python = ".".join(map(str, sys.version_info[:2]))
    head = (
        f"# What the tests ran with, on Python {python} and {sys.platform}: made by `make lock`.\n"
    )
    part = PLACE.with_suffix(".part")
    part.write_text(head + "".join(f"{name}=={found[name]}\n" for name in sorted(found)))
    os.replace(part, PLACE)


if __name__ == "__main__":
    main()
