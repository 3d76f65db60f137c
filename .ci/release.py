"""Everything that a release needs, except the upload: `make release`.

Builds the wheel and the sdist, checks their metadata, and tries the wheel in clean environments:
every Python of PYTHONS that this machine has, with the newest packages; the first of them with the
lowest packages that pyproject.toml declares; each extra alone; and a user's program under mypy and
pyright. Extras of gigabytes are not installed: pip only looks for versions that fit together. The
tests then run against the wheel. Whatever was not tried is printed at the end. A bill of materials
in the form of CycloneDX is written beside the wheel.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
FILL = """
import sys, caesura
assert "site-packages" in caesura.__file__, caesura.__file__
filler = caesura.load("text")
assert filler.fill("The qu___ brown fox").best == "The quick brown fox"  # by NumPy
hastings = filler.fill("The Battle of Hast____ was fought in 1066.", strategy="nade")  # by JAX
assert hastings.best == "The Battle of Hastings was fought in 1066."
"""
TABLE = "import numpy as np; t = np.sin(np.arange(200.0))[:, None]; t[50:53] = np.nan; "
SMALL = "small = dict(hidden=4, head_hidden=4, batch=4, steps=4, validate_every=2); "
# What each extra is for. Without it, the same program ends with one sentence that names it.
EXTRAS = {
    # An address that does not exist: only with the extra is the Hub asked for it.
    "hf": "from caesura.errors import ExtraMissingError\nimport caesura\ntry:\n"
    "    caesura.load('hf://a/b/c.model@0')\nexcept ExtraMissingError: raise\nexcept "
    "caesura.CaesuraError: pass",
    "plot": "import caesura; caesura.load('text').fill('The qu___', strategy='nade').plot()",
    "series": TABLE + SMALL + "import caesura; f = caesura.train([t], kind='series', **small); "
    "import io; from caesura.kinds.series.table import parse_csv; "
    "assert f.fill(parse_csv('x0\\n1\\n\\n2\\n'), draws=2).best.notna().all().all(); "
    "import caesura.scale",
    "sklearn": TABLE + SMALL + "from caesura.sklearn import SeriesImputer; "
    "trained = SeriesImputer(adapt='full', settings=small).fit_transform(t); "
    "assert not np.isnan([trained, SeriesImputer().fit_transform(t)]).any()",
    "polars": TABLE + "import polars; from caesura.sklearn import SeriesImputer; "
    "full = SeriesImputer().fit_transform(polars.DataFrame({'a': t[:, 0]})); "
    "assert isinstance(full, polars.DataFrame) and not full['a'].is_nan().any()",
    "ray": "import sys, tempfile; from pathlib import Path; from caesura.cli import main\n"
    "place = Path(tempfile.mkdtemp()); texts = place / 'texts'; texts.mkdir(); "
    "(texts / 'a.txt').write_text('The qu___ brown fox'); options = '--engine ray --workers 1'; "
    "sys.argv = ['caesura', 'fill', 'text', str(texts), '-o', str(place / 'out')]\n"
    "sys.argv += options.split(); main()",
    "web": "import caesura; from caesura.web import make_app; "
    "make_app({'text': caesura.load('text')})",
}

# Too large to install for a trial: a GPU's libraries, PyTorch, and tools of the developers.
RESOLVED = ("cuda", "bench", "docs", "fuzz")


def main() -> None:
    """Run all steps; the first that fails ends the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the tests of the wheel")
    quick = parser.parse_args().quick
    tag_agrees()
    wheel = build()
    found = {name: path for name in PYTHONS if (path := python(name))}
    if not found:
        sys.exit(f"None of the Pythons {', '.join(PYTHONS)} is on this machine.")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for name, path in found.items():
            say(f"Python {name}, the newest packages")
            bare = environment(place / name, path, wheel)
            run(bare, "-c", FILL)
            run(bare, "-m", "caesura", "fill", "text", "The qu___ brown fox")
        first = next(iter(found.values()))
        bare = place / next(iter(found)) / "bin" / "python"
        say("the software bill of materials")
        run(bare, ROOT / ".ci" / "sbom.py", wheel, wheel.with_suffix(".cdx.json"))
        for extra, program in EXTRAS.items():
            say(f"the extra '{extra}' alone")
            refused(bare, extra, program)
            run(environment(place / extra, first, f"{wheel}[{extra}]"), "-c", program)
        say(f"versions that fit together for the extras {', '.join(RESOLVED)}")
        for extra in RESOLVED:
            resolve(bare, f"{wheel}[{extra}]")
        say("types")
        check_types(place, first, bare)
        say("the lowest packages that are declared")
        check_lowest(place, first, wheel, quick)
        if not quick:
            say("the tests, against the wheel")
            full = environment(place / "full", first, f"{wheel}[dev]")
            run(full, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", "not slow", TESTS)
    absent = [name for name in PYTHONS if name not in found]
    say(f"done: {', '.join(f'Python {name}' for name in found)}")
    if absent:
        print(f"Not tried, since this machine lacks them: {', '.join(absent)}.")
    print(f"Only looked up, not installed: the extras {', '.join(RESOLVED)}.")
    print("The rest is by hand: see 'Releases' in CONTRIBUTING.md.")


def tag_agrees() -> None:
    """End the program if CITATION.cff or CHANGELOG.md speaks of another version."""
    version = version_of(ROOT)
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    if "dev" not in version and (cited is None or cited[1].strip('"') != version):
        sys.exit(f"CITATION.cff does not say version {version}.")
    heading = "[Unreleased]" if "dev" in version else f"[{version}]"
    if f"## {heading}" not in (ROOT / "CHANGELOG.md").read_text():
        sys.exit(f"CHANGELOG.md has no heading {heading}.")


def version_of(root: Path) -> str:
    """Return the version, which stands in one place only."""
    text = (root / "src" / "caesura" / "__init__.py").read_text()
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]


