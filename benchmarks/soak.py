"""A server under load for minutes: right, hostile and vanishing clients, and what becomes of it.

    python benchmarks/soak.py --minutes 10     docs/pictures/soak.svg, the table of docs/server.md

`caesura serve` runs as a process of its own, with the models that come with the library. Clients
ask for texts, songs, probabilities and tables, in sizes that are drawn anew each time; others send
what is broken, too large or not for them, and some leave before they are answered. The load begins
when the server says that it is ready. It fails if an answer is a 5xx, or none of those that its
question may have, or if the server does not end as it is told to.
"""

import argparse
import asyncio
import base64
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import httpx
import numpy as np

from caesura.plots import COLOURS, make_panels, save_picture

sys.path.append(str(Path(__file__).parent.parent))  # where the demo is
from demo.tune import song

CLIENTS = 8
TRAINING = 150.0  # seconds that a client waits for a table
TEXT = "The Battle of Hastings was fought in 1066 between the Normans and the English. " * 8
SONG = base64.b64encode(song().to_bytes()).decode()
STEPS = 100  # of that song, and some more
TABLE = "hour,level\n" + "".join(f"{n},{'' if n % 9 == 4 else n % 7}\n" for n in range(200))
BUSY = 429
LEFT = 0  # in the place of a status, where a client has not waited for one


class Question(NamedTuple):
    """One sort of request, how often it comes, and the statuses that it may have."""

    share: int
    ask: Callable[[httpx.AsyncClient], Awaitable[int]]
    statuses: tuple[int, ...]


def text_question() -> dict[str, object]:
    length, gap = random.choice((80, 600)), random.randint(1, 6)
    first = random.randrange(length - gap)
    return {
        "model": "text",
        "sequence": TEXT[:length],
        "missing": [{"first": first, "stop": first + gap}],
        "seed": random.randrange(2**32),
    }


def music_question() -> dict[str, object]:
    first = random.randrange(STEPS - 12)
    boxes = [{"first": first, "stop": first + random.randint(1, 12)}]
    return {"model": "music", "sequence": SONG, "missing": boxes}


def post(route: str, make: Callable[[], dict[str, object]]):
    async def ask(client: httpx.AsyncClient) -> int:
        return (await client.post(route, json=make())).status_code

    return ask


def get(route: str, **headers: str):
    async def ask(client: httpx.AsyncClient) -> int:
        return (await client.get(route, headers=headers)).status_code

    return ask


def send(content: bytes, media: str = "application/json"):
    async def ask(client: httpx.AsyncClient) -> int:
        headers = {"content-type": media}
        return (await client.post("/api/fill", content=content, headers=headers)).status_code

    return ask


async def fill_table(client: httpx.AsyncClient) -> int:
    """Have a table trained on and filled; every line of the answer tells how far it is."""
    body = {"sequence": TABLE, "seed": random.randrange(2**32)}
    try:
        async with asyncio.timeout(TRAINING):
            async with client.stream("POST", "/api/fill/series", json=body) as answer:
                lines = [line async for line in answer.aiter_lines()]
    except TimeoutError:
        return LEFT
    if answer.status_code == 200 and "sequence" not in lines[-1]:
        raise SystemExit(f"A table was not filled: {lines[-1]}")
    return answer.status_code


async def leave_waiting(client: httpx.AsyncClient) -> int:
    """Ask, and go before the answer can have come."""
    asked = text_question() | {"samples": random.randint(1, 8)}
    try:
        return (await client.post("/api/fill", json=asked, timeout=0.05)).status_code
    except httpx.TimeoutException:
        return LEFT


async def leave_speaking(client: httpx.AsyncClient) -> int:
    """Promise a body, send half of it, and hang up."""
    url = client.base_url
    _, writer = await asyncio.open_connection(url.host, url.port)
    head = f"POST /api/fill HTTP/1.1\r\nHost: {url.host}\r\nContent-Type: application/json\r\n"
    writer.write(f'{head}Content-Length: 1000\r\n\r\n{{"model": "te'.encode())
    await writer.drain()
    writer.close()
    return LEFT


QUESTIONS = {
    "fill a text": Question(
        30,
        post("/api/fill", lambda: text_question() | {"samples": random.choice((1, 8))}),
        (200, BUSY),
    ),
    "fill a song": Question(
        6, post("/api/fill", lambda: music_question() | {"samples": 2}), (200, BUSY)
    ),
    "fill a table": Question(1, fill_table, (200, LEFT, BUSY)),
    "probabilities": Question(6, post("/api/log_prob", text_question), (200, BUSY)),
    "marginals": Question(6, post("/api/marginals", text_question), (200, BUSY)),
    "look at a song": Question(
        3, post("/api/view", lambda: {"model": "music", "sequence": SONG}), (200,)
    ),
    "look at a table": Question(3, post("/api/table", lambda: {"sequence": TABLE}), (200,)),
    "the page": Question(3, get("/"), (200,)),
    "health": Question(3, get("/healthz"), (200,)),
    "no JSON": Question(2, send(b'{"kind": ' * 1000), (400, 422)),
    "not sent as JSON": Question(2, send(b"kind=text", "text/plain"), (415,)),
    "three megabytes": Question(1, send(b" " * (3 << 20)), (413,)),
    "another host": Question(2, get("/api/models", host="evil.example"), (421,)),
    "no such model": Question(
        2, post("/api/fill", lambda: text_question() | {"model": "../../etc/passwd"}), (422,)
    ),
    "no such song": Question(
        2, post("/api/fill", lambda: music_question() | {"sequence": "bm9pc2U="}), (422,)
    ),
    "far too much": Question(
        2,
        post(
            "/api/fill",
            lambda: text_question() | {"sequence": TEXT * 20},
        ),
        (422,),
    ),
    "no such page": Question(2, get("/wp-login.php"), (404,)),
    "gone while waiting": Question(4, leave_waiting, (LEFT, 200, BUSY)),
    "gone while speaking": Question(4, leave_speaking, (LEFT,)),
}


