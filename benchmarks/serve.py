"""What the server answers at 1, 8, 32 and 64 clients: fills done together against one by one.

    python benchmarks/serve.py           by the model that comes with the library, some minutes
    python benchmarks/serve.py --quick   a small net and no claims: does it still run?
    python benchmarks/serve.py --clients 8 --together 1 2 4 16   how many at once are best?

Every client asks for one text after another, each of 20 to 2000 characters with one to three gaps
of 1 to 12 characters, by the model's default strategy. The texts are parts of this project's
documentation. All servers are asked the same, in turn, and nothing is asked twice of any. What
counts is how they compare: clocks differ from machine to machine and from minute to minute. The
processor time of a request, that of the client included, differs less.
"""

import argparse
import asyncio
import statistics
import time
from pathlib import Path

import httpx
import jax
import numpy as np

import caesura
from caesura.filler.filler import Filler
from caesura.kinds import Text
from caesura.nets.frames import make_frame
from caesura.nets.rnn import bidirectional, unidirectional
from caesura.web import Limits, make_app

CLIENTS = (1, 8, 32, 64)
ROUNDS = 2
LONGEST_TEXT = 2000
DOCS = Path(__file__).parent.parent / "docs"
PAGES = "".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
TEXT = PAGES.translate(str.maketrans("_{}", "   "))  # which would be gaps by themselves
LONGEST_GAP = 12


def small_filler() -> Filler:
    kind = Text("".join(map(chr, range(32, 127))))
    key, frame = jax.random.key(0), make_frame(kind.frame)
    both = bidirectional(key, frame, head="softmax", hidden=8, missing_input="added")
    forward = unidirectional(key, frame, head="softmax", hidden=8)
    return Filler(kind, {"bidirectional": both, "forward": forward}, "search")


def question(number: int) -> dict[str, object]:
    """Another text, other gaps and another seed for each."""
    rng = np.random.default_rng(number)
    length, missing = int(rng.integers(20, LONGEST_TEXT + 1)), []
    at = int(rng.integers(len(TEXT) - length))
    for _ in range(int(rng.integers(1, 4))):
        gap = int(rng.integers(1, LONGEST_GAP + 1))
        first = int(rng.integers(0, length - gap))
        missing.append({"first": first, "stop": first + gap})
    return {"model": "text", "sequence": TEXT[at : at + length], "missing": missing, "seed": number}


async def ask(
    client: httpx.AsyncClient, clients: int, questions: range
) -> tuple[float, list[float]]:
    """Seconds in all, and of each request; every client has one under way."""
    numbers, took = iter(questions), list[float]()

    async def one_client() -> None:
        for number in numbers:
            began = time.perf_counter()
            answer = await client.post("/api/fill", json=question(number))
            assert answer.status_code == 200, answer.text
            took.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(one_client() for _ in range(clients)))
    return time.perf_counter() - began, took


async def measure(
    filler: Filler, numbers: list[int], sizes: list[int], requests: int, rounds: int
) -> None:
    servers, first = {}, 8
    for together in sizes:
        name = "one by one" if together == 1 else f"up to {together} together"
        limits = Limits(waiting=max(4, *numbers), together=together, seconds=600.0)
        transport = httpx.ASGITransport(make_app({"text": filler.with_kind()}, limits=limits))
        servers[name] = httpx.AsyncClient(transport=transport, base_url="http://x", timeout=600)
        await ask(servers[name], 4, range(first))
    print("| clients | server | a second | times the first | p50 | p95 | processor time of one |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for clients in numbers:
        seconds: dict[str, list[float]] = {name: [] for name in servers}
        latencies: dict[str, list[float]] = {name: [] for name in servers}
        worked: dict[str, list[float]] = {name: [] for name in servers}
        for _ in range(rounds):
            questions = range(first, first + max(requests, clients))
            first = questions.stop
            for name, client in servers.items():
                began = time.process_time()
                whole, each = await ask(client, clients, questions)
                worked[name].append((time.process_time() - began) / len(questions))
                seconds[name].append(whole / len(questions))
                latencies[name] += each
        rates = {name: 1 / statistics.median(some) for name, some in seconds.items()}
        for name, rate in rates.items():
            p50, p95 = np.quantile(latencies[name], [0.5, 0.95])
            gain = rate / next(iter(rates.values()))
            cells = [clients, name, f"{rate:.1f}", f"{gain:.2f}", f"{p50:.2f} s", f"{p95:.2f} s"]
            cells.append(f"{statistics.median(worked[name]):.2f} s")
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small net, few requests")
    parser.add_argument("--requests", type=int, default=64, help="at each number of clients")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    sizes = (1, Limits().together)
    parser.add_argument("--together", type=int, nargs="+", default=sizes, help="a server for each")
    given = parser.parse_args()
    filler = small_filler() if given.quick else caesura.load("text")
    requests = 16 if given.quick else given.requests
    asyncio.run(measure(filler, given.clients, given.together, requests, given.rounds))


if __name__ == "__main__":
    main()
