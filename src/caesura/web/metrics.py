"""Counts and times of requests, in the text format that Prometheus reads."""

import time
from collections import Counter
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0)  # the edges of the histogram


class Metrics:
    """What has happened since the server started."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._finished: Counter[str] = Counter()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request that has been answered."""
        self._requests[method, route, status] += 1
        self._finished[route] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]
        for edge in SECONDS:
            self._within[route, edge] += seconds <= edge

    def render(self, gauges: Mapping[str, int]) -> str:
        """All of it, and some numbers of this moment."""
        lines = ["# TYPE caesura_requests_total counter"]
        for (method, route, status), count in sorted(self._requests.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"caesura_requests_total{{{labels}}} {count}")
        lines.append("# TYPE caesura_request_seconds histogram")
        for route, count in sorted(self._finished.items()):
            for edge in SECONDS:
                within = self._within[route, edge]
                bucket = f'caesura_request_seconds_bucket{{route="{route}",le="{edge}"}}'
                lines.append(f"{bucket} {within}")
            lines += [
                f'caesura_request_seconds_bucket{{route="{route}",le="+Inf"}} {count}',
                f'caesura_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}',
                f'caesura_request_seconds_count{{route="{route}"}} {count}',
            ]
        for name, value in gauges.items():
            lines += [f"# TYPE caesura_{name} gauge", f"caesura_{name} {value}"]
        return "\n".join(lines) + "\n"


class Measured:
    """Counts what goes through."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, statuses = time.perf_counter(), []

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        finally:
            # By routes, not by paths, and by methods that are known: clients cannot make up labels.
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
            status = statuses[0] if statuses else 499  # the client has gone
            self._metrics.count(method, route, status, time.perf_counter() - began)
