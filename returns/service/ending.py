"""The orderly end of a process: no send begins any more, and those that are under way have some time to end.

What Lark says to a send is known only to who made it. A process that ends before it has heard leaves an attempt whose
outcome others have to look for, and that a person has to settle where nothing is found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress


class Ending:
    """Whether the end has come, and which sends are under way."""

    __slots__ = ("_begun", "_none_left", "_under_way")

    def __init__(self) -> None:
        """The end has not come."""
        self._begun = False
        self._under_way = 0
        self._none_left = asyncio.Event()

    @property
    def begun(self) -> bool:
        """Whether the end has come: no attempt is committed any more, and what has not left yet does not leave."""
        return self._begun

    @property
    def under_way(self) -> int:
        """How many sends are under way."""
        return self._under_way

    @contextmanager
    def sending(self) -> Generator[bool]:
        """A send is under way while the block runs, if it may begin: the block is told whether it may."""
        if self._begun:
            yield False
            return
        self._under_way += 1
        try:
            yield True
        finally:
            self._under_way -= 1
            self._look()

    def begin(self) -> None:
        """The end has come."""
        self._begun = True
        self._look()

    async def wait(self, within_s: float) -> None:
        """Wait for the sends that are under way, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._none_left.wait()

    def _look(self) -> None:
        if self._begun and self._under_way == 0:
            self._none_left.set()
