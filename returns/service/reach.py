"""Which apps could not be read lately. A hint, in memory: what it says of a crash is of no use to anybody."""

from __future__ import annotations

from typing import Final

from returns.ids import AppName, Millis

HURRY_EVERY_MS: Final = 60_000
"""What waits for an app to be readable again is hurried no more often than this: it may be a single chat that cannot
be read, and then every good reading beside it would have all others try again."""


class Reach:
    """Remembers which apps could not be read, and when what waited for one was hurried."""

    __slots__ = ("_hurried_at", "_lost")

    def __init__(self) -> None:
        self._lost: set[AppName] = set()
        self._hurried_at: dict[AppName, Millis] = {}

    def is_lost(self, app: AppName) -> bool:
        """Whether the last reading failed."""
        return app in self._lost

    def lose(self, app: AppName) -> None:
        """A reading failed."""
        self._lost.add(app)

    def regain(self, app: AppName, now: Millis) -> bool:
        """A reading came through; whether what waits for that is to be hurried."""
        was_lost = app in self._lost
        self._lost.discard(app)
        before = self._hurried_at.get(app)
        if not was_lost or (before is not None and 0 <= now - before < HURRY_EVERY_MS):
            return False
        self._hurried_at[app] = now
        return True
