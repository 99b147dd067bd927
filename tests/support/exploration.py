"""A database in memory whose transactions are steps that a test can see, stop before, or let fail."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.pool import StaticPool

from providers.storage.bells import Bell, Bells
from providers.storage.schema import ROOMS, create_all
from returns.ledger import wakeups

T = TypeVar("T")

Seen = Callable[[str], Awaitable[None]]
"""Told of every effect before and after it, by name: ``run:before``, ``run:after``, ``read:before`` …"""


async def unseen(_moment: str) -> None:
    """Look at nothing."""


class MemoryTransactions:
    """``returns.ports.Transactions`` over one connection in memory: a closure runs where it is awaited.

    Everything is in one thread, so that whatever drives the event loop drives the database too.
    """

    def __init__(self) -> None:
        self._engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"isolation_level": None, "cached_statements": 512}
        )
        event.listen(self._engine, "begin", _begin)
        create_all(self._engine)
        self._connection = self._engine.connect()
        self.driver.execute("PRAGMA foreign_keys=ON")
        self._bells = Bells()
        self.seen: Seen = unseen
        self.commits = 0

    @property
    def driver(self) -> sqlite3.Connection:
        """The driver's own connection."""
        found = self._connection.connection.driver_connection
        assert isinstance(found, sqlite3.Connection)
        return found

    def save(self) -> bytes:
        """All that is in the database."""
        return self.driver.serialize()

    def load(self, saved: bytes) -> None:
        """Be again as it was then; nobody hears of anything."""
        self.driver.deserialize(saved)
        wakeups.take(self._connection)
        self._bells = Bells()

    def empty(self) -> None:
        """Forget all rows."""
        with self._connection.begin():
            for metadata in reversed(ROOMS):
                for table in reversed(metadata.sorted_tables):
                    self._connection.execute(table.delete())
        self._bells = Bells()

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()
        self._engine.dispose()

    def now(self, work: Callable[[Connection], T]) -> T:
        """Run a closure in a transaction, at once: for the test's own hands."""
        with self._connection.begin():
            result = work(self._connection)
        self.commits += 1
        self._bells.ring(wakeups.take(self._connection))
        return result

    async def run(self, work: Callable[[Connection], T]) -> T:
        await self.seen("run:before")
        result = self.now(work)
        await self.seen("run:after")
        return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        await self.seen("read:before")
        with self._connection.begin():
            result = work(self._connection)
        await self.seen("read:after")
        return result

    def subscribe(self, topic: str) -> Bell:
        return self._bells.add(topic)


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


async def a_step(_moment: str) -> None:
    """Every effect is a point where others may go on."""
    await asyncio.sleep(0)
