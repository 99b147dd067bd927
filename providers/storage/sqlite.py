"""``returns.ports.Transactions`` over one SQLite file: WAL, every commit flushed, one writer thread, a few readers.

The event loop never waits for the database: a closure is put into a queue, a thread performs it, and its outcome comes
back once it is durable. Other processes may write to the same file at the same time; they take turns by transactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from sqlalchemy import Connection

from providers.storage.bells import Bell, Bells
from providers.storage.jobs import Job, Work
from providers.storage.readers import Readers
from providers.storage.writer import Writer
from returns.ports import StorageUnavailable

T = TypeVar("T")

WAITING = 10_000
"""The most closures that may wait; more are refused at once, so that memory stays bounded."""


class SqliteTransactions:
    """``async with SqliteTransactions(path) as transactions``. All its methods belong to the loop that entered it.

    Entering opens (or makes) the file and raises ``StorageUnavailable`` where that fails; leaving finishes what was
    submitted and ends the threads.
    """

    def __init__(self, path: Path) -> None:
        self._bells = Bells()
        self._writer = Writer(path, self._settle)
        self._readers = Readers(path, self._settle)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open = False

    async def __aenter__(self) -> SqliteTransactions:
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._writer.start()
        self._readers.start()
        try:
            await self.run(_nothing)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self._close()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a writing transaction, shared with others, and return once it is durable.

        Raises what ``work`` raised (then nothing of it is kept) or ``StorageUnavailable``. If the waiter is cancelled,
        the closure is either not started or done in full.
        """
        self._admit(self._writer.waiting)
        job = Job(work, asyncio.get_running_loop().create_future())
        self._writer.submit(job)
        return await job.outcome()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a connection that sees one consistent state and cannot write. Raises as ``run`` does."""
        self._admit(self._readers.waiting)
        job = Job(work, asyncio.get_running_loop().create_future())
        self._readers.submit(job)
        return await job.outcome()

    def subscribe(self, topic: str) -> Bell:
        """A wakeup for a topic; it ends with the last reference to it."""
        return self._bells.add(topic)

    def _admit(self, waiting: int) -> None:
        if not self._open:
            raise StorageUnavailable("the database is closed")
        if waiting >= WAITING:
            raise StorageUnavailable("too many transactions wait for the database")

    def _settle(self, jobs: Sequence[Work], topics: frozenset[str]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._settle_here, jobs, topics)

    def _settle_here(self, jobs: Sequence[Work], topics: frozenset[str]) -> None:
        for job in jobs:
            job.settle()
        self._bells.ring(topics)

    async def _close(self) -> None:
        self._open = False
        self._writer.stop()
        self._readers.stop()
        await asyncio.to_thread(self._join)

    def _join(self) -> None:
        self._writer.join()
        self._readers.join()


def _nothing(connection: Connection) -> None:
    """An empty transaction: opening is proved by committing one."""
    connection.exec_driver_sql("SELECT 1")
