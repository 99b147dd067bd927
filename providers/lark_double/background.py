"""Work that goes on beside the requests, owned by one task that is awaited when the double stops."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Background:
    """Runs coroutines until it is stopped; an exception in one of them surfaces in ``stop``."""

    def __init__(self) -> None:
        self._stopping = asyncio.Event()
        self._ready = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._owner: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin; coroutines can be spawned from now on."""
        self._owner = asyncio.create_task(self._own())
        await self._ready.wait()

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        """Run ``work``; once stopping, it is not even begun."""
        if self._group is None or self._stopping.is_set():
            work.close()
            return
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Cancel what still runs and wait for it."""
        self._stopping.set()
        if self._owner is not None:
            await self._owner

    async def _own(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._ready.set()
            await self._stopping.wait()
            for task in list(self._tasks):
                task.cancel()
