"""How the work of a revision ends before its time, and who ended it: the asker, an operator, the policy, a deadline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Final, cast

from sqlalchemy import Connection, select

from manager.decisions.work import WorkEvent
from manager.ids import RequestId
from manager.ledger import revisions
from manager.ledger.facts import record
from manager.ledger.revisions import RevisionView
from manager.ledger.tables import facts
from returns.ids import Millis
from returns.ledger.wakeups import REQUESTS, announce

BY_CORRECTION: Final = "correction"
BY_RECALL: Final = "recall"
"""Who ended a revision, where it was the asker."""


class Cancellation(Enum):
    """What came of the wish to cancel."""

    CANCELLED = "cancelled"
    """Nobody was in the middle of it."""
    REQUESTED = "cancel_requested"
    """A peer has it before it and is told with its next write."""
    FINAL = "already_final"
    """There was nothing left to cancel."""


def end(connection: Connection, view: RevisionView, now: Millis, *, by: str, reason: str) -> Cancellation:
    """End the open work of a revision: at once where nobody has it, else by asking the peer that has it."""
    detail: dict[str, str | int | bool | None] = {"by": by, "reason": reason}
    if view.attempt_id is None:
        revisions.work(connection, view, WorkEvent.CANCEL)
        record(connection, view.request_id, view.revision, now, Cancellation.CANCELLED.value, detail)
        return Cancellation.CANCELLED
    if not cancel_requested(connection, view.request_id, view.revision):
        record(connection, view.request_id, view.revision, now, Cancellation.REQUESTED.value, detail)
    return Cancellation.REQUESTED


def cancel_requested(connection: Connection, request_id: RequestId, revision: int) -> bool:
    """Whether somebody wished to cancel this revision while its peer had it."""
    row = connection.execute(
        select(facts.c.seq)
        .where(
            facts.c.request_id == request_id,
            facts.c.revision == revision,
            facts.c.fact == Cancellation.REQUESTED.value,
        )
        .limit(1)
    ).first()
    return row is not None


def was_refused(connection: Connection, request_id: RequestId, revision: int) -> bool:
    """Whether somebody else than the asker, an operator or the policy, was the first who wished the revision to end."""
    ending = (Cancellation.CANCELLED.value, Cancellation.REQUESTED.value)
    first = connection.execute(
        select(facts.c.detail)
        .where(facts.c.request_id == request_id, facts.c.revision == revision, facts.c.fact.in_(ending))
        .order_by(facts.c.seq)
        .limit(1)
    ).scalar()
    if first is None:
        return False
    return cast("Mapping[str, object]", json.loads(first)).get("by") not in (BY_CORRECTION, BY_RECALL)


def acknowledge_cancel(connection: Connection, view: RevisionView, now: Millis, *, by: str = "receiver") -> None:
    """The boundary was reached, by the receiver's next write: what was asked to be cancelled is cancelled now."""
    revisions.work(connection, view, WorkEvent.CANCEL)
    record(connection, view.request_id, view.revision, now, "cancelled", {"by": by})
    announce(connection, REQUESTS)
