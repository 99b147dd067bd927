"""What every transaction port does on its event loop: open and close its threads, admit, tell what is settled."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from sqlalchemy import Connection

from providers.storage.bells import Bell, Bells
from providers.storage.jobs import Work
from returns.ports import StorageUnavailable

WAITING: Final = 10_000
"""The most closures that may wait; more are refused at once, so that memory stays bounded."""


class LoopSide(ABC):
    """All its methods belong to the loop that entered it, but ``settle``, which the threads call."""

    def __init__(self) -> None:
        self.bells = Bells()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._open = False

    @abstractmethod
    async def begin(self) -> None:
        """Start the threads and prove that the database is there. Raises ``StorageUnavailable``."""

    @abstractmethod
    def end(self) -> None:
        """Finish what was submitted and end the threads. Returns at once."""

    @abstractmethod
    def join(self) -> None:
        """Wait for the end of the threads."""

    async def __aenter__(self) -> Self:
        self.loop = asyncio.get_running_loop()
        self._open = True
        try:
            await self.begin()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self._close()

    def subscribe(self, topic: str) -> Bell:
        """A wakeup for a topic; it ends with the last reference to it."""
        return self.bells.add(topic)

    def admit(self, waiting: int) -> None:
        """Raises ``StorageUnavailable`` where no more closures can be taken."""
        if not self._open:
            raise StorageUnavailable("the database is closed")
        if waiting >= WAITING:
            raise StorageUnavailable("too many transactions wait for the database")

    def settle(self, jobs: Sequence[Work], topics: frozenset[str]) -> None:
        """Tell the waiters of these jobs, and ring the topics; called in any thread."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self._settle_here, jobs, topics)

    def _settle_here(self, jobs: Sequence[Work], topics: frozenset[str]) -> None:
        for job in jobs:
            job.settle()
        self.bells.ring(topics)

    async def _close(self) -> None:
        self._open = False
        self.end()
        await asyncio.to_thread(self.join)


def nothing(connection: Connection) -> None:
    """An empty transaction: opening is proved by committing one."""
    connection.exec_driver_sql("SELECT 1")
