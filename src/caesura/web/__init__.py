"""The server and its page: requests come in, the filler of the library answers."""

from caesura.web.app import make_app
from caesura.web.limits import Limits

__all__ = ["Limits", "make_app"]
