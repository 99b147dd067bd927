"""Who may take the places for turns: no chat, no app, and nothing that is tried again, takes all of them.

A turn can hang: in a chat of which nothing can be learnt, with an app whose Lark does not answer. What hangs must leave
places to what does not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from returns.ids import AppName

IN_CHAT: Final = 2
"""A chat and its threads take one place of so many."""

SPARE: Final = 4
"""One place of so many is kept: for turns that were not claimed before, and for apps that have none."""


@dataclass(frozen=True, slots=True)
class Claimant:
    """A turn that runs, or that might."""

    chat: str
    app: AppName
    again: bool
    """It was claimed before: it waited, or failed, or its holder is gone."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The places of a gateway, and who has them."""

    places: int
    apps: frozenset[AppName]
    """For which this gateway speaks."""
    own: tuple[Claimant, ...] = ()
    """Running here."""
    elsewhere: tuple[Claimant, ...] = ()
    """Running at other gateways: they count for their chats."""

    def admits(self, claimant: Claimant) -> bool:
        """Whether it may take one more place."""
        if claimant.again and self.again_is_full():
            return False
        return claimant.chat not in self.full_chats() and claimant.app not in self.full_apps()

    def with_one(self, claimant: Claimant) -> Shares:
        """After it took a place."""
        return replace(self, own=(*self.own, claimant))

    def again_is_full(self) -> bool:
        """Whether what was claimed before has its share."""
        return sum(each.again for each in self.own) >= self.places - self._spare

    def full_chats(self) -> frozenset[str]:
        """Chats that have their share."""
        most = max(1, self.places // IN_CHAT)
        running = Counter(each.chat for each in (*self.own, *self.elsewhere))
        return frozenset(chat for chat, count in running.items() if count >= most)

    def full_apps(self) -> frozenset[AppName]:
        """Apps that would take what is kept for the others.

        Each has some of those that are kept as its own; what it takes of them need not be kept any more.
        """
        kept = max(1, self._spare // max(1, len(self.apps) - 1))
        running = Counter(each.app for each in self.own)
        wanting = {app: max(0, kept - running[app]) for app in self.apps}
        free = self.places - len(self.own)

        def is_full(app: AppName) -> bool:
            others = sum(wanting.values()) - wanting[app]
            return running[app] >= kept and free <= min(others, self._spare)

        return frozenset(app for app in self.apps if is_full(app))

    @property
    def _spare(self) -> int:
        return self.places // SPARE
