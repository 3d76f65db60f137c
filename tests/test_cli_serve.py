"""`caesura serve` as a process: what it says, what it offers, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest

from caesura.cli.serve import is_loopback
from command_line import PATH, mistake
from small_fillers import music_filler, text_filler
from test_web_series import wave


@contextmanager
def served(*words, cache=None):
    """The address of a server, and what it said first; it ends when it is told to."""
    command = [sys.executable, "-m", "caesura", "serve", "--port", "0", *map(str, words)]
    places = {} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | PATH | places, cwd="/"
    )
    try:
        said = process.stderr.readline()
        address = re.search(r"http://\S+?/", said)
        assert address, said + process.stderr.read()
        yield address[0], said, process
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
        # It may still have been compiling when it was told to end.
        said = process.stderr.read().splitlines()
        assert all(line.startswith(("Compiling for ", "Ready: ")) for line in said), said
    finally:
        process.kill()
        process.wait()


def ask(address, path, question=None):
    body = None if question is None else json.dumps(question).encode()
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address + path, body, headers)) as answer:
        return json.load(answer)


@pytest.mark.slow
def test_models_are_offered_by_the_names_of_their_files(tmp_path):
    text_filler().save(tmp_path / "words.model")
    music_filler().save(tmp_path / "tunes.model")
    models = ("--model", tmp_path / "words.model", "--model", tmp_path / "tunes.model")
    with served(*models, "--host", "0.0.0.0") as (address, _, process):
        warning = process.stderr.readline()
        assert "'words' and 'tunes'" in warning
        assert "password" in warning
        told = ask(address.replace("0.0.0.0", "127.0.0.1"), "api/models")
        assert [(model["name"], model["kind"]) for model in told] == [
            ("words", "text"),
            ("tunes", "music"),
        ]


@pytest.mark.slow
def test_the_models_that_come_with_the_library_are_served():
    with served() as (address, said, _):
        assert address.startswith("http://127.0.0.1:")
        assert "Ctrl-C" in said
        question = {"model": "text", "sequence": "The qu___ brown fox"}
        assert ask(address, "api/fill", question)["best"] == "The quick brown fox"


def test_mistakes_are_one_sentence(tmp_path):
    text_filler().save(tmp_path / "words.model")
    model = ("--model", tmp_path / "words.model")
    assert "called 'words'" in mistake("serve", *model, *model)
    assert "no file" in mistake("serve", "--model", "wrods")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "in use" in mistake("serve", *model, "--port", port)
    assert "500MB or 2GB" in mistake("serve", *model, "--memory", "lots")
    assert "port 99999" in mistake("serve", *model, "--port", "99999")


def test_what_only_this_machine_can_reach():
    assert all(map(is_loopback, ["127.0.0.1", "127.8.8.8", "::1", "localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "192.168.1.2", "example.org"]))


@pytest.mark.slow
def test_a_fit_does_not_hold_up_the_end(tmp_path):
    """Not even while it compiles; its client is told, and nothing crashes."""
    text_filler().save(tmp_path / "words.model")
    # A place without compiled programs.
    with served("--model", tmp_path / "words.model", cache=tmp_path) as (address, _, process):
        body = json.dumps({"sequence": wave().to_csv(index=False), "adapt": "full"}).encode()
        headers = {"content-type": "application/json"}
        asked = urllib.request.Request(address + "api/fill/series", body, headers)
        with urllib.request.urlopen(asked) as answer:
            assert json.loads(answer.readline())["state"] == "waits"
            assert json.loads(answer.readline())["state"] == "trains"
            process.send_signal(signal.SIGINT)
            assert json.loads(answer.readline()) == {"detail": "The server is being stopped."}
        assert process.wait(60) == 0
