"""A part's send taken to an end through the ledger alone, without a pump."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, select

from returns.decisions.policy import ReturnsPolicy
from returns.delivery import Event
from returns.ids import ChatId, MessageId, Millis, PartId
from returns.ledger import attempts, checks
from returns.ledger.checks import Found
from returns.ledger.tables import parts
from returns.ports import Accepted, Locator, Refusal, Refused, Unknown
from tests.support.returns import FakeAuthority

LIMITED: Final = "retry_pending"
LOST: Final = "explicit_unverified"
READ: Final = "verification_required"
PROVED: Final = "delivered"


def end_send(connection: Connection, part: PartId, now: Millis, ends: str) -> None:
    """Send a queued part, so that it stands at ``ends``; what is read for that is read a minute later."""
    policy, authority, later = ReturnsPolicy(), FakeAuthority(), Millis(now + 60_000)
    where = Locator(MessageId(f"om_{part}"), ChatId("oc_1"), None)
    outcomes = {LIMITED: Refused(Refusal.RATE_LIMITED), LOST: Unknown("timeout")}
    attempt = attempts.begin(connection, part, "one", now, policy, authority)
    assert attempt is not None
    attempts.conclude(connection, attempt, outcomes.get(ends, Accepted(where)), now, policy)
    if ends in (LOST, PROVED):
        check = checks.begin(connection, part, "one", later, policy, authority)
        assert check is not None
        if ends == LOST:
            checks.conclude_search(connection, check, Found((), later), later, policy)
        else:
            checks.conclude_reading(connection, check, Event.PROVED, later, policy)
    assert connection.execute(select(parts.c.state).where(parts.c.part_id == part)).scalar_one() == ends
