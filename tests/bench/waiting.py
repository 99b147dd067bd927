"""Waiting for what somebody else does, by looking again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def until(look: Callable[[], Awaitable[bool]], every_s: float, within_s: float = 300) -> None:
    """Look every ``every_s`` seconds until it is so. Raises ``TimeoutError``."""
    async with asyncio.timeout(within_s):
        while True:
            if await look():
                return
            await asyncio.sleep(every_s)
