"""Waiting for a fact that has to be asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
PAUSE_S = 0.03


async def until(look: Callable[[], Awaitable[T]], within_s: float) -> T:
    """What ``look`` gives as soon as that is true. Raises ``TimeoutError``."""
    async with asyncio.timeout(within_s):
        while True:
            found = await look()
            if found:
                return found
            await asyncio.sleep(PAUSE_S)
