"""The clock, the chance and the environment of the real process. Only the composition hands them out."""

from __future__ import annotations

import os
import pwd
import secrets
import threading
import time
from collections.abc import Mapping

from returns.ids import Millis

ID_DIGITS = 20
PIECE_BYTES = ID_DIGITS * 50
"""The chance of 100 ids."""


class SystemClock:
    """The machine's clock, in milliseconds since 1970."""

    def now(self) -> Millis:
        """The present moment."""
        return Millis(time.time_ns() // 1_000_000)


def new_id(prefix: str) -> str:
    """An opaque id that nobody can guess: the prefix, ``_`` and 20 hex digits."""
    return f"{prefix}_{secrets.token_hex(ID_DIGITS // 2)}"


class Ids:
    """Makes the ids of ``new_id`` for a process that needs many: it asks the system for chance in larger pieces."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._digits = ""

    def new(self, prefix: str) -> str:
        """As ``new_id``. From any thread."""
        with self._lock:
            if not self._digits:
                self._digits = secrets.token_hex(PIECE_BYTES)
            digits, self._digits = self._digits[:ID_DIGITS], self._digits[ID_DIGITS:]
        return f"{prefix}_{digits}"


def environment() -> Mapping[str, str]:
    """The process's environment."""
    return os.environ


def user_name() -> str:
    """The operating system's name of the user that this process runs as; its number where it has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
