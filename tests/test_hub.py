"""Models on the Hugging Face Hub, from a server that speaks its protocol, and their cards."""

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import caesura
from caesura.errors import CaesuraError, ExtraMissingError
from caesura.modelfile.card import render
from caesura.pretrained import find_model
from caesura.pretrained.hub import parse_address
from small_fillers import text_filler

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Answers /user/repo/resolve/revision/file as the Hub does for a plain file."""

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        self.server.asked.append((self.command, self.path))
        user, repo, resolve, revision, *file = [*self.path[1:].split("/"), "", "", ""][:8]
        file = [part for part in file if part]
        content = self.server.files.get("/".join(file))
        wrong = None
        if (user, repo, resolve) != ("someone", "models", "resolve"):
            wrong = "RepoNotFound"
        elif revision not in ("v1", COMMIT):
            wrong = "RevisionNotFound"
        elif content is None:
            wrong = "EntryNotFound"
        self.send_response(404 if wrong else 200)
        self.send_header("X-Repo-Commit", COMMIT)
        if wrong:
            self.send_header("X-Error-Code", wrong)
            content = b""
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_):
        pass


PROGRAM = """
import json, sys, caesura
for address in json.load(sys.stdin):
    try:
        print(caesura.load(address).kind.name)
    except caesura.CaesuraError as error:
        print(error)
"""


def test_models_are_fetched_from_the_hub(tmp_path):
    pytest.importorskip("huggingface_hub")
    text_filler().save(tmp_path / "greek.safetensors")
    content = (tmp_path / "greek.safetensors").read_bytes()
    greek = "hf://someone/models/greek.safetensors"
    asked = {
        f"{greek}@{COMMIT}": "text",
        f"{greek}@{COMMIT}#sha256={hashlib.sha256(content).hexdigest()}": "text",
        f"{greek}@{COMMIT}#sha256={'0' * 64}": "The file at .* is not the one expected",
        "hf://someone/models/old/latin.model@v1": "text",
        "hf://someone/models/latin.model@v1": "Cannot get 'hf://someone/models/latin",
        f"{greek}@v2": "Cannot get .*v2",
        "hf://nobody/models/greek.safetensors@v1": "Cannot get 'hf://nobody",
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.asked, server.files = [], {"greek.safetensors": content, "old/latin.model": content}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # The client reads where the Hub is when it is imported, so it runs in a process of its own.
    own = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path)}
    own |= {"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(list(asked)),
        capture_output=True,
        text=True,
        env=os.environ | own,
        timeout=100,
    )
    server.shutdown()
    server.server_close()
    said = done.stdout.splitlines()
    assert len(said) == len(asked), done.stderr
    for line, expected in zip(said, asked.values(), strict=True):
        assert re.match(expected, line)
    # A commit cannot change: it is fetched once, and then nothing is asked.
    assert server.asked.count(("GET", f"/someone/models/resolve/{COMMIT}/greek.safetensors")) == 1


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("hf://someone/models/greek.safetensors", "names no revision"),
        ("hf://models/greek.safetensors@v1", "does not have the form"),
        ("hf://someone/models/../x@v1", "does not have the form"),
        ("hf://someone/models/x@v1#sha256=abc", "not 64 hexadecimal digits"),
    ],
)
def test_an_address_has_one_form(address, sentence):
    with pytest.raises(CaesuraError, match=sentence):
        caesura.load(address)


def test_the_parts_of_an_address():
    address = "hf://someone/models/dir/x.safetensors@refs/pr/1#sha256=" + "a" * 64
    assert parse_address(address) == (
        "someone/models",
        "dir/x.safetensors",
        "refs/pr/1",
        "a" * 64,
    )


def test_without_huggingface_hub_one_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ExtraMissingError, match=r"pip install 'caesura\[hf\]'"):
        caesura.load("hf://someone/models/greek.safetensors@v1")


def test_a_card_is_in_the_form_of_the_hub(tmp_path):
    yaml = pytest.importorskip("yaml")
    place = tmp_path / "greek.safetensors"
    text_filler().save(place, card=True)
    card = (tmp_path / "greek.md").read_text(encoding="utf-8")
    _, header, body = card.split("---\n", 2)
    assert yaml.safe_load(header)["library_name"] == "caesura"
    assert "text" in yaml.safe_load(header)["tags"]
    assert hashlib.sha256(place.read_bytes()).hexdigest() in body
    assert "| bidirectional | 1 × 5 tanh |" in body
    text_filler().save(place, card=True)  # its own card is replaced, and nothing else
    (tmp_path / "greek.md").write_text("My notes.")
    with pytest.raises(CaesuraError, match="is not a card"):
        text_filler().save(place, card=True)
    assert (tmp_path / "greek.md").read_text() == "My notes."


def test_the_card_of_a_trained_model_says_how():
    card = render(Path(find_model("text")))
    assert "Trained with seed 0, by caesura 0.2.0" in card
    assert "| `nade` | 0.8436 | 9500 |" in card
