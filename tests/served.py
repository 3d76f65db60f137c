"""Applications at a port that is free, in a thread."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest
import uvicorn

from caesura.training.train import train
from caesura.web import Limits, make_app, queue, tables
from small_fillers import keys_filler, music_filler, text_filler

ENDING = 300.0  # seconds: Python crashes if it ends while a fit still compiles
UPDATES = 40  # of a fit


@contextlib.contextmanager
def served(app) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(queue, "ENDING", ENDING)
        server.should_exit = True
        thread.join(ENDING)
    assert not thread.is_alive()


@contextlib.contextmanager
def small_server() -> Iterator[str]:
    """A server with small models for all views of the page."""
    fillers = {"text": text_filler(), "music": music_filler(), "keys": keys_filler()}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "train", partial(train, hidden=8, head_hidden=8))
        with served(make_app(fillers, limits=Limits(updates=UPDATES))) as address:
            yield address
