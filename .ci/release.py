"""Everything that a release needs, except the upload: `make release`.

The steps, in this order; `make release STEPS="lowest tests"` runs only some of them again:

build    the wheel, by way of the sdist, into dist/; `twine check` of both; the wheel has every file
         of src/, with the same bytes
pythons  every Python of PYTHONS that this machine has: the wheel in a clean environment with the
         newest packages, and some fills; a bill of materials in the form of CycloneDX
extras   each extra alone; extras of gigabytes are not installed: pip only looks for versions that
         fit together
types    a user's program under mypy and pyright
lowest   the lowest packages that pyproject.toml declares, with some tests
tests    the tests of what uses files of the package, against the wheel, on the first Python; the
         modules have the same bytes as in src/, which `make test-all` tests in full

The steps that run and what was not tried are printed at the end.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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

# The tests that run with the lowest packages, and what they need.
WITH_LOWEST = ["public", "filler", "cli", "series", "sklearn", "plot", "web_api", "modelfile"]
WITH_LOWEST += ["training"]
# The tests that also run against the wheel: they read recipes, models, pages and other data in it.
WITH_WHEEL = [*WITH_LOWEST, "recipes", "pretrained", "old_models", "reproduce_page", "cli_help"]
WITH_WHEEL += [
    "cli_training",
    "cli_editions",
    "musicxml",
    "polars",
    "hub",
    "html",
    "scale",
    "pages",
]
TOOLS = ("pytest", "pytest-xdist", "httpx", "mido")

# Too large to install for a trial: a GPU's libraries, PyTorch, and tools of the developers.
RESOLVED = ("cuda", "bench", "docs", "fuzz")


def main() -> None:
    """Run the steps; the first that fails ends the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"of: {' '.join(STEPS)}")
    chosen = parser.parse_args().steps or list(STEPS)
    if unknown := set(chosen) - set(STEPS):
        parser.error(f"There is no step {unknown.pop()}. The steps are: {', '.join(STEPS)}.")
    found = {name: path for name in PYTHONS if (path := python(name))}
    if not found:
        sys.exit(f"None of the Pythons {', '.join(PYTHONS)} is on this machine.")
    with tempfile.TemporaryDirectory() as directory:
        trial = Trial(Path(directory), found)
        for name, step in STEPS.items():
            if name in chosen:
                start = time.monotonic()
                step(trial)
                say(f"the step '{name}' passed in {time.monotonic() - start:.0f} s")
    left_out = [name for name in STEPS if name not in chosen]
    if left_out:
        print(f"Not run: the steps {', '.join(left_out)}.")
    if absent := [name for name in PYTHONS if name not in found]:
        print(f"Not tried, since this machine lacks them: Python {', '.join(absent)}.")
    print(f"Only looked up, not installed: the extras {', '.join(RESOLVED)}.")
    print("The rest is by hand: see 'Releases' in CONTRIBUTING.md.")


class Trial(NamedTuple):
    """A directory for the environments, and the Pythons of this machine by their version."""

    place: Path
    pythons: dict[str, str]

    @property
    def first(self) -> str:
        """The oldest Python."""
        return next(iter(self.pythons.values()))

    @property
    def wheel(self) -> Path:
        """The wheel in dist/."""
        for wheel in (ROOT / "dist").glob("*.whl"):
            return wheel
        sys.exit("There is no wheel in dist/: run the step 'build' first.")

    def bare(self, name: str) -> Path:
        """Return the Python of an environment with the wheel and no extras."""
        own = self.place / name / "bin" / "python"
        return own if own.exists() else environment(own.parents[1], self.pythons[name], self.wheel)


def try_pythons(trial: Trial) -> None:
    """Fill with every Python, and write the bill of materials of the first."""
    for name in trial.pythons:
        say(f"Python {name}, the newest packages")
        bare = trial.bare(name)
        run(bare, "-c", FILL)
        run(bare, "-m", "caesura", "fill", "text", "The qu___ brown fox")
    say("the software bill of materials")
    bare = trial.bare(next(iter(trial.pythons)))
    run(bare, ROOT / ".ci" / "sbom.py", trial.wheel, trial.wheel.with_suffix(".cdx.json"))


