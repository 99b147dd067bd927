"""Who holds a part, and until when. Every hold has a fencing number; a move under an old one changes nothing."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, update

from returns.delivery import Event, State
from returns.ids import Millis, PartId
from returns.ledger.facts import Fact
from returns.ledger.lanes import SEND, VERIFY
from returns.ledger.locators import locator_of
from returns.ledger.moves import move, note
from returns.ledger.parts import Part, from_row, load, selection
from returns.ledger.prepared import Row
from returns.ledger.tables import parts
from returns.ledger.wakeups import RETURNS, announce


def renew(connection: Connection, part_id: PartId, owner: str, fence: int, until: Millis) -> bool:
    """Hold the part until ``until``; False if it is no longer ours."""
    renewed = connection.execute(
        update(parts)
        .where(
            parts.c.part_id == part_id,
            parts.c.fence == fence,
            parts.c.lease_owner == owner,
            parts.c.lane.is_not(None),
        )
        .values(lease_until=until, due_at=until)
    )
    return renewed.rowcount == 1


def expire(connection: Connection, part_id: PartId, now: Millis) -> bool:
    """Give up on the holder of a send whose lease ran out: its outcome is unknown. False if it still holds."""
    part = load(connection, part_id)
    if part is None or part.state is not State.SENDING or part.leased(now):
        return False
    return _lose(connection, part, now)


def release_all(connection: Connection, now: Millis) -> None:
    """At the start of the only gateway of a database: every lease is over, and every send's outcome unknown."""
    under_way = selection().where(parts.c.lane == SEND, parts.c.state == State.SENDING.value)
    for row in connection.execute(under_way).mappings().all():
        _lose(connection, from_row(cast("Row", row)), now)
    connection.execute(
        update(parts)
        .where(parts.c.lane.in_((SEND, VERIFY)), parts.c.lease_owner.is_not(None))
        .values(lease_owner=None, lease_until=None, due_at=now)
    )
    announce(connection, RETURNS)


def _lose(connection: Connection, part: Part, now: Millis) -> bool:
    if not move(connection, part, Event.LEASE_LOST, now, changes={"failures": 0}):
        return False
    note(connection, part, now, Fact.UNKNOWN, {"reason": "lease_lost"})
    left = load(connection, part.part_id)
    if left is not None and locator_of(connection, part.part_id) is not None:
        move(connection, left, Event.LOCATED, now)
    return True
