"""The end of the server, for requests that only wait: they answer at once instead of holding it up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from aiohttp import web

T = TypeVar("T")


class Closing:
    """Whether the server takes no more connections, and who waits meanwhile."""

    __slots__ = ("_begun", "_waits")

    def __init__(self) -> None:
        self._begun = False
        self._waits: set[asyncio.Timeout] = set()

    def begin(self) -> None:
        """End every wait, and those to come."""
        self._begun = True
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            wait.reschedule(now)

    async def unless(self, waiting: Awaitable[T]) -> T | None:
        """What ``waiting`` comes to; None when the server ends before that, and then ``waiting`` is cancelled."""
        wait = asyncio.timeout(0 if self._begun else None)
        try:
            async with wait:
                self._waits.add(wait)
                return await waiting
        except TimeoutError:
            if not wait.expired():
                raise
            return None
        finally:
            self._waits.discard(wait)


CLOSING: Final = web.AppKey("closing", Closing)
"""Where a request's application keeps it: ``await request.app[CLOSING].unless(…)``."""
