"""The Python code on pages of the documentation runs, and gives what the pages say."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import caesura
from caesura.datasets import data_folder
from caesura.kinds import KINDS
from caesura.nets.cells import CELLS
from caesura.nets.heads import HEADS
from caesura.strategies import STRATEGIES

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from page_pictures import DOCS, TUTORIALS, drawn_by, run, same
from page_sounds import saved_by

ROOT = Path(__file__).parent.parent
PAPYRI = data_folder() / "greek/papyri.test.jsonl.xz"
WITH_CODE = ["index", *TUTORIALS, "music", "choose-strategy", "how-sure", "train-your-own"]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_CODE)
def test_the_code_of_a_page_runs_and_draws_its_pictures(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(DOCS / f"{name}.md")
    for picture in drawn_by(DOCS / f"{name}.md"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    for sound in saved_by(DOCS / f"{name}.md"):
        assert (tmp_path / sound).read_bytes().startswith(b"RIFF")


@pytest.mark.slow
@pytest.mark.skipif(not PAPYRI.exists(), reason="the set 'papyri' is not in the data directory")
def test_the_code_of_the_page_about_a_papyrus_runs():
    run(DOCS / "lost-letters.md")


@pytest.mark.slow
def test_the_page_about_extending_is_one_program(tmp_path, monkeypatch, capsys):
    own = [(KINDS, "dice"), (CELLS, "leaky"), (HEADS, "sharp"), (STRATEGIES, "apart")]
    for registry, name in own:
        monkeypatch.setitem(registry, name, None)  # taken out again after the test
    page = (DOCS / "extending.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^``` \{ \.python \}\n(.*?)^```", page, re.M | re.S))
    code = re.sub(r'^--8<-- "(.+):(.+)"$', lambda found: section(*found.groups()), code, flags=re.M)
    (tmp_path / "program.py").write_text(code, encoding="utf-8")
    runpy.run_path(str(tmp_path / "program.py"))
    assert capsys.readouterr().out.split() == list("123456123")


def section(file: str, name: str) -> str:
    """Return the lines between the marks of a section."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return text.split(f"# --8<-- [start:{name}]\n")[1].split(f"# --8<-- [end:{name}]")[0]


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_a_page_of_the_site_links_only_to_what_the_site_has(page):
    made = {"sounds"}  # folders that `make site` fills
    for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
        target = (page.parent / link).resolve()
        assert target.is_relative_to(DOCS), f"{link} is not a page of the site"
        assert target.exists() or link.split("/")[0] in made, f"{link} does not exist"


def test_what_a_page_shows_may_differ_in_small_numbers_only():
    assert same("[('ings', 0.76)] 29 of 30\n", "[('ings', 0.75)] 29 of 30\n")
    assert not same("[('ings', 0.76)]", "[('ings', 0.5)]")
    assert not same("[('ings', 0.76)]", "[('inks', 0.76)]")
    assert not same("29 of 30", "28 of 30")


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_shows_the_pictures_that_its_code_draws(name):
    shown = re.findall(r"\(pictures/([\w.-]+)\)", (DOCS / f"{name}.md").read_text(encoding="utf-8"))
    assert shown
    assert shown == drawn_by(DOCS / f"{name}.md")


def test_the_tutorial_on_music_plays_the_sound_that_its_code_makes():
    page = DOCS / "tutorial-music.md"
    played = re.findall(
        r'<audio .*src="sounds/([\w.-]+)">.* ([\w-]+\.wav)\.\)</audio>', page.read_text("utf-8")
    )
    assert played
    assert played == [(name, name) for name in saved_by(page)]


def test_every_page_of_the_site_exists_and_has_a_place():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r": ([\w-]+\.md)$", text, re.M)
    assert sorted(named) == sorted(path.name for path in DOCS.glob("*.md"))


def test_every_public_name_is_on_the_page_of_the_api():
    documented = set(
        re.findall(r"^::: caesura\.(\w+)$", (DOCS / "api.md").read_text("utf-8"), re.M)
    )
    modules = {"__version__", "datasets", "strategies"}
    assert documented == set(caesura.__all__) - modules


def test_what_pages_include_exists():
    found = []
    for page in DOCS.glob("*.md"):
        for name in re.findall(r'^--8<-- "([^"]+)"$', page.read_text("utf-8"), re.M):
            file, _, section = name.partition(":")
            text = (ROOT / file).read_text(encoding="utf-8")
            assert not section or f"--8<-- [start:{section}]" in text
            found.append(name)
    example = [f"tests/test_extension.py:{part}" for part in ("cell", "head", "strategy", "kind")]
    assert {"CHANGELOG.md", "ARCHITECTURE.md", *example} == set(found)
