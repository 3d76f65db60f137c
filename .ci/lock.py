"""Write .ci/lock.txt: versions and hashes of all that caesura[dev,ray] and its build need.

`make lock` calls it after the tests have passed. It writes the versions that are installed here,
and the sha256 of the file that pip would take for each of them on this platform. The file names no
index and no path. `make locked` installs from it.
"""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

PLACE = Path(__file__).parent / "lock.txt"
BUILD = ("hatchling", "editables")  # what the editable installation of the project is built with


def needed(name: str, extras: frozenset[str], found: dict[str, str], done: set[object]) -> None:
    """Add the versions of a package and of all that it needs, with these extras."""
    if (name, extras) in done:
        return
    done.add((name, extras))
    try:
        if name != "caesura":
            found[name] = version(name)
    except PackageNotFoundError:
        sys.exit(f"The package {name} is not installed: use `make lock`.")
    for line in requires(name) or ():
        one = Requirement(line)
        environments = [{"extra": extra} for extra in (extras or {""})]
        if one.marker and not any(map(one.marker.evaluate, environments)):
            continue
        needed(re.sub(r"[-_.]+", "-", one.name).lower(), frozenset(one.extras), found, done)


def hashes(pins: list[str]) -> list[str]:
    """Return the sha256 of the file that pip takes for each of these versions."""
    options = ["--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", "-"]
    words = [sys.executable, "-m", "pip", "install", *options, *pins]
    report = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    files = [one["download_info"]["archive_info"]["hashes"] for one in report["install"]]
    return [file["sha256"] for file in files]


def main() -> None:
    """Write the file."""
    found: dict[str, str] = {}
    done: set[object] = set()
    for name in ("caesura", *BUILD):
        needed(name, frozenset({"dev", "ray"}), found, done)
    pins = [f"{name}=={found[name]}" for name in sorted(found)]
    python = ".".join(map(str, sys.version_info[:2]))
    lines = [f"# What the tests ran with, on Python {python} and {sys.platform}: `make lock`."]
    lines += [
        f"{pin} --hash=sha256:{digest}" for pin, digest in zip(pins, hashes(pins), strict=True)
    ]
    part = PLACE.with_suffix(".part")
    part.write_text("\n".join(lines) + "\n")
    os.replace(part, PLACE)


if __name__ == "__main__":
    main()
