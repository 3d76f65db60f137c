"""`caesura serve`: the page and its API, on this machine."""

import ipaddress
import socket
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from caesura.cli.options import documented
from caesura.cli.output import note
from caesura.errors import CaesuraError, CaesuraWarning
from caesura.pretrained import NAMES, find_model

if TYPE_CHECKING:
    from caesura.filler import Filler


@documented
def serve(
    host: str = "127.0.0.1",
    port: int = 8123,
    models: list[str] | None = None,
    memory: str = "2GB",
) -> None:
    """Open a page in the browser: erase, fill, look and listen.

    The page loads nothing from other servers. `/docs` describes its API, `/metrics` is for
    Prometheus; `docs/server.md` has the details.

    Parameters
    ----------
    host : --host ADDRESS
        The address to listen at; only this machine can reach the default.
    port : --port PORT
        The port; 0 chooses a free one.
    models : --model MODEL
        A model to offer: a file, which is called by its name without the suffix, or a model that
        comes with caesura; may be given several times. Default: all that come with caesura.
    memory : --memory SIZE
        How much memory the server may have, such as 500MB or 2GB. Above it, compiled programs are
        let go, and then new work is refused. It is measured on Linux only.
    """
    from caesura.web import Limits, make_app
    from caesura.web.memory import read_size, use_few_arenas
    from caesura.web.security import LOOPBACK
    from caesura.web.server import run

    warnings.simplefilter("ignore", CaesuraWarning)  # they would quote the tables of clients

    limits = Limits(memory=read_size(memory))
    use_few_arenas()
    fillers = load_offered(models or list(NAMES))
    loopback = is_loopback(host)
    app = make_app(fillers, hosts=LOOPBACK if loopback else (), limits=limits, warm=note)
    with listen(host, port) as listening:
        place = f"{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        note(f"The page is at http://{place}/ and its API at http://{place}/docs; Ctrl-C ends it.")
        if not loopback:
            names = " and ".join(f"'{name}'" for name in fillers)
            note(
                f"Anyone who can reach {place} can fill with {names} and train on tables, without "
                "a password or encryption: put a proxy in front of it that adds both."
            )
        run(app, listening)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket; for port 0, the system chooses one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CaesuraError(f"Cannot listen at {host}, port {port}: {reason.lower()}.") from None


def load_offered(models: list[str]) -> dict[str, "Filler"]:
    """Return the models by the names that clients use."""
    from caesura.filler import load

    fillers: dict[str, Filler] = {}
    for model in models:
        name = model if model in NAMES else Path(find_model(model)).stem
        if name in fillers:
            raise CaesuraError(f"Two of the models are called '{name}': rename one of the files.")
        fillers[name] = load(model)
    return fillers


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
