"""A reading as the ledger sees it: claimed, then concluded by what was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, select, update

from returns.decisions.matching import Expected, Nothing, One, OnlyRecalled, Several, differences, match
from returns.decisions.policy import ReturnsPolicy
from returns.decisions.retry import backoff_ms, retry_after_ms
from returns.delivery import ERRORS, Error, Event, State, unread
from returns.ids import AppName, MessageId, Millis, PartId
from returns.ledger import candidates
from returns.ledger.facts import Detail, Fact
from returns.ledger.lanes import SEARCH, VERIFY, Lane
from returns.ledger.locators import Holder, Source, holders, learn, locator_of, verification_by
from returns.ledger.locking import lock_chat_of
from returns.ledger.moves import Told, move, note, write
from returns.ledger.parts import Part, held, load, way_of
from returns.ledger.prepared import Prepared
from returns.ledger.rivals import Rivals, is_being_sent, rivals_of
from returns.ledger.tables import parts
from returns.ports import Authority, Locator, Reading, Verdict

BEFORE_ATTEMPT_MS = 120_000
"""A search begins so long before the attempt, for clocks that differ. What it does not find is looked for from the
question on, for our clock may have been wrong when the attempt was noted."""

AFTER_ATTEMPT_MS = 300_000
"""What was sent so long after an attempt is not that attempt's any more: a send is bounded, and clocks differ."""

_CROWD: Final = Prepared(
    select(parts.c.part_id)
    .where(parts.c.lane == bindparam("lane"), parts.c.chat_key == bindparam("chat"), parts.c.due_at <= bindparam("now"))
    .limit(bindparam("few"))
)
_HURRY: Final = Prepared(
    update(parts)
    .where(
        parts.c.lane.in_([bindparam("verify", VERIFY), bindparam("search", SEARCH)]),
        parts.c.app == bindparam("app"),
        parts.c.due_at > bindparam("now"),
        parts.c.error == Error.PROVIDER_VERIFICATION_UNAVAILABLE.value,
        parts.c.lease_owner.is_(None),
    )
    .values(due_at=bindparam("now"))
)

CROWD: Final[Mapping[Lane, int]] = {VERIFY: 3, SEARCH: 1}
"""With so many others of its chat that are due as well, a part is taken together with them."""


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
    attempted_at: Millis
    near: Millis
    """Where a search begins; it goes back to ``expected.since`` for what is not found from here on."""
    crowded: bool = False
    """Others of its chat are due as well."""


@dataclass(frozen=True, slots=True)
class Found:
    """A complete search: all that could be the part, and when the search began. Private."""

    candidates: Sequence[Reading]
    began_at: Millis


@dataclass(frozen=True, slots=True)
class NotRead:
    """Nothing could be read, or not all of it."""

    why: str
    """``not_permitted``, ``unreachable``, or ``question_gone``: nobody can know of a thread on it."""
    retry_after_ms: int | None = None
    for_good: bool = False
    """It will not be different later."""


def begin(
    connection: Connection, part_id: PartId, owner: str, now: Millis, policy: ReturnsPolicy, authority: Authority
) -> Check | None:
    """Claim a part that is due for reading and may still be told; None if there is nothing to read."""
    lock_chat_of(connection, part_id)
    part = load(connection, part_id)
    if part is None or part.due_at > now:
        return None
    return claim(connection, part, owner, now, policy, authority)


