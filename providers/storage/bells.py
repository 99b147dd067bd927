"""Wakeups: who waits for a topic hears of the next commit that announced it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from weakref import WeakSet


class Bell:
    """A ``returns.ports.Wakeup``. A ring that nobody waits for is kept until the next wait. In the event loop only."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    async def wait(self, timeout_s: float | None) -> bool:
        """True as soon as it was rung since the last wait, False after ``timeout_s`` seconds (None: never)."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True

    def ring(self) -> None:
        """Wake the waiter."""
        self._rung.set()


class Bells:
    """The bells by topic. One that nobody holds any more is forgotten."""

    def __init__(self) -> None:
        self._by_topic: dict[str, WeakSet[Bell]] = {}

    def add(self, topic: str) -> Bell:
        """A new bell of the topic."""
        bell = Bell()
        self._by_topic.setdefault(topic, WeakSet()).add(bell)
        return bell

    def ring(self, topics: Iterable[str]) -> None:
        """Ring every bell of the topics."""
        for topic in topics:
            for bell in tuple(self._by_topic.get(topic, ())):
                bell.ring()

    def ring_all(self) -> None:
        """Ring every bell: what was announced meanwhile was not heard."""
        self.ring(tuple(self._by_topic))
