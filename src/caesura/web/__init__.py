"""The server and its page: they parse requests, ask a `Filler` and show its answers."""

from caesura.web.app import make_app
from caesura.web.limits import Limits

__all__ = ["Limits", "make_app"]
