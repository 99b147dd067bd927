"""``returns.ports.Transactions`` over PostgreSQL: a few threads with a connection each, wakeups from other gateways.

The event loop never waits for the database: a closure is put into a queue, a thread performs it, and its outcome comes
back once it is durable. No caller waits long, whatever became of the server or of the way to it: who was not served in
time is told so, and then nothing of the closure is kept, unless COMMIT was already under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy import Connection

from providers.storage.jobs import Job
from providers.storage.loop_side import LoopSide, nothing
from providers.storage.postgresql_desk import GRACE_S
from providers.storage.postgresql_errors import SILENT
from providers.storage.postgresql_listening import Listener
from providers.storage.postgresql_queue import Ticket
from providers.storage.postgresql_workers import Workers
from returns.ports import CommitUnknown, StorageUnavailable

T = TypeVar("T")

AFTER_S: Final = 0.03
"""How much later than the gateway that committed the others hear of it."""

PATIENCE_S: Final = 2.0
"""How long a caller waits for a database that does not answer: an event must be answered within 2.5 s."""


class PostgresTransactions(LoopSide):
    """``async with PostgresTransactions(url) as transactions``. All its methods belong to the loop that entered it.

    Entering connects and raises ``StorageUnavailable`` where that fails; leaving finishes what was submitted and ends
    the threads. ``UnsupportedDatabase`` is raised for an address that cannot be read.
    """

    def __init__(self, url: str, *, patience_s: float = PATIENCE_S) -> None:
        super().__init__()
        self._patience_s = patience_s
        self._workers = Workers(url, self.settle, patience_s)
        self._listener = Listener(url, self._ring, self._ring_all, self._workers.owns)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a writing transaction and return once it is durable.

        Raises what ``work`` raised (then nothing of it is kept), ``StorageUnavailable`` (then neither) or
        ``CommitUnknown``. If the waiter is cancelled, the closure is either not started or done in full.
        """
        return await self._do(work, reads=False)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a connection that sees one consistent state and cannot write. Raises as ``run`` does."""
        return await self._do(work, reads=True)

    async def begin(self) -> None:
        """Start the threads and connect."""
        self._workers.start()
        self._listener.start()
        await self.run(nothing)
        await asyncio.to_thread(self._listener.tried.wait)

    def end(self) -> None:
        """Finish what was submitted."""
        self._workers.stop()
        self._listener.stop()

    def join(self) -> None:
        """Wait for the threads."""
        self._workers.join()
        self._listener.join()

    async def _do(self, work: Callable[[Connection], T], *, reads: bool) -> T:
        self.admit(self._workers.waiting)
        loop = asyncio.get_running_loop()
        job = Job(work, loop.create_future())
        ticket = self._workers.submit(job, reads=reads)
        late = loop.call_later(self._patience_s, self._late, ticket)
        try:
            return await job.outcome()
        finally:
            late.cancel()

    def _late(self, ticket: Ticket) -> None:
        """Nobody has begun it in all that time; what has begun gets a moment more."""
        if self._workers.leave(ticket, running=False):
            ticket.job.refuse(StorageUnavailable(SILENT))
        elif self.loop is not None:
            self.loop.call_later(GRACE_S, self._too_late, ticket)

    def _too_late(self, ticket: Ticket) -> None:
        if self._workers.leave(ticket, running=True):
            ticket.job.refuse(StorageUnavailable(SILENT))
        else:
            ticket.job.refuse(CommitUnknown("the database did not say in time what became of a COMMIT"))

    def _ring(self, topics: frozenset[str]) -> None:
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self._ring_later, topics)

    def _ring_later(self, topics: frozenset[str]) -> None:
        """Whoever committed goes first, so that not all gateways reach for the same."""
        if self.loop is not None:
            self.loop.call_later(AFTER_S, self.bells.ring, topics)

    def _ring_all(self) -> None:
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.bells.ring_all)
