"""Three machines on this one: namespaces with their own network, host name and /tmp/ray.

Needs root on Linux, and the commands `ip`, `unshare` and `mount`. Traffic goes over a bridge of
this machine, to which nothing else is connected. What was made is removed at the end.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NAMES = ("caesura1", "caesura2", "caesura3")
ADDRESSES = {name: f"198.18.77.{number}" for number, name in enumerate(NAMES, 1)}  # for tests
BRIDGE = "caesura0"
PATIENCE = 900  # seconds
# A machine has its own directory for Ray, knows the others, and knows its name.
ENTER = 'mkdir -p /tmp/ray "$0/$1" && mount --bind "$0/$1" /tmp/ray && '
ENTER += 'mount --bind "$0/hosts" /etc/hosts && hostname "$1" && shift && exec "$@"'


class Machines:
    """The machines, while the context of `machines` is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, name: str, *words: object, **variables: str) -> subprocess.Popen[str]:
        """Start a program on a machine; its number is that of the process itself."""
        inside = ["ip", "netns", "exec", name, "unshare", "--uts", "--mount"]
        return subprocess.Popen(
            [*inside, "sh", "-c", ENTER, str(self.folder), name, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | variables,
        )

    def pull_the_plug(self, name: str) -> int:
        """Kill everything on a machine with SIGKILL; return how many processes it had."""
        found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
        processes = [int(word) for word in found.stdout.split()]
        for process in processes:
            os.kill(process, signal.SIGKILL)
        return len(processes)


@contextmanager
def machines() -> Iterator[Machines]:
    """Make the machines, and remove them with everything that still runs there."""
    if os.geteuid() != 0:
        raise SystemExit("Only root may make network namespaces.")
    with tempfile.TemporaryDirectory() as folder:
        hosts = Path(folder) / "hosts"
        lines = [f"{address} {name}" for name, address in ADDRESSES.items()]
        hosts.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
        made = Machines(Path(folder))
        try:
            ip("link add", BRIDGE, "type bridge")
            ip("link set", BRIDGE, "up")
            for name, address in ADDRESSES.items():
                ip("netns add", name)
                ip("link add", f"{name}v", "type veth peer name eth0 netns", name)
                ip("link set", f"{name}v", "master", BRIDGE, "up")
                ip("-n", name, "address add", f"{address}/24", "dev eth0")
                ip("-n", name, "link set eth0 up")
                ip("-n", name, "link set lo up")
            yield made
        finally:
            for name in NAMES:
                made.pull_the_plug(name)
                subprocess.run(["ip", "netns", "del", name], capture_output=True)
            subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True)


def ip(*words: str) -> None:
    subprocess.run(["ip", *" ".join(words).split()], check=True)


def wait_until(ready: Callable[[], bool], what: str) -> float:
    """Wait; return how many seconds it took."""
    start = time.monotonic()
    while not ready():
        if time.monotonic() - start > PATIENCE:
            raise SystemExit(f"This did not happen within {PATIENCE} s: {what}.")
        time.sleep(0.02)
    return time.monotonic() - start
