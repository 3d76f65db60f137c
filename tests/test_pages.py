"""The Python code on pages of the documentation runs, and gives what the pages say."""

import re
import sys
from pathlib import Path

import pytest

from caesura.datasets import data_folder

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from page_pictures import DOCS, TUTORIALS, drawn_by, run

ROOT = Path(__file__).parent.parent
PAPYRI = data_folder() / "greek/papyri.test.jsonl.xz"
WITH_CODE = ["index", *TUTORIALS, "choose-strategy", "how-sure", "train-your-own"]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_CODE)
def test_the_code_of_a_page_runs_and_draws_its_pictures(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(DOCS / f"{name}.md")
    for picture in drawn_by(DOCS / f"{name}.md"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.skipif(not PAPYRI.exists(), reason="the set 'papyri' is not in the data directory")
def test_the_code_of_the_page_about_a_papyrus_runs():
    run(DOCS / "lost-letters.md")


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_shows_the_pictures_that_its_code_draws(name):
    shown = re.findall(r"\(pictures/([\w.-]+)\)", (DOCS / f"{name}.md").read_text(encoding="utf-8"))
    assert shown
    assert shown == drawn_by(DOCS / f"{name}.md")


def test_every_page_of_the_site_exists_and_has_a_place():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r": ([\w-]+\.md)$", text, re.M)
    assert sorted(named) == sorted(path.name for path in DOCS.glob("*.md"))


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