def claim(
    connection: Connection, part: Part, owner: str, now: Millis, policy: ReturnsPolicy, authority: Authority
) -> Check | None:
    """Claim a part as it was loaded, if it waits for reading, nobody holds it and it may still be told."""
    if part.lane not in (VERIFY, SEARCH) or part.state is not State.VERIFICATION_REQUIRED or part.leased(now):
        return None
    if authority.verdict(connection, part.subject, part.revision) is Verdict.REVOKED:
        move(connection, part, Event.REVOKED_ATTEMPTED, now)
        return None
    until = now + policy.lease_ms
    claimed = {"fence": part.fence + 1, "lease_owner": owner, "lease_until": until, "due_at": until}
    if not write(connection, part, claimed):
        return None
    known = locator_of(connection, part.part_id)
    attempted = part.last_attempt_at if part.last_attempt_at is not None else now
    route, asked_at = way_of(connection, part)
    since = attempted - BEFORE_ATTEMPT_MS
    return Check(
        part_id=part.part_id,
        fence=part.fence + 1,
        locator=known[0] if known else None,
        source=known[1] if known else None,
        expected=Expected(route, part.fingerprint, Millis(since if asked_at is None else min(since, asked_at))),
        settled_at=Millis(attempted + policy.settle_ms),
        began_at=now,
        attempted_at=Millis(attempted),
        near=Millis(since),
        crowded=_crowded(connection, part, VERIFY if known else SEARCH, now),
    )


def _crowded(connection: Connection, part: Part, lane: Lane, now: Millis) -> bool:
    asked = {"lane": lane, "chat": part.chat_key, "now": now, "few": CROWD[lane]}
    return len(_CROWD.rows(connection, asked)) == CROWD[lane]


def hurry(connection: Connection, app: AppName, now: Millis) -> None:
    """The app can be read again: what waits only because it could not be is due now."""
    _HURRY.run(connection, {"app": app, "now": now})


def conclude_reading(
    connection: Connection,
    check: Check,
    event: Event,
    now: Millis,
    policy: ReturnsPolicy,
    shown: Reading | None = None,
) -> bool:
    """The located message was read, as it was ``shown``: ``PROVED``, ``MISMATCH``, ``RECALLED`` or ``MISSING``.

    A message can be missing for a moment after it was accepted: that counts only after the settle time. What an
    operator named proves nothing while a send is under way whose message it could be: that one's own answer says more.
    """
    part = held(connection, check.part_id, State.VERIFICATION_REQUIRED, check.fence)
    if part is None or check.source is None or check.locator is None:
        return False
    if event is Event.MISSING and _is_early(check, check.began_at, part, now):
        return _too_early(connection, part, check, now, policy)
    guessed = event is Event.PROVED and check.source is Source.OPERATOR
    if guessed and shown is not None and is_being_sent(connection, part, shown):
        return _too_early(connection, part, check, now, policy)
    outcome: dict[str, str | int | bool | None] = {"outcome": event.value}
    if event is Event.MISMATCH and shown is not None:
        outcome["differs"] = ", ".join(differences(shown, check.locator, check.expected))
    changes: dict[str, object] = {"failures": 0}
    if event is Event.PROVED:
        if check.source is not Source.DIRECT:
            candidates.forget(connection, part.part_id)
        changes |= {"verification": verification_by(check.source).value, "delivered_at": now}
    return move(connection, part, event, now, changes=changes, told=Told(Fact.READ_BACK, outcome))


def conclude_not_read(
    connection: Connection, check: Check, not_read: NotRead, now: Millis, policy: ReturnsPolicy
) -> bool:
    """Nothing is known: try again, until the time to give up, unless it is for good."""
    part = held(connection, check.part_id, State.VERIFICATION_REQUIRED, check.fence)
    if part is None:
        return False
    gave_up = not_read.for_good or (part.give_up_at is not None and part.give_up_at <= now)
    failures = part.failures + 1
    due = Millis(now + retry_after_ms(part.part_id, failures, not_read.retry_after_ms, policy))
    fact = Fact.SEARCHED if check.locator is None else Fact.READ_BACK
    told = _news(part, Event.READ_FAILED, fact, {"outcome": not_read.why})
    event = Event.GAVE_UP if gave_up else Event.READ_FAILED
    return move(connection, part, event, now, due_at=due, changes={"failures": failures}, told=told)


