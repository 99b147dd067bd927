"""A reading as the ledger sees it: claimed, then concluded by what was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, or_, select

from returns.decisions.matching import Expected, Nothing, One, OnlyRecalled, Several, match
from returns.decisions.policy import ReturnsPolicy
from returns.decisions.retry import backoff_ms, retry_after_ms
from returns.delivery import ERRORS, Event, State, unread
from returns.ids import Millis, PartId
from returns.ledger.facts import Detail, Fact
from returns.ledger.lanes import SEND, VERIFY
from returns.ledger.locators import Source, learn, locator_of, owned, verification_by
from returns.ledger.moves import move, note, write
from returns.ledger.parts import Part, held, load, route_of
from returns.ledger.tables import part_locators, parts, return_routes
from returns.ports import Authority, Locator, Reading, Route, Verdict

BEFORE_ATTEMPT_MS = 120_000
"""A search begins so long before the attempt, for clocks that differ."""

AFTER_ATTEMPT_MS = 300_000
"""What was sent so long after an attempt is not that attempt's any more: a send is bounded, and clocks differ."""

_UNPROVED = tuple(state.value for state in (State.SENDING, State.VERIFICATION_REQUIRED, State.EXPLICIT_UNVERIFIED))


@dataclass(frozen=True, slots=True)
class Check:
    """A claimed part, and what it must look like. Private."""

    part_id: PartId
    fence: int
    locator: Locator | None
    source: Source | None
    expected: Expected
    settled_at: Millis
    """What was not found before this does not count, by its locator or by a search."""
    began_at: Millis


@dataclass(frozen=True, slots=True)
class Found:
    """A complete search: all that could be the part, and when the search began. Private."""

    candidates: Sequence[Reading]
    began_at: Millis


@dataclass(frozen=True, slots=True)
class NotRead:
    """Nothing could be read, or not all of it."""

    why: str
    """``not_permitted`` or ``unreachable``."""
    retry_after_ms: int | None = None


def begin(
    connection: Connection, part_id: PartId, owner: str, now: Millis, policy: ReturnsPolicy, authority: Authority
) -> Check | None:
    """Claim a part that is due for reading and may still be told; None if there is nothing to read."""
    part = load(connection, part_id)
    if part is None or part.lane != VERIFY or part.state is not State.VERIFICATION_REQUIRED:
        return None
    if part.due_at > now or part.leased(now):
        return None
    if authority.verdict(connection, part.subject, part.revision) is Verdict.REVOKED:
        move(connection, part, Event.REVOKED_ATTEMPTED, now)
        return None
    until = now + policy.lease_ms
    claim = {"fence": part.fence + 1, "lease_owner": owner, "lease_until": until, "due_at": until}
    if not write(connection, part, claim):
        return None
    known = locator_of(connection, part_id)
    attempted = part.last_attempt_at if part.last_attempt_at is not None else now
    return Check(
        part_id=part_id,
        fence=part.fence + 1,
        locator=known[0] if known else None,
        source=known[1] if known else None,
        expected=Expected(route_of(connection, part), part.fingerprint, Millis(attempted - BEFORE_ATTEMPT_MS)),
        settled_at=Millis(attempted + policy.settle_ms),
        began_at=now,
    )


def conclude_reading(connection: Connection, check: Check, event: Event, now: Millis, policy: ReturnsPolicy) -> bool:
    """The located message was read: ``PROVED``, ``MISMATCH``, ``RECALLED`` or ``MISSING``.

    A message can be missing for a moment after it was accepted: that counts only after the settle time.
    """
    part = held(connection, check.part_id, State.VERIFICATION_REQUIRED, check.fence)
    if part is None or check.source is None:
        return False
    if event is Event.MISSING and check.began_at < check.settled_at:
        return _too_early(connection, part, check, now, policy)
    note(connection, part, now, Fact.READ_BACK, {"outcome": event.value})
    changes: dict[str, object] = {"failures": 0}
    if event is Event.PROVED:
        changes |= {"verification": verification_by(check.source).value, "delivered_at": now}
    return move(connection, part, event, now, changes=changes)


def conclude_not_read(
    connection: Connection, check: Check, not_read: NotRead, now: Millis, policy: ReturnsPolicy
) -> bool:
    """Nothing is known: try again, until the time to give up."""
    part = held(connection, check.part_id, State.VERIFICATION_REQUIRED, check.fence)
    if part is None:
        return False
    gave_up = part.give_up_at is not None and part.give_up_at <= now
    failures = part.failures + 1
    due = Millis(now + retry_after_ms(part.part_id, failures, not_read.retry_after_ms, policy))
    fact = Fact.SEARCHED if check.locator is None else Fact.READ_BACK
    _note_change(connection, part, Event.READ_FAILED, now, fact, {"outcome": not_read.why})
    event = Event.GAVE_UP if gave_up else Event.READ_FAILED
    return move(connection, part, event, now, due_at=due, changes={"failures": failures})


