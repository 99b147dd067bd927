"""Cancelling by an operator: the request, what was not sent of its answer, and what peers were asked for under it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from manager.decisions.operators import CANCEL_AFTER_MS, OperatorRefused, Outcome, Refusal
from manager.decisions.work import Work, WorkEvent
from manager.ids import RequestId
from manager.ledger import operators, requests, revisions, turns
from manager.ledger.facts import record
from manager.ledger.requests import Cancellation, RequestView
from returns.delivery import State
from returns.ids import Millis, SubjectId
from returns.ledger import operators as deliveries
from returns.ledger.wakeups import REQUESTS, announce

BY = "operator"
BY_DEADLINE = "deadline"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What came of it."""

    outcome: Outcome
    due_at: Millis | None
    """When what a receiver has is cancelled without its word; None where nobody has anything."""


def cancel(connection: Connection, view: RequestView, reason: str, now: Millis) -> Cancelled:
    """Cancel a request and its open child requests. Raises ``OperatorRefused`` where nothing is left to cancel."""
    children = operators.open_descendants(connection, view.request_id)
    if not _can_be_cancelled(connection, view) and not children:
        raise OperatorRefused(Refusal.ALREADY_FINAL, "There is nothing left to cancel: it was answered or cancelled.")
    asked = [request_id for request_id in children if _end(connection, request_id, reason, now)]
    if _end(connection, view.request_id, reason, now):
        asked.append(view.request_id)
    announce(connection, REQUESTS)
    if not asked:
        return Cancelled(Outcome.CANCELLED, None)
    due = [_deadline(connection, request_id, now) for request_id in asked]
    return Cancelled(Outcome.CANCEL_REQUESTED, max(due))


def finish(connection: Connection, request_id: RequestId, due_at: Millis | None, now: Millis) -> bool:
    """Cancel what was asked to be cancelled and whose deadline is over; whether nothing of it is open any more."""
    open_ones = _asked_for(connection, request_id, lock=True)
    if due_at is None or now < due_at:
        return not open_ones
    for view in open_ones:
        requests.acknowledge_cancel(connection, view.newest, now, by=BY_DEADLINE)
    return True


def is_over(connection: Connection, request_id: RequestId, due_at: Millis | None, now: Millis) -> bool:
    """Whether ``finish`` would find nothing more to wait for."""
    return (due_at is not None and now >= due_at) or not _asked_for(connection, request_id, lock=False)


def _asked_for(connection: Connection, request_id: RequestId, *, lock: bool) -> list[RequestView]:
    """The request and those under it that were asked to be cancelled and are open still."""
    views = [
        requests.current(connection, each, lock=lock)
        for each in (request_id, *operators.open_descendants(connection, request_id))
    ]
    return [
        view
        for view in views
        if view is not None
        and view.newest.work is Work.OPEN
        and requests.cancel_requested(connection, view.request_id, view.revision)
    ]


def _can_be_cancelled(connection: Connection, view: RequestView) -> bool:
    match view.newest.work:
        case Work.OPEN:
            return True
        case Work.CANCELLED:
            return False
        case Work.RESOLVED | Work.DECLINED:
            answer = deliveries.answer_of(connection, SubjectId(view.request_id))
            return answer is not None and answer.revision == view.revision and answer.status is not State.DELIVERED


def _end(connection: Connection, request_id: RequestId, reason: str, now: Millis) -> bool:
    """End what can be ended of one request; True where its receiver has to be waited for."""
    view = requests.current(connection, request_id, lock=True)
    if view is None or not _can_be_cancelled(connection, view):
        return False
    turns.withdraw(connection, request_id, revision=view.revision)
    deliveries.stop_sending(connection, SubjectId(request_id), now)
    if view.newest.work is Work.OPEN:
        return requests.cancel(connection, request_id, now, by=BY, reason=reason) is Cancellation.REQUESTED
    revisions.work(connection, view.newest, WorkEvent.WITHDRAW)
    record(connection, request_id, view.revision, now, Work.CANCELLED.value, {"by": BY, "reason": reason})
    return False


def _deadline(connection: Connection, request_id: RequestId, now: Millis) -> Millis:
    view = requests.current(connection, request_id)
    latest = Millis(now + CANCEL_AFTER_MS)
    return latest if view is None else operators.set_deadline(connection, request_id, view.revision, latest)