def try_extras(trial: Trial) -> None:
    """Use each extra alone; without it, the same program names it."""
    bare = trial.bare(next(iter(trial.pythons)))
    for extra, program in EXTRAS.items():
        say(f"the extra '{extra}' alone")
        refused(bare, extra, program)
        own = environment(trial.place / extra, trial.first, f"{trial.wheel}[{extra}]")
        run(own, "-c", program)
    say(f"versions that fit together for the extras {', '.join(RESOLVED)}")
    for extra in RESOLVED:
        resolve(bare, f"{trial.wheel}[{extra}]")


def try_tests(trial: Trial) -> None:
    """Run tests against the wheel."""
    say("tests, against the wheel")
    full = environment(trial.place / "full", trial.first, f"{trial.wheel}[dev]")
    files = [TESTS / f"test_{name}.py" for name in WITH_WHEEL]
    run(full, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-m", "not slow", *files)


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


def build(trial: Trial) -> None:
    """Build into dist/, and check the metadata."""
    tag_agrees()
    say("build")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", ROOT / "dist", ROOT)
    files = sorted((ROOT / "dist").iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    source = ROOT / "src"
    with zipfile.ZipFile(next(file for file in files if file.suffix == ".whl")) as wheel:
        packed = {name: wheel.read(name) for name in wheel.namelist()}
    for path in (source / "caesura").rglob("*"):
        name = path.relative_to(source).as_posix()
        if path.is_file() and "__pycache__" not in name and packed.get(name) != path.read_bytes():
            sys.exit(f"The wheel lacks {name}, or has other bytes.")


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


def check_types(trial: Trial) -> None:
    """Check a right and a wrong program with mypy and pyright, which see only the wheel."""
    say("types")
    bare = trial.bare(next(iter(trial.pythons)))
    own = environment(trial.place / "types", trial.first, "mypy", "pyright")
    right, wrong = TESTS / "user_program.py", TESTS / "wrong_program.py"
    mypy = (own, "-m", "mypy", "--strict", "--config-file=", "--python-executable", bare)
    pyright = (own, "-m", "pyright", "--pythonpath", bare)
    for checker in (mypy, pyright):
        run(*checker, right)
        done = subprocess.run([*checker, wrong], capture_output=True, text=True, cwd=trial.place)
        if done.stdout.count(" error: ") != 4:
            sys.exit(f"Not all 4 mistakes in {wrong.name} were seen: {done.stdout}")


def check_lowest(trial: Trial) -> None:
    """Fill, and run some tests, with the lowest versions that pyproject.toml declares."""
    say("the lowest packages that are declared")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    tried = [name for name in EXTRAS if name != "ray"]  # the newest Ray was tried alone
    declared = project["dependencies"] + [line for name in tried for line in extras[name]]
    pattern = re.compile(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)")
    lowest = [match.expand(r"\1==\2") for line in declared if (match := pattern.match(line))]
    constraints = trial.place / "lowest.txt"
    constraints.write_text("\n".join(lowest))
    print("\n".join(lowest))
    constrained = ("-c", constraints, f"{trial.wheel}[{','.join(tried)}]")
    own = environment(trial.place / "lowest", trial.first, *constrained, *TOOLS)
    run(own, "-c", FILL)
    files = [TESTS / f"test_{name}.py" for name in WITH_LOWEST]
    # Without beartype: it cannot resolve a forward reference in the types of older optax.
    options = ("-n", "2", "--dist", "loadfile", "-o", "addopts=", "-m", "not slow", "-W", "ignore")
    run(own, "-m", "pytest", "-q", *options, *files)


def say(what: str) -> None:
    """Print a heading."""
    print(f"\n== {what}", flush=True)


def run(*words: object) -> None:
    """Run a command away from the sources, which the wheel must not need; end if it fails."""
    inside = any(str(word).endswith("pytest") for word in words)
    done = subprocess.run(list(map(str, words)), cwd=ROOT if inside else tempfile.gettempdir())
    if done.returncode:
        sys.exit(f"This failed: {' '.join(map(str, words))}")


STEPS: dict[str, Callable[[Trial], None]] = {
    "build": build,
    "pythons": try_pythons,
    "extras": try_extras,
    "types": check_types,
    "lowest": check_lowest,
    "tests": try_tests,
}

if __name__ == "__main__":
    main()
