"""How far our clock is from Lark's, as the ``Date`` of its answers tells: whole seconds, and late by the way back.

https://www.rfc-editor.org/rfc/rfc9110#name-date
"""

from __future__ import annotations

from typing import Final

from returns.ids import Millis

MOST_MS: Final = 7 * 24 * 60 * 60 * 1000
"""A date that differs by more than this says nothing of a clock."""


class Skew:
    """One app's; negative where our clock is behind."""

    __slots__ = ("largest_ms", "last_ms")

    def __init__(self) -> None:
        self.last_ms: int | None = None
        """By the last answer; None before the first."""
        self.largest_ms = 0
        """The most that our clock was ahead, ever since: what was noted of earlier moments was noted by it."""

    def see(self, now: Millis, dated: Millis | None) -> None:
        """An answer of that date came now."""
        if dated is None or abs(now - dated) > MOST_MS:
            return
        self.last_ms = now - dated
        self.largest_ms = max(self.largest_ms, self.last_ms)
