"""The clock, the chance and the environment of the real process. Only the composition hands them out."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping

from returns.ids import Millis


class SystemClock:
    """The machine's clock, in milliseconds since 1970."""

    def now(self) -> Millis:
        """The present moment."""
        return Millis(time.time_ns() // 1_000_000)


def new_id(prefix: str) -> str:
    """An opaque id that nobody can guess: the prefix, ``_`` and 20 hex digits."""
    return f"{prefix}_{secrets.token_hex(10)}"


def environment() -> Mapping[str, str]:
    """The process's environment."""
    return os.environ
