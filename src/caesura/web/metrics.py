"""Counts and times of requests, for Prometheus."""

import time
from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0)  # the edges of the histogram


class Metrics:
    """Counts since the server started, and gauges: by name, a description and a function."""

    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]]) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "caesura_requests_total",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "caesura_request_seconds",
            "How long answers took.",
            ("route",),
            registry=self._registry,
            buckets=SECONDS,
        )
        for name, (meaning, number) in gauges.items():
            Gauge(name, meaning, registry=self._registry).set_function(number)

    def render(self) -> bytes:
        """Return all of it in the text format of Prometheus."""
        return generate_latest(self._registry)


class Measured:
    """Middleware that counts requests."""

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
            # By routes, not by paths, and by known methods: clients cannot make up labels.
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
            status = statuses[0] if statuses else 499  # the client has gone
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - began)
