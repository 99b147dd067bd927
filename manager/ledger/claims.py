"""The keys of events that are taken together: read at once, taken one after the other, written at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from manager.ledger import events
from manager.ledger.events import Claim
from returns.ids import AppName, Millis


class Claims:
    """What is taken, as one transaction sees it: in the ledger, and by what the transaction took since."""

    def __init__(self, connection: Connection, asked: Collection[tuple[AppName, str]]) -> None:
        """Read the keys that will be asked for; another one is read when it is asked for."""
        self._connection = connection
        self._known: dict[tuple[AppName, str], Claim | None] = {}
        self._taken: list[tuple[AppName, str, Claim]] = []
        for app in {app for app, _ in asked}:
            self._read(app, [key for of, key in asked if of == app])

    def find(self, app: AppName, keys: Sequence[str]) -> dict[str, Claim]:
        """Those of the keys that are taken, and by whom."""
        new = [key for key in keys if (app, key) not in self._known]
        if new:
            self._read(app, new)
        return {key: claim for key in keys if (claim := self._known[app, key]) is not None}

    def take(self, app: AppName, keys: Sequence[str], claim: Claim) -> None:
        """Take keys that are free."""
        for key in keys:
            self._known[app, key] = claim
            self._taken.append((app, key, claim))

    def write(self, now: Millis) -> bool:
        """Write what was taken; False when somebody else took one of the keys since they were read (then roll back)."""
        taken, self._taken = self._taken, []
        return events.claim_all(self._connection, taken, now)

    def _read(self, app: AppName, keys: Sequence[str]) -> None:
        found = events.claims(self._connection, app, keys)
        self._known.update({(app, key): found.get(key) for key in keys})
