"""Two gateways that meet: one keeps its transaction open until the other waits for it, or has passed it by."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Connection

from providers.storage.postgresql import PostgresTransactions
from returns.ports import Transactions

T = TypeVar("T")
Deed = Callable[[Any], Awaitable[Any]]
"""What one gateway does over its transactions."""

WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
    "AND pid <> pg_backend_pid()"
)
LIMIT_S = 20


class Slow:
    """Transactions of which the first is kept open before its end until it may go on."""

    def __init__(self, inner: Transactions) -> None:
        self._inner = inner
        self.entered = threading.Event()
        self.go = threading.Event()

    async def run(self, work: Callable[[Connection], T]) -> T:
        def held(connection: Connection) -> T:
            value = work(connection)
            self.entered.set()
            self.go.wait(LIMIT_S)
            return value

        return await self._inner.run(held)

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._inner.read(work)

    def subscribe(self, topic: str) -> Any:
        return self._inner.subscribe(topic)


@dataclass
class Two:
    """The transactions of two gateways over one database."""

    url: str
    one: PostgresTransactions
    other: PostgresTransactions

    async def meet(self, first: Deed, second: Deed) -> tuple[Any, Any, bool]:
        """What both came to, and whether the second had to wait. ``first`` is in the middle when ``second`` begins."""
        slow = Slow(self.one)
        watcher = await psycopg.AsyncConnection.connect(self.url, autocommit=True)
        async with watcher, asyncio.timeout(LIMIT_S):
            begun = asyncio.ensure_future(first(slow))
            while not slow.entered.is_set():
                assert not begun.done(), f"it never wrote: {begun}"
                await asyncio.sleep(0.002)
            follows = asyncio.ensure_future(second(self.other))
            waited = False
            while not follows.done() and not waited:
                row = await (await watcher.execute(WAITING)).fetchone()
                waited = row is not None and row[0] > 0
                await asyncio.sleep(0.002)
            slow.go.set()
            return await begun, await follows, waited


@asynccontextmanager
async def two_gateways(url: str) -> AsyncIterator[Two]:
    """Two ports over one database."""
    async with (
        PostgresTransactions(url, patience_s=LIMIT_S) as one,
        PostgresTransactions(url, patience_s=LIMIT_S) as other,
    ):
        yield Two(url, one, other)


def closure(work: Callable[[Connection], Any]) -> Deed:
    """A deed of one writing transaction."""
    return lambda transactions: transactions.run(work)