def conclude_search(connection: Connection, check: Check, found: Found, now: Millis, policy: ReturnsPolicy) -> bool:
    """The window was read completely: decide what it says of the part.

    A message that is named as another part's is that part's if it is proved; while it is read, nothing is decided.
    """
    part = held(connection, check.part_id, State.VERIFICATION_REQUIRED, check.fence)
    if part is None:
        return False
    named = holders(connection, part.app, [reading.locator.message_id for reading in found.candidates])
    taken = {message for message, holder in named.items() if holder is Holder.ITS_OWN}
    taken |= {reading.locator.message_id for reading in found.candidates if reading.recalled} & named.keys()
    read_for_another = any(named[message] is Holder.OPEN for message in named.keys() - taken)
    result = match(found.candidates, taken)
    match result:
        case _ if read_for_another:
            return _too_early(connection, part, check, now, policy)
        case One(locator) if named.get(locator.message_id) is not Holder.UNPROVED:
            return _found(connection, part, check, result, found, now, policy)
        case _ if _is_early(check, found.began_at, part, now):
            return _too_early(connection, part, check, now, policy)
        case One() | Several():
            return _ambiguous(connection, part, found, taken, now)
        case OnlyRecalled():
            candidates.forget(connection, part.part_id)
            told = Told(Fact.SEARCHED, {"outcome": "only_recalled"})
            return move(connection, part, Event.RECALLED, now, told=told)
        case Nothing():
            candidates.forget(connection, part.part_id)
            return move(connection, part, Event.NO_MATCH, now, told=Told(Fact.SEARCHED, {"outcome": "none"}))


def _found(
    connection: Connection, part: Part, check: Check, one: One, found: Found, now: Millis, policy: ReturnsPolicy
) -> bool:
    """One message: it is the part, unless another part of ours could be it just as well."""
    message = next(each for each in found.candidates if each.locator == one.locator)
    rivals = rivals_of(connection, part, message)
    if rivals is Rivals.UNPROVED and found.began_at >= check.settled_at:
        others = {each.locator.message_id for each in found.candidates} - {one.locator.message_id}
        return _ambiguous(connection, part, found, others, now, rivals=True)
    if rivals is not Rivals.NONE:
        return _too_early(connection, part, check, now, policy)
    note(connection, part, now, Fact.SEARCHED, {"outcome": "found"})
    if learn(connection, part.part_id, one.locator, Source.SEARCH, now):
        return True
    return _too_early(connection, part, check, now, policy)


def _ambiguous(
    connection: Connection, part: Part, found: Found, taken: Set[MessageId], now: Millis, *, rivals: bool = False
) -> bool:
    """Reading cannot tell: an operator says which one it is."""
    count = candidates.keep(connection, part, found.candidates, taken)
    detail: Detail = {"outcome": "several", "candidates": count}
    told = Told(Fact.SEARCHED, {**detail, "rivals": True} if rivals else detail)
    return move(connection, part, Event.AMBIGUOUS, now, told=told)


def _is_early(check: Check, began_at: Millis, part: Part, now: Millis) -> bool:
    """Whether what was not found says nothing: it was looked for too soon, or it is an old picture by now.

    Who stood still for longer than the lease, as with a machine that slept, read what was there before that.
    """
    return began_at < check.settled_at or not part.leased(now)


def _too_early(connection: Connection, part: Part, check: Check, now: Millis, policy: ReturnsPolicy) -> bool:
    """Look again soon, and in any case as soon as not finding it counts."""
    fact = Fact.SEARCHED if check.locator is None else Fact.READ_BACK
    told = _news(part, Event.NOT_FOUND_EARLY, fact, {"outcome": "none_yet"})
    due = now + backoff_ms(part.part_id, part.failures + 1, policy)
    if now < check.settled_at:
        due = min(due, check.settled_at)
    changes = {"failures": part.failures + 1}
    error = unread(located=check.locator is not None)
    due_at = Millis(due)
    return move(connection, part, Event.NOT_FOUND_EARLY, now, due_at=due_at, error=error, changes=changes, told=told)


def _news(part: Part, event: Event, fact: Fact, detail: Detail) -> Told | None:
    """A fact of a kind that repeats is told only when it tells something new."""
    return Told(fact, detail) if part.error is not ERRORS[event] or part.failures == 0 else None
