"""The double's own clock: anchored to the monotonic one, can be moved on, sped up and stopped.

What Lark counts in time (tokens, idempotency, limits, re-pushes) goes by it, so that six hours pass in no time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


def wall_ms() -> int:
    """Milliseconds since 1970: where the double's clock starts."""
    return time.time_ns() // 1_000_000


class DoubleClock:
    """Milliseconds since 1970 that pass at ``scale`` times the usual pace; 0 stops them."""

    def __init__(
        self, start_ms: int | None = None, scale: float = 1.0, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._monotonic = monotonic
        self._base_ms = float(wall_ms() if start_ms is None else start_ms)
        self._anchor = monotonic()
        self._scale = scale
        self._moved = asyncio.Event()

    @property
    def scale(self) -> float:
        """How many of its seconds pass in one real second."""
        return self._scale

    def now(self) -> int:
        """The present moment in milliseconds."""
        return int(self._base_ms + (self._monotonic() - self._anchor) * 1000 * self._scale)

    def advance(self, seconds: float) -> None:
        """Move on by ``seconds``; everybody whose time has come wakes."""
        self._base_ms += seconds * 1000
        self.wake()

    def set_scale(self, scale: float) -> None:
        """Let time pass ``scale`` times as fast from now on."""
        self._base_ms = float(self._base_ms + (self._monotonic() - self._anchor) * 1000 * self._scale)
        self._anchor = self._monotonic()
        self._scale = scale
        self.wake()

    def wake(self) -> None:
        """Have everybody who sleeps look again at what they wait for."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def sleep_until(self, moment_ms: int | Callable[[], int]) -> None:
        """Return once it is ``moment_ms`` on this clock; a function is asked again whenever somebody wakes."""
        while (left_ms := (moment_ms() if callable(moment_ms) else moment_ms) - self.now()) > 0:
            moved = self._moved
            try:
                async with asyncio.timeout(left_ms / 1000 / self._scale if self._scale > 0 else None):
                    await moved.wait()
            except TimeoutError:
                continue
