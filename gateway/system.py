"""The clock and the chance of the real process. Only the composition hands them out."""

from __future__ import annotations

import secrets
import time

from returns.ids import Millis


class SystemClock:
    """The machine's clock, in milliseconds since 1970."""

    def now(self) -> Millis:
        """The present moment."""
        return Millis(time.time_ns() // 1_000_000)


def new_id(prefix: str) -> str:
    """An opaque id that nobody can guess: the prefix, ``_`` and 20 hex digits."""
    return f"{prefix}_{secrets.token_hex(10)}"
