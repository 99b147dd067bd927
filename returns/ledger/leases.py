"""Who holds a part, and until when. Every hold has a fencing number; a move under an old one changes nothing."""

from __future__ import annotations

from typing import Final, cast

from sqlalchemy import Connection, bindparam, update

from returns.delivery import Event, State
from returns.ids import Millis, PartId
from returns.ledger.facts import Fact
from returns.ledger.lanes import LANES, SEND
from returns.ledger.locators import locator_of
from returns.ledger.locking import lock_chat_of
from returns.ledger.moves import Told, move
from returns.ledger.parts import Part, from_row, load, selection
from returns.ledger.prepared import Prepared, Row
from returns.ledger.tables import parts
from returns.ledger.wakeups import RETURNS, announce

_RENEW: Final = Prepared(
    update(parts)
    .where(
        parts.c.part_id == bindparam("part"),
        parts.c.fence == bindparam("fence"),
        parts.c.lease_owner == bindparam("owner"),
        parts.c.lane.is_not(None),
    )
    .values(lease_until=bindparam("until"), due_at=bindparam("until"))
)


def renew(connection: Connection, part_id: PartId, owner: str, fence: int, until: Millis) -> bool:
    """Hold the part until ``until``; False if it is no longer ours."""
    return _RENEW.run(connection, {"part": part_id, "fence": fence, "owner": owner, "until": until}) == 1


def expire(connection: Connection, part_id: PartId, now: Millis) -> bool:
    """Give up on the holder of a send whose lease ran out: its outcome is unknown. False if it still holds."""
    lock_chat_of(connection, part_id)
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
        .where(parts.c.lane.in_(LANES), parts.c.lease_owner.is_not(None))
        .values(lease_owner=None, lease_until=None, due_at=now)
    )
    announce(connection, RETURNS)


def give_up(connection: Connection, owner: str, now: Millis) -> int:
    """At the orderly end of one of several gateways: what it was reading is anybody's at once; how many parts.

    A send that it did not finish stays its own until the lease ends: nobody else can know what became of it.
    """
    given = connection.execute(
        update(parts)
        .where(
            parts.c.lane.in_(LANES),
            parts.c.lease_owner == owner,
            parts.c.state == State.VERIFICATION_REQUIRED.value,
        )
        .values(lease_owner=None, lease_until=None, due_at=now)
    )
    announce(connection, RETURNS)
    return given.rowcount


def _lose(connection: Connection, part: Part, now: Millis) -> bool:
    told = Told(Fact.UNKNOWN, {"reason": "lease_lost"})
    if not move(connection, part, Event.LEASE_LOST, now, changes={"failures": 0}, told=told):
        return False
    left = load(connection, part.part_id)
    if left is not None and locator_of(connection, part.part_id) is not None:
        move(connection, left, Event.LOCATED, now)
    return True
