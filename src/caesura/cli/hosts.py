"""The processes that train together: named by --hosts, by variables, or by a launcher."""

import os
import socket
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from caesura.errors import CaesuraError, whole_number

PORT = 8476  # of the first host, unless specified
VARIABLES = ("CAESURA_COORDINATOR", "CAESURA_PROCESSES", "CAESURA_PROCESS")


class Place(NamedTuple):
    """The number of a process among the others; the first one listens at the coordinator."""

    coordinator: str
    processes: int
    process: int


def join(hosts: str | None) -> None:
    """Wait for the other processes, if any. Must be called before JAX looks for its devices."""
    if hosts == "auto":
        place = None
    elif hosts is not None:
        place = place_by_hosts(hosts)
    elif VARIABLES[0] in os.environ:
        place = place_by_variables(os.environ)
    else:
        return
    import jax

    try:
        jax.distributed.initialize(*(place or ()))
    except ValueError as error:
        raise CaesuraError(
            "No launcher says which processes train together: name the machines with --hosts, or "
            f"set {', '.join(VARIABLES)}."
        ) from error
    except RuntimeError as error:
        raise CaesuraError(f"The processes did not find each other: {error}.") from error


def place_by_variables(variables: Mapping[str, str]) -> Place:
    """Return the place that environment variables give to this process."""
    for name in VARIABLES:
        if name not in variables:
            raise CaesuraError(f"The variable {name} is needed if {VARIABLES[0]} is set.")
    processes = _number(variables, VARIABLES[1], 1, None)
    last = processes - 1
    coordinator = _with_port(variables[VARIABLES[0]])
    return Place(coordinator, processes, _number(variables, VARIABLES[2], 0, last))


def is_this_machine(host: str) -> bool:
    """Return whether the name is one of this machine's own: only those can be listened at."""
    try:
        known: list[Any] = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError as error:
        raise CaesuraError(f"There is no host '{host}'.") from error
    for family, kind, protocol, _, address in known:
        with socket.socket(family, kind, protocol) as trial:
            try:
                trial.bind(address)
            except OSError:
                continue
            return True
    return False


def place_by_hosts(hosts: str, is_here: Callable[[str], bool] = is_this_machine) -> Place:
    """Return the place of this machine among the hosts, each of which runs one process."""
    names = hosts.split(",")
    here = [number for number, name in enumerate(names) if is_here(name.partition(":")[0])]
    if len(here) != 1:
        raise CaesuraError(
            f"This machine is {'none' if not here else 'several'} of the hosts '{hosts}', but "
            f"it must be exactly one; if names do not work, set {', '.join(VARIABLES)} instead."
        )
    return Place(_with_port(names[0]), len(names), here[0])


def _with_port(host: str) -> str:
    return host if ":" in host else f"{host}:{PORT}"


def _number(variables: Mapping[str, str], name: str, least: int, most: int | None) -> int:
    text = variables[name]
    return whole_number(name, int(text) if text.isdecimal() else text, least, most)
