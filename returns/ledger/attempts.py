"""A send as the ledger sees it: committed before the first byte, concluded by its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from sqlalchemy import Connection, or_, select, update

from returns.decisions.document import Document
from returns.decisions.keys import idempotency_key, route_digest
from returns.decisions.looks import LOOK_FOR_MS, Before, before_sending
from returns.decisions.policy import ReturnsPolicy
from returns.decisions.refusals import Plan, Refusing, after_send, before_send
from returns.delivery import ERRORS, Error, Event, State
from returns.ids import AppName, IdempotencyKey, Millis, PartId, SubjectId
from returns.ledger.due import is_head
from returns.ledger.facts import Fact
from returns.ledger.lanes import SEND
from returns.ledger.locators import Kept, Source, keep, learn
from returns.ledger.locking import lock_chat_of
from returns.ledger.looking import look, unsure
from returns.ledger.moves import Told, move, note, release_next, step_aside, wait_in_place
from returns.ledger.outbox import supersede_from
from returns.ledger.parts import Part, body_of, held, load, route_of
from returns.ledger.repeating import Earlier, earlier, may_be_there
from returns.ledger.tables import parts
from returns.ports import Accepted, Authority, Refused, Route, SendOutcome, Unknown, Verdict

_REASON_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Attempt:
    """A committed send, and the hold under which it runs. Private."""

    part_id: PartId
    route: Route
    document: Document
    key: IdempotencyKey
    fence: int
    subject: SubjectId
    revision: int
    until: Millis
    """When the hold ends: nothing of it may begin to leave then or later."""


def begin(
    connection: Connection, part_id: PartId, owner: str, now: Millis, policy: ReturnsPolicy, authority: Authority
) -> Attempt | None:
    """Commit an attempt if the part is due, first in its chat, free, and may be told; None if nothing is to be sent."""
    lock_chat_of(connection, part_id)
    part = load(connection, part_id)
    if part is None or part.lane != SEND or part.state not in (State.QUEUED, State.RETRY_PENDING):
        return None
    if part.due_at > now or part.leased(now) or not is_head(connection, part):
        return None
    if part.stopped:
        move(connection, part, Event.SUPERSEDED, now)
        return None
    if _turned_up(connection, part, now, policy):
        return None
    verdict = authority.verdict(connection, part.subject, part.revision)
    if verdict is not Verdict.ALLOWED:
        _withhold(connection, part, verdict, now)
        if verdict is Verdict.QUESTION_RECALLED:
            authority.question_recalled(connection, part.subject, part.revision, now)
        return None
    return _commit(connection, part, owner, now, policy)


def _commit(connection: Connection, part: Part, owner: str, now: Millis, policy: ReturnsPolicy) -> Attempt | None:
    route, document = route_of(connection, part), body_of(connection, part)
    fence, until = part.fence + 1, Millis(now + policy.lease_ms)
    changes: dict[str, object] = {
        "attempts": part.attempts + 1,
        "last_attempt_at": now,
        "give_up_at": now + policy.give_up_after_ms,
        "route_digest": route_digest(route),
        "fence": fence,
        "lease_owner": owner,
        "lease_until": until,
    }
    if part.attempts == 0:
        changes["first_attempt_at"] = now
    told = Told(Fact.ATTEMPT, {"placement": part.placement})
    if not move(connection, part, Event.ATTEMPT, now, due_at=until, changes=changes, told=told):
        return None
    return Attempt(part.part_id, route, document, part.idempotency_key, fence, part.subject, part.revision, until)


def _turned_up(connection: Connection, part: Part, now: Millis, policy: ReturnsPolicy) -> bool:
    """Whether what this part repeats is delivered by now (then it is superseded), or may be: then it steps aside."""
    match earlier(connection, part):
        case Earlier.DELIVERED:
            if move(connection, part, Event.SUPERSEDED, now):
                release_next(connection, part, now)
            return True
        case Earlier.BEING_READ:
            step_aside(connection, part, now)
            return True
        case Earlier.NONE:
            return _looks_first(connection, part, now, policy)


def _looks_first(connection: Connection, part: Part, now: Millis, policy: ReturnsPolicy) -> bool:
    """Whether what this part repeats has to be looked for before it is sent; it waited since an operator ordered it."""
    repeated = [(each, unsure(connection, each)) for each in may_be_there(connection, part)]
    match before_sending([known for _, known in repeated], now):
        case Before.NOTHING:
            return False
        case Before.LOOK:
            for each, known in repeated:
                if known.needs_look(now):
                    look(connection, each, Millis(now + LOOK_FOR_MS), now, further=True)
            wait_in_place(connection, part, Millis(now + policy.lease_ms))
        case Before.WAIT:
            wait_in_place(connection, part, Millis(now + policy.lease_ms))
        case Before.ASK:  # those behind it wait on: they are told once what it repeats is found
            move(connection, part, Event.SUPERSEDED, now)
    return True


def _withhold(connection: Connection, part: Part, verdict: Verdict, now: Millis) -> None:
    match verdict:
        case Verdict.REVOKED:
            move(connection, part, Event.REVOKED_ATTEMPTED if part.attempts else Event.REVOKED_UNATTEMPTED, now)
        case Verdict.ROUTE_GONE:
            move(connection, part, Event.ROUTE_GONE, now)
        case Verdict.QUESTION_RECALLED if part.attempts:
            move(connection, part, Event.QUESTION_RECALLED, now)
            supersede_from(connection, part.return_id, part.position + 1, now)
        case Verdict.QUESTION_RECALLED:
            supersede_from(connection, part.return_id, part.position, now)
        case Verdict.ALLOWED:
            pass
        case _:
            assert_never(verdict)


def has_attempted(connection: Connection, app: AppName) -> bool:
    """Whether anything was ever sent, or may have been, under the name of the app."""
    attempted = select(parts.c.part_id).where(parts.c.app == app, parts.c.attempts > 0).limit(1)
    return connection.execute(attempted).first() is not None


def postpone(connection: Connection, part_id: PartId, refused: Refused, now: Millis, policy: ReturnsPolicy) -> bool:
    """No send was possible, not even a token: nothing was attempted and nothing is counted."""
    lock_chat_of(connection, part_id)
    part = load(connection, part_id)
    if part is None or part.state not in (State.QUEUED, State.RETRY_PENDING) or part.lane != SEND or part.due_at > now:
        return False
    plan = before_send(refused, _refusing(part, route=None), policy)
    news = part.error is not ERRORS[plan.event]
    told = Told(Fact.REFUSED, {**_refusal(refused), "sent": False}) if news else None
    return _refuse(connection, part, plan, now, told)


def conclude(
    connection: Connection, attempt: Attempt, outcome: SendOutcome, now: Millis, policy: ReturnsPolicy
) -> bool:
    """Record a send's outcome. A locator is stored whatever became of the part; False if the part was taken away."""
    part = held(connection, attempt.part_id, State.SENDING, attempt.fence)
    if part is None:
        _note_late(connection, attempt.part_id, outcome, now)
        return False
    if part.failures and isinstance(outcome, Accepted):
        _hurry_offline(connection, part, now)
    match outcome:
        case Accepted():
            return _await_reading(connection, part, outcome, now, policy)
        case Unknown():
            told = Told(Fact.UNKNOWN, _unknown(outcome))
            changes = {"failures": 0}
            return move(connection, part, Event.UNKNOWN, now, due_at=_reading(now, policy), changes=changes, told=told)
        case Refused():
            plan = after_send(outcome, _refusing(part, route=attempt.route), policy)
            return _refuse(connection, part, plan, now, Told(Fact.REFUSED, _refusal(outcome)))
        case _:
            assert_never(outcome)


