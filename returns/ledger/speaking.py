"""Which living gateways speak for which apps. Each says so again and again, and is believed for a while.

A gateway speaks for the apps of its configuration whose credentials the provider takes. What belongs to an app is left
to those that speak for it; what belongs to an app that nobody speaks for is anybody's, so that it is said of it that it
waits for its configuration. When somebody speaks for it again, it is tried at once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, cast

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from returns.delivery import State
from returns.ids import AppName, Millis
from returns.ledger import checks
from returns.ledger.lanes import SEND
from returns.ledger.prepared import Prepared
from returns.ledger.tables import app_speakers, parts
from returns.ledger.wakeups import RETURNS, TURNS, announce

KEPT_MS: Final = 3_600_000
"""What was said so long ago is forgotten: a gateway that starts has another name."""

_OF_OWNER: Final = Prepared(
    select(app_speakers.c.app, app_speakers.c.until).where(app_speakers.c.owner == bindparam("owner"))
)
_OTHERS: Final = Prepared(
    select(app_speakers.c.app)
    .where(app_speakers.c.owner != bindparam("owner"), app_speakers.c.until > bindparam("now"))
    .distinct()
)
_SAY: Final = Prepared(insert(app_speakers), ("owner", "app", "until"))
_SAY_AGAIN: Final = Prepared(
    update(app_speakers)
    .where(app_speakers.c.owner == bindparam("of_owner"), app_speakers.c.app == bindparam("of_app"))
    .values(until=bindparam("till"))
)
_TAKE_BACK: Final = Prepared(
    delete(app_speakers).where(app_speakers.c.owner == bindparam("owner"), app_speakers.c.app == bindparam("app"))
)
_FORGET: Final = Prepared(delete(app_speakers).where(app_speakers.c.until < bindparam("before")))


def say(connection: Connection, owner: str, apps: Collection[AppName], now: Millis, until: Millis) -> None:
    """Speak for these apps, and no others, until then. What waited for an app's configuration alone is due now."""
    said = {AppName(cast("str", row["app"])): cast("int", row["until"]) for row in _of(connection, owner)}
    for app in said.keys() - set(apps):
        take_back(connection, owner, app)
    for app in sorted(apps):
        if app in said:
            _SAY_AGAIN.run(connection, {"of_owner": owner, "of_app": app, "till": until})
        else:
            _SAY.run(connection, {"owner": owner, "app": app, "until": until})
        if said.get(app, 0) <= now:
            _hurry(connection, app, now)
    _FORGET.run(connection, {"before": now - KEPT_MS})


def take_back(connection: Connection, owner: str, app: AppName) -> None:
    """Speak for an app no more."""
    _TAKE_BACK.run(connection, {"owner": owner, "app": app})


def others(connection: Connection, owner: str, now: Millis) -> frozenset[AppName]:
    """The apps that other living gateways speak for."""
    rows = _OTHERS.rows(connection, {"owner": owner, "now": now})
    return frozenset(AppName(cast("str", row["app"])) for row in rows)


def _of(connection: Connection, owner: str) -> list[dict[str, object]]:
    return [dict(row) for row in _OF_OWNER.rows(connection, {"owner": owner})]


def _hurry(connection: Connection, app: AppName, now: Millis) -> None:
    """Parts that another gateway has in hand at this moment are left to it: waiting would be a deadlock."""
    waiting = select(parts.c.part_id).where(
        parts.c.lane == SEND,
        parts.c.app == app,
        parts.c.state == State.RETRY_PENDING.value,
        parts.c.needs_configuration,
        parts.c.due_at > now,
    )
    connection.execute(
        update(parts).where(parts.c.part_id.in_(waiting.with_for_update(skip_locked=True))).values(due_at=now)
    )
    checks.hurry(connection, app, now)
    announce(connection, RETURNS)
    announce(connection, TURNS)
