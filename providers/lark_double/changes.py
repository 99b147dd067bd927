"""Waiting for something to be so, woken by every change: nobody polls and nobody sleeps and hopes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class NotSeen(Exception):
    """What was waited for did not come about in time."""

    code = "not_seen"


class Changes:
    """Rings at every change of the double's state."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Something changed."""
        self._event.set()
        self._event = asyncio.Event()

    async def until(self, look: Callable[[], T], timeout_s: float, what: str = "") -> T:
        """What ``look`` returns as soon as that is true. Raises ``NotSeen`` after ``timeout_s`` seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    event = self._event
                    seen = look()
                    if seen:
                        return seen
                    await event.wait()
        except TimeoutError as late:
            raise NotSeen(f"not seen within {timeout_s} s: {what or 'what was waited for'}") from late
