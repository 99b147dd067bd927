"""A fault of ours in handling a part: the part stays as it is, and is looked at later."""

from __future__ import annotations

from sqlalchemy import Connection, update

from returns.decisions.policy import ReturnsPolicy
from returns.decisions.retry import backoff_ms
from returns.delivery import State
from returns.ids import Millis, PartId
from returns.ledger.facts import Fact
from returns.ledger.locking import lock_chat_of
from returns.ledger.moves import note
from returns.ledger.parts import load
from returns.ledger.tables import parts


def put_off(connection: Connection, part_id: PartId, fault: str, now: Millis, policy: ReturnsPolicy) -> None:
    """Record the fault and look at the part later. A send that is under way is left to its lease."""
    lock_chat_of(connection, part_id)
    part = load(connection, part_id)
    if part is None or part.lane is None or part.state is State.SENDING:
        return
    failures = part.failures + 1
    connection.execute(
        update(parts)
        .where(parts.c.part_id == part_id, parts.c.state == part.state.value, parts.c.fence == part.fence)
        .values(
            failures=failures,
            due_at=now + backoff_ms(part_id, failures, policy),
            lease_owner=None,
            lease_until=None,
            updated_at=now,
        )
    )
    note(connection, part, now, Fact.FAULT, {"fault": fault})
