"""One question at a time: whoever waits for it shares the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Flight(Generic[T]):
    """Runs ``ask`` for one caller at a time. A caller who is cancelled leaves it to the next one."""

    def __init__(self, ask: Callable[[], Awaitable[T]]) -> None:
        self._ask = ask
        self._lock = asyncio.Lock()
        self._landed = 0
        self._brought: list[T] = []

    @property
    def under_way(self) -> bool:
        """Whether somebody is asking now."""
        return self._lock.locked()

    async def shared(self) -> T:
        """The answer that came while waiting, or a new one."""
        seen = self._landed
        async with self._lock:
            if self._landed == seen:
                self._brought = [await self._ask()]
                self._landed += 1
            return self._brought[0]
