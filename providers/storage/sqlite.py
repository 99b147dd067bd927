"""``returns.ports.Transactions`` over one SQLite file: WAL, every commit flushed, one writer thread, a few readers.

The event loop never waits for the database: a closure is put into a queue, a thread performs it, and its outcome comes
back once it is durable. Other processes may write to the same file at the same time; they take turns by transactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection

from providers.storage.jobs import Job
from providers.storage.loop_side import LoopSide, nothing
from providers.storage.readers import Readers
from providers.storage.writer import Writer

T = TypeVar("T")


class SqliteTransactions(LoopSide):
    """``async with SqliteTransactions(path) as transactions``. All its methods belong to the loop that entered it.

    Entering opens (or makes) the file and raises ``StorageUnavailable`` where that fails; leaving finishes what was
    submitted and ends the threads.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._writer = Writer(path, self.settle)
        self._readers = Readers(path, self.settle)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a writing transaction, shared with others, and return once it is durable.

        Raises what ``work`` raised (then nothing of it is kept) or ``StorageUnavailable``. If the waiter is cancelled,
        the closure is either not started or done in full.
        """
        self.admit(self._writer.waiting)
        job = Job(work, asyncio.get_running_loop().create_future())
        self._writer.submit(job)
        return await job.outcome()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a connection that sees one consistent state and cannot write. Raises as ``run`` does."""
        self.admit(self._readers.waiting)
        job = Job(work, asyncio.get_running_loop().create_future())
        self._readers.submit(job)
        return await job.outcome()

    async def begin(self) -> None:
        """Start the threads and open the file."""
        self._writer.start()
        self._readers.start()
        await self.run(nothing)

    def end(self) -> None:
        """Finish what was submitted."""
        self._writer.stop()
        self._readers.stop()

    def join(self) -> None:
        """Wait for the threads."""
        self._writer.join()
        self._readers.join()