class Soak:
    """What was asked, what was answered and when, and how large the server was meanwhile."""

    def __init__(self, server: int, seconds: float) -> None:
        self.server = server
        self.began = time.monotonic()
        self.end = self.began + seconds
        self.statuses: dict[str, Counter[int]] = defaultdict(Counter)
        self.took: dict[str, list[tuple[float, float]]] = defaultdict(list)  # when, how long
        self.memory: list[tuple[float, float]] = []  # seconds, MB

    async def run(self, url: str) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=150) as client:
            await asyncio.gather(self._watch(), *(self._client(client) for _ in range(CLIENTS)))

    async def _client(self, client: httpx.AsyncClient) -> None:
        names = list(QUESTIONS)
        shares = [QUESTIONS[name].share for name in names]
        while time.monotonic() < self.end:
            (name,) = random.choices(names, shares)
            began = time.monotonic()
            status = await QUESTIONS[name].ask(client)
            self.statuses[name][status] += 1
            now = time.monotonic()
            self.took[name].append((now - self.began, now - began))

    async def _watch(self) -> None:
        while time.monotonic() < self.end:
            told = Path(f"/proc/{self.server}/status").read_text()
            kilobytes = int(re.search(r"VmRSS:\s+(\d+)", told)[1])
            self.memory.append((time.monotonic() - self.began, kilobytes / 1000))
            await asyncio.sleep(1)

    def table(self) -> str:
        lines = ["| request | count | answers | p50 | p95 |", "|---|---|---|---|---|"]
        for name in QUESTIONS:
            if not (took := self.took[name]):
                continue
            told = [
                f"{count} × {status or 'left'}"
                for status, count in sorted(self.statuses[name].items())
            ]
            p50, p95 = np.quantile(np.array(took)[:, 1], [0.5, 0.95])
            cells = [
                name,
                str(self.statuses[name].total()),
                ", ".join(told),
                f"{p50:.2f} s",
                f"{p95:.2f} s",
            ]
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines)

    def wrong(self) -> list[str]:
        """The answers that should not have been."""
        return [
            f"{count} × {status} for '{name}'"
            for name, counts in self.statuses.items()
            for status, count in counts.items()
            if status not in QUESTIONS[name].statuses
        ]

    def draw(self, picture: Path) -> None:
        figure, (latency, memory) = make_panels(7.0, 2.8, 2)
        for colour, name in zip(COLOURS, ("fill a text", "fill a song", "marginals"), strict=False):
            seconds, took = np.array(self.took[name]).T
            latency.plot(seconds / 60, took, ".", ms=3, color=colour, label=name)
        latency.set_yscale("log")
        latency.set_ylabel("seconds until the answer")
        latency.legend(fontsize=7)
        seconds, size = np.array(self.memory).T
        memory.plot(seconds / 60, size, color=COLOURS[0], lw=1.2)
        memory.set_ylim(0, size.max() * 1.15)
        memory.set_ylabel("memory of the server, MB")
        for axes in (latency, memory):
            axes.set_xlabel("minutes under load")
        save_picture(figure, picture)


def start(notes: Path) -> tuple[subprocess.Popen, str]:
    """The server and its address; what it notes goes to a file, since a pipe would fill up."""
    words = [sys.executable, "-m", "caesura", "serve", "--port", "0"]
    with notes.open("w") as file:
        server = subprocess.Popen(words, stderr=file)
    while server.poll() is None:
        if found := re.search(r"http://[^/]+", notes.read_text()):
            return server, found[0]
        time.sleep(0.1)
    raise SystemExit("The server did not start.")


def wait_until_ready(url: str) -> float:
    """Seconds until everything is compiled."""
    began = time.monotonic()
    while httpx.get(f"{url}/readyz").status_code == 503:
        time.sleep(0.5)
    return time.monotonic() - began


def run(notes: Path, seconds: float) -> tuple[Soak, str, int]:
    """What happened, the server's own metrics, and the code that it ended with."""
    server, url = start(notes)
    try:
        print(f"Ready after {wait_until_ready(url):.0f} s.", flush=True)
        soak = Soak(server.pid, seconds)
        asyncio.run(soak.run(url))
        metrics = httpx.get(f"{url}/metrics").text
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
    return soak, metrics, code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--picture", type=Path, default=Path("docs/pictures/soak.svg"))
    asked = parser.parse_args()
    random.seed(0)
    with tempfile.TemporaryDirectory() as folder:
        soak, metrics, code = run(Path(folder) / "notes", 60 * asked.minutes)
    print(soak.table())
    print()
    seconds, sizes = np.array(soak.memory).T
    for minute in range(int(seconds[-1] // 60) + 1):
        within = sizes[(seconds >= 60 * minute) & (seconds < 60 * minute + 60)]
        print(f"Minute {minute + 1}: {np.median(within):.0f} MB, {within.max():.0f} MB at most.")
    print(*re.findall(r"^caesura_(?:programs|resident).*$", metrics, re.M), sep="\n")
    soak.draw(asked.picture)
    errors = re.findall(r'^caesura_requests_total\{.*/api/.*status="5\d\d"\} .*$', metrics, re.M)
    ended = [] if code in (0, -signal.SIGTERM) else [f"exit code {code}"]
    wrong = [*soak.wrong(), *errors, *ended]
    sys.exit(f"Not as it should be: {'; '.join(wrong)}." if wrong else 0)


if __name__ == "__main__":
    main()
