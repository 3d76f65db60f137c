"""The server as a process: how it starts and stops."""

import os
import socket
import threading
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from caesura.web.queue import WORKER

PATIENCE = 10  # seconds that a stop waits for the requests that are being answered


def run(app: FastAPI, listening: socket.socket) -> None:
    """Serve until a signal comes, such as Ctrl-C."""
    config = uvicorn.Config(
        app, log_level="warning", server_header=False, timeout_graceful_shutdown=PATIENCE
    )
    with suppress(KeyboardInterrupt):  # raised again after the shutdown
        _Server(config).run(sockets=[listening])
    if any(thread.name == WORKER for thread in threading.enumerate()):
        # A program of JAX cannot be interrupted, and Python would crash in its own shutdown.
        os._exit(0)


class _Server(uvicorn.Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        assert isinstance(self.config.app, FastAPI)
        self.config.app.state.fits.close()  # they take minutes
        await super().shutdown(sockets)
