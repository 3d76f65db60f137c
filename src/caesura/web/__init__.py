"""The server and its page: they parse requests, ask a `Filler` and show its answers."""

from caesura.errors import extra

with extra("web", "The server needs FastAPI, uvicorn and prometheus-client"):
    import fastapi  # noqa: F401
    import prometheus_client  # noqa: F401
    import uvicorn  # noqa: F401

from caesura.web.app import make_app
from caesura.web.limits import Limits

__all__ = ["Limits", "make_app"]
