"""Prometheus metrics of one composition: a registry of its own, labels from small fixed sets, nothing private."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache

from aiohttp import web
from aiohttp.typedefs import Middleware
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest

from gateway.http.auth import Operator
from gateway.http.errors import Handler
from manager.service.retention import Pruned

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counts and times; ``registry`` takes what other parts want shown."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._events = Counter(
            "lark_steward_events",
            "Pushes of Lark by outcome and kind of event.",
            ("outcome", "kind"),
            registry=self.registry,
        )
        self._requests = Counter(
            "lark_steward_http_requests",
            "HTTP requests by route, method and status.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "lark_steward_http_request_seconds",
            "Time from a request's headers to its answer.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._pruned = Counter(
            "lark_steward_pruned_rows",
            "Rows that retention forgot, by kind.",
            ("kind",),
            registry=self.registry,
        )
        # The label sets are small; looking a child up by its labels each time is not.
        self._event = lru_cache(maxsize=512)(self._events.labels)
        self._request = lru_cache(maxsize=2048)(self._requests.labels)
        self._timer = lru_cache(maxsize=512)(self._seconds.labels)

    def event(self, outcome: str, kind: str = "none") -> None:
        """One more push with this outcome, for this kind of event."""
        self._event(outcome, kind).inc()

    def http(self, route: str, method: str, status: int, seconds: float) -> None:
        """One more answered request; ``route`` is a pattern, never a path."""
        self._request(route, method if method in METHODS else "other", str(status)).inc()
        self._timer(route).observe(seconds)

    def pruned(self, pruned: Pruned) -> None:
        """What a run of retention forgot."""
        for kind, rows in (("texts", pruned.texts), ("events", pruned.events), ("idempotency_keys", pruned.keys)):
            self._pruned.labels(kind).inc(rows)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)


def metrics_middleware(metrics: Metrics, timer: Callable[[], float] = time.perf_counter) -> Middleware:
    """Times every request; stands outside the errors, so that it sees the status that leaves."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = timer()
        status = 500
        try:
            response = await handler(request)
            status = response.status
        except web.HTTPException as error:
            status = error.status
            raise
        finally:
            metrics.http(route_of(request), request.method, status, timer() - started)
        return response

    return middleware


def route_of(request: web.Request) -> str:
    """The pattern that the path matched, ``none`` for what matched nothing."""
    resource = request.match_info.route.resource
    return "none" if resource is None else resource.canonical


def metrics_routes(metrics: Metrics, operator: Operator) -> list[web.RouteDef]:
    """``GET /metrics``, for the operator."""

    async def show(request: web.Request) -> web.StreamResponse:
        operator.require(request)
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})

    return [web.get("/metrics", show)]
