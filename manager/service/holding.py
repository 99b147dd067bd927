"""Work that can be let go of: it is cancelled, and the one who does it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")


class Hold:
    """The hold on one turn."""

    def __init__(self) -> None:
        self._until: asyncio.Timeout | None = None
        self._gone = False

    def let_go(self) -> None:
        """End the work, now or before it begins; nothing happens to work that has ended."""
        self._gone = True
        if self._until is not None and not self._until.expired():
            self._until.reschedule(asyncio.get_running_loop().time())

    async def during(self, work: Callable[[], Coroutine[None, None, T]]) -> T | None:
        """Do the work, which may not raise ``TimeoutError``; None when it was let go of."""
        if self._gone:
            return None
        until = self._until = asyncio.timeout(None)
        try:
            async with until:
                return await work()
        except TimeoutError:
            return None
        finally:
            self._until = None