def _hurry_offline(connection: Connection, part: Part, now: Millis) -> None:
    """The provider can be reached again: what waits only because it could not be is due now.

    Parts that another gateway has in hand at this moment are left to it: waiting for each other would be a deadlock.
    """
    waiting = select(parts.c.part_id).where(
        parts.c.lane == SEND,
        parts.c.app == part.app,
        parts.c.state == State.RETRY_PENDING.value,
        parts.c.error == Error.PROVIDER_OFFLINE.value,
        parts.c.due_at > now,
        or_(parts.c.lease_until.is_(None), parts.c.lease_until <= now),
    )
    connection.execute(
        update(parts).where(parts.c.part_id.in_(waiting.with_for_update(skip_locked=True))).values(due_at=now)
    )


def _await_reading(connection: Connection, part: Part, outcome: Accepted, now: Millis, policy: ReturnsPolicy) -> bool:
    kept = keep(connection, part, outcome.locator, Source.DIRECT, now)
    event = Event.UNKNOWN if kept is Kept.ANOTHERS else Event.ACCEPTED  # another part's message proves nothing
    told = Told(Fact.ACCEPTED, {"log_id": outcome.log_id})
    moved = move(connection, part, event, now, due_at=_reading(now, policy), changes={"failures": 0}, told=told)
    if kept is Kept.NEW:
        note(connection, part, now, Fact.LOCATED, {"source": Source.DIRECT.value})
    return moved


def _reading(now: Millis, policy: ReturnsPolicy) -> Millis:
    return Millis(now + policy.readback_delay_ms)


def _refuse(connection: Connection, part: Part, plan: Plan, now: Millis, told: Told | None) -> bool:
    changes: dict[str, object] = {"failures": part.failures + 1}
    if plan.event is Event.MOVED_TO_CHAT:
        changes |= {
            "placement": "chat",
            "idempotency_key": idempotency_key(part.part_id, 1),
            "failures": 0,
        }
    if not move(connection, part, plan.event, now, due_at=Millis(now + plan.delay_ms), changes=changes, told=told):
        return False
    if plan.event is Event.QUESTION_RECALLED:
        supersede_from(connection, part.return_id, part.position + 1, now)
    left = load(connection, part.part_id) if part.stopped else None
    if left is not None and left.state is State.RETRY_PENDING:  # it was cancelled while the send was under way
        move(connection, left, Event.SUPERSEDED, now)
    return True


def _refusing(part: Part, route: Route | None) -> Refusing:
    can_move = route is not None and route.thread_id is None and part.placement == "reply"
    return Refusing(part.part_id, part.failures, can_move)


def _note_late(connection: Connection, part_id: PartId, outcome: SendOutcome, now: Millis) -> None:
    """The outcome came after the hold was lost: it is evidence, and only a locator is more than that."""
    part = load(connection, part_id)
    if part is None:
        return
    match outcome:
        case Accepted():
            note(connection, part, now, Fact.ACCEPTED, {"log_id": outcome.log_id, "late": True})
            learn(connection, part_id, outcome.locator, Source.DIRECT, now)
        case Unknown():
            note(connection, part, now, Fact.UNKNOWN, {**_unknown(outcome), "late": True})
        case Refused():
            note(connection, part, now, Fact.REFUSED, {**_refusal(outcome), "late": True})
        case _:
            assert_never(outcome)


def _refusal(refused: Refused) -> dict[str, str | int | bool | None]:
    return {"refusal": refused.refusal.value, "code": refused.code, "log_id": refused.log_id}


def _unknown(unknown: Unknown) -> dict[str, str | int | bool | None]:
    return {"reason": unknown.reason[:_REASON_LENGTH], "code": unknown.code, "log_id": unknown.log_id}
