"""An application at a port that is free, in a thread."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from caesura.web import queue

ENDING = 300.0  # seconds: Python crashes if it ends while a fit still compiles


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
