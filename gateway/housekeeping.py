"""Housekeeping by the clock: forgets idempotency keys whose time is over. Never part of a delivery."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol, cast

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from manager.ledger import idempotency
from returns.ports import Clock, StorageUnavailable, Transactions

HOURS = 1


class Scheduler(Protocol):
    """What is used of APScheduler, which has no types."""

    def add_job(
        self, func: Callable[[], Awaitable[None]], trigger: str, *, hours: int, max_instances: int, coalesce: bool
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
async def housekeeping(transactions: Transactions, clock: Clock) -> AsyncGenerator[None]:
    """Run the jobs while the block runs."""

    async def purge() -> None:
        try:
            await transactions.run(lambda connection: idempotency.purge(connection, clock.now()))
        except StorageUnavailable:
            logger.warning("Housekeeping found the database unavailable; it tries again in %d h.", HOURS)

    scheduler = cast("Scheduler", AsyncIOScheduler(timezone="UTC"))
    scheduler.add_job(purge, "interval", hours=HOURS, max_instances=1, coalesce=True)
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)