def conclude_search(connection: Connection, check: Check, found: Found, now: Millis, policy: ReturnsPolicy) -> bool:
    """The window was read completely: decide what it says of the part."""
    part = held(connection, check.part_id, State.VERIFICATION_REQUIRED, check.fence)
    if part is None:
        return False
    messages = [reading.locator.message_id for reading in found.candidates]
    result = match(found.candidates, owned(connection, part.app, messages))
    settled = found.began_at >= check.settled_at
    match result:
        case One():
            return _found(connection, part, check, result, settled=settled, now=now, policy=policy)
        case Several(count) if settled:
            note(connection, part, now, Fact.SEARCHED, {"outcome": "several", "candidates": count})
            return move(connection, part, Event.AMBIGUOUS, now)
        case OnlyRecalled() if settled:
            note(connection, part, now, Fact.SEARCHED, {"outcome": "only_recalled"})
            return move(connection, part, Event.RECALLED, now)
        case Nothing() if settled:
            note(connection, part, now, Fact.SEARCHED, {"outcome": "none"})
            return move(connection, part, Event.NO_MATCH, now)
        case Several() | OnlyRecalled() | Nothing():
            return _too_early(connection, part, check, now, policy)


def _found(
    connection: Connection,
    part: Part,
    check: Check,
    one: One,
    *,
    settled: bool,
    now: Millis,
    policy: ReturnsPolicy,
) -> bool:
    """One message: it is the part, unless another part of ours could be it just as well."""
    if _rivals(connection, part, check.expected.route, one.sent_at):
        if not settled:
            return _too_early(connection, part, check, now, policy)
        note(connection, part, now, Fact.SEARCHED, {"outcome": "several", "candidates": 1, "rivals": True})
        return move(connection, part, Event.AMBIGUOUS, now)
    note(connection, part, now, Fact.SEARCHED, {"outcome": "found"})
    if learn(connection, part.part_id, one.locator, Source.SEARCH, now):
        return True
    return _too_early(connection, part, check, now, policy)


def _too_early(connection: Connection, part: Part, check: Check, now: Millis, policy: ReturnsPolicy) -> bool:
    """Look again soon, and in any case as soon as not finding it counts."""
    fact = Fact.SEARCHED if check.locator is None else Fact.READ_BACK
    _note_change(connection, part, Event.NOT_FOUND_EARLY, now, fact, {"outcome": "none_yet"})
    due = now + backoff_ms(part.part_id, part.failures + 1, policy)
    if now < check.settled_at:
        due = min(due, check.settled_at)
    changes = {"failures": part.failures + 1}
    error = unread(located=check.locator is not None)
    return move(connection, part, Event.NOT_FOUND_EARLY, now, due_at=Millis(due), error=error, changes=changes)


def _rivals(connection: Connection, part: Part, route: Route, sent_at: Millis) -> bool:
    """Whether the message that was sent at ``sent_at`` could be another unlocated part's just as well.

    That is one with the same content and place that was attempted about then, whatever became of it since: an answer
    that could not be proved may have arrived all the same.
    """
    others = connection.execute(
        select(parts.c.placement, return_routes.c.reply_to)
        .join(return_routes, return_routes.c.return_id == parts.c.return_id)
        .outerjoin(part_locators, part_locators.c.part_id == parts.c.part_id)
        .where(
            or_(parts.c.lane.in_((SEND, VERIFY)), parts.c.lane.is_(None)),
            parts.c.chat_key == part.chat_key,
            parts.c.fingerprint == part.fingerprint,
            parts.c.part_id != part.part_id,
            parts.c.state.in_(_UNPROVED),
            parts.c.first_attempt_at <= sent_at + BEFORE_ATTEMPT_MS,
            parts.c.last_attempt_at >= sent_at - AFTER_ATTEMPT_MS,
            part_locators.c.part_id.is_(None),
            return_routes.c.thread_id.is_not_distinct_from(route.thread_id),
        )
    ).all()
    if route.thread_id is not None:
        return bool(others)
    parents = {other.reply_to if other.placement == "reply" else None for other in others}
    return route.reply_to in parents


def _note_change(connection: Connection, part: Part, event: Event, now: Millis, fact: Fact, detail: Detail) -> None:
    """Record a fact of a kind that repeats only when it tells something new."""
    if part.error is not ERRORS[event] or part.failures == 0:
        note(connection, part, now, fact, detail)