def build() -> Path:
    """Build into dist/, check the metadata, and return the wheel."""
    say("build")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", ROOT / "dist", ROOT)
    files = sorted((ROOT / "dist").iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    return next(file for file in files if file.suffix == ".whl")


def python(version: str) -> str | None:
    """Return a Python of this version that runs, from the path or from pyenv."""
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python{version}", *map(str, homes.glob(f"{version}.*/bin/python"))]
    for one in candidates:
        path = shutil.which(one)
        asked = [path or "", "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        if path and subprocess.run(asked, capture_output=True, text=True).stdout.strip() == version:
            return path
    return None


def environment(place: Path, path: str, *packages: object) -> Path:
    """Return the Python of a new environment with these packages."""
    run(path, "-m", "venv", place)
    own = place / "bin" / "python"
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    run(own, "-m", "pip", "check")
    return own


def resolve(bare: Path, package: str) -> None:
    """Check that pip finds versions for a package, without an installation."""
    options = ("--dry-run", "--ignore-installed", "--quiet", "--disable-pip-version-check")
    run(bare, "-m", "pip", "install", *options, package)


def refused(bare: Path, extra: str, program: str) -> None:
    """Check that a program without its extra ends with one sentence that names it."""
    done = subprocess.run([bare, "-c", program], capture_output=True, text=True, cwd="/")
    if "polars" in program:  # which the program itself needs
        return
    last = done.stderr.strip().splitlines()[-1]
    if done.returncode == 0 or f"pip install 'caesura[{extra}]'" not in last:
        sys.exit(f"Without the extra '{extra}' it should be named, but this was said: {last}")


def check_types(place: Path, path: str, bare: Path) -> None:
    """Check a right and a wrong program with mypy and pyright, which see only the wheel."""
    own = environment(place / "types", path, "mypy", "pyright")
    right, wrong = TESTS / "user_program.py", TESTS / "wrong_program.py"
    mypy = (own, "-m", "mypy", "--strict", "--config-file=", "--python-executable", bare)
    pyright = (own, "-m", "pyright", "--pythonpath", bare)
    for checker in (mypy, pyright):
        run(*checker, right)
        done = subprocess.run([*checker, wrong], capture_output=True, text=True, cwd=place)
        if done.stdout.count(" error: ") != 4:
            sys.exit(f"Not all 4 mistakes in {wrong.name} were seen: {done.stdout}")


def check_lowest(place: Path, path: str, wheel: Path, quick: bool) -> None:
    """Fill, and run some tests, with the lowest versions that pyproject.toml declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    tried = [name for name in EXTRAS if name != "ray"]  # the newest Ray was tried alone
    declared = project["dependencies"] + [line for name in tried for line in extras[name]]
    pattern = re.compile(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)")
    lowest = [match.expand(r"\1==\2") for line in declared if (match := pattern.match(line))]
    (place / "lowest.txt").write_text("\n".join(lowest))
    print("\n".join(lowest))
    constrained = ("-c", place / "lowest.txt", f"{wheel}[{','.join(tried)}]")
    own = environment(place / "lowest", path, *constrained, "pytest", "httpx", "mido")
    run(own, "-c", FILL)
    if not quick:
        some = ["public", "filler", "cli", "series", "sklearn", "plot", "web_api", "modelfile"]
        some += ["training"]
        files = [TESTS / f"test_{name}.py" for name in some]
        # Without beartype: it cannot resolve a forward reference in the types of older optax.
        run(own, "-m", "pytest", "-q", "-o", "addopts=", "-m", "not slow", "-W", "ignore", *files)


def say(what: str) -> None:
    """Print a heading."""
    print(f"\n== {what}", flush=True)


def run(*words: object) -> None:
    """Run a command away from the sources, which the wheel must not need; end if it fails."""
    inside = any(str(word).endswith("pytest") for word in words)
    done = subprocess.run(list(map(str, words)), cwd=ROOT if inside else tempfile.gettempdir())
    if done.returncode:
        sys.exit(f"This failed: {' '.join(map(str, words))}")


if __name__ == "__main__":
    main()
