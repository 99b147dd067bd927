"""The real ledgers over SQLite in memory, and the transaction port of one life over it.

There is one connection in a process; a history empties the tables instead of making new ones. A closure is performed in
one instant, between two scheduling points, so a kill leaves either all of it or nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, StaticPool, create_engine

from returns.ledger import wakeups
from returns.ledger.tables import metadata
from returns.ports import CommitUnknown, StorageUnavailable
from tests.simulation.loop import Life

T = TypeVar("T")

TABLES = [table.name for table in reversed(metadata.sorted_tables)]


class Database:
    """All that is durable. ``perform`` is a transaction, ``look`` reads; both are one instant."""

    def __init__(self) -> None:
        engine = create_engine(
            "sqlite://",
            poolclass=StaticPool,
            connect_args={"isolation_level": None, "cached_statements": 512, "check_same_thread": False},
        )
        self.connection: Connection = engine.connect()
        metadata.create_all(self.connection)
        self.connection.exec_driver_sql("PRAGMA foreign_keys=ON")
        self.driver: Any = self.connection.connection.driver_connection
        self.commits = 0
        self.bells: list[SimBell] = []
        self.deaf = False
        """A worker does not hear of another one's commits."""
        self.on_commit: Callable[[], None] = lambda: None
        """Called after each."""

    def close(self) -> None:
        """Give the memory back."""
        engine = self.connection.engine
        self.connection.close()
        engine.dispose()

    def empty(self) -> None:
        """Forget everything: for the next history."""
        if self.driver.in_transaction:
            self.driver.execute("ROLLBACK")
        for table in TABLES:
            self.driver.execute(" ".join(["DELETE FROM", table]))
        self.commits = 0
        self.bells = []
        self.on_commit = lambda: None
        wakeups.take(self.connection)

    def perform(self, work: Callable[[Connection], T], *, keep: bool = True, by: Life | None = None) -> T:
        """Run a closure in a transaction; without ``keep`` it is rolled back in the end. Raises what it raises.

        ``by`` is whose it is; None is the driver.
        """
        self.driver.execute("BEGIN")
        try:
            result = work(self.connection)
        except BaseException:
            self.driver.execute("ROLLBACK")
            wakeups.take(self.connection)
            raise
        if not keep:
            self.driver.execute("ROLLBACK")
            wakeups.take(self.connection)
            return result
        self.driver.execute("COMMIT")
        self.commits += 1
        topics = wakeups.take(self.connection)
        if topics:
            for bell in self.bells:
                if bell.topic in topics and (not self.deaf or by is None or bell.life is by):
                    bell.ring()
        self.on_commit()
        return result

    def look(self, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Rows, for the driver and the oracles."""
        rows: list[tuple[Any, ...]] = self.driver.execute(sql, arguments).fetchall()
        return rows


class SimBell:
    """A wakeup of one life: what was rung before it is waited for is kept."""

    def __init__(self, life: Life, topic: str) -> None:
        self.life = life
        self.topic = topic
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Wake the waiter. A dead one does not hear."""
        if self.life.dead:
            return
        self._rung = True
        self._answer()

    async def wait(self, timeout_s: float | None) -> bool:
        """As ``returns.ports.Wakeup``."""
        self.life.check()
        if not self._rung:
            loop = self.life.loop
            waiter = self._waiter = loop.create_future()
            timer = None if timeout_s is None else loop.call_at(loop.time() + timeout_s, self._answer)
            try:
                await waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
            self.life.check()
        rung, self._rung = self._rung, False
        return rung

    def _answer(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Storage:
    """What can go wrong with the database, asked for each transaction. This one is sound; histories override it."""

    def away(self) -> bool:
        """Whether it cannot be reached now."""
        return False

    def commit(self) -> tuple[bool, Exception | None]:
        """Whether what is committed now is kept, and what its caller gets instead of the result."""
        return True, None

    def twice(self) -> bool:
        """Whether the closure runs once more before (its first run is rolled back)."""
        return False


Point = Callable[[str], Any]
"""``await point("run.before")``: a scheduling point of a life, where it may be delayed, paused or killed."""


class SimTransactions:
    """``returns.ports.Transactions`` of one life."""

    def __init__(self, database: Database, life: Life, point: Point, storage: Storage | None = None) -> None:
        self._database = database
        self._life = life
        self._point = point
        self._storage = storage or Storage()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """One durable transaction, at one instant between two points."""
        await self._point("run.before")
        self._life.check()
        if self._storage.away():
            raise StorageUnavailable("simulated: away")
        if self._storage.twice():
            self._database.perform(work, keep=False, by=self._life)
        keep, error = self._storage.commit()
        result = self._database.perform(work, keep=keep, by=self._life)
        await self._point("run.after")
        self._life.check()
        if error is not None:
            raise error
        return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        """One consistent look."""
        await self._point("read.before")
        self._life.check()
        if self._storage.away():
            raise StorageUnavailable("simulated: away")
        result = work(self._database.connection)
        await self._point("read.after")
        self._life.check()
        return result

    def subscribe(self, topic: str) -> SimBell:
        """A bell of this life."""
        bell = SimBell(self._life, topic)
        self._database.bells.append(bell)
        return bell


def lost(kept: bool, *, unknown: bool) -> tuple[bool, Exception | None]:
    """A COMMIT whose outcome the caller does not hear."""
    return kept, CommitUnknown("simulated") if unknown else StorageUnavailable("simulated")
