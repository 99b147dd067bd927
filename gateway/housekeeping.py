"""Housekeeping by the clock: forgets what is over and old (``[retention]``). Never part of a delivery."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Protocol, cast

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from gateway.http.metrics import Metrics
from manager.service.retention import Retention
from returns.ports import Clock, StorageUnavailable

HOURS = 1
FIRST_AFTER_MS = 60_000


class Scheduler(Protocol):
    """What is used of APScheduler, which has no types."""

    def add_job(
        self,
        func: Callable[[], Awaitable[None]],
        trigger: str,
        *,
        hours: int,
        next_run_time: datetime,
        max_instances: int,
        coalesce: bool,
    ) -> object:
        """Run ``func`` again and again."""
        ...

    def start(self) -> None:
        """Begin."""
        ...

    def shutdown(self, *, wait: bool) -> None:
        """End."""
        ...


logger = logging.getLogger(__name__)


@asynccontextmanager
async def housekeeping(retention: Retention, metrics: Metrics, clock: Clock) -> AsyncGenerator[None]:
    """Run the jobs while the block runs: soon after its beginning, then every hour."""

    async def prune() -> None:
        try:
            pruned = await retention.run()
        except StorageUnavailable:
            logger.warning("Housekeeping found the database unavailable; it tries again in %d h.", HOURS)
            return
        metrics.pruned(pruned)
        if pruned.texts or pruned.events:
            logger.info(
                "forgot %d rows of texts of %d requests, %d events", pruned.texts, pruned.requests, pruned.events
            )

    first = datetime.fromtimestamp((clock.now() + FIRST_AFTER_MS) / 1000, UTC)
    scheduler = cast("Scheduler", AsyncIOScheduler(timezone="UTC"))
    scheduler.add_job(prune, "interval", hours=HOURS, next_run_time=first, max_instances=1, coalesce=True)
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)
