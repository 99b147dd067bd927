"""What retention asks and forgets: the texts of requests that are over, and events. Never a fact, a key or an id.

A fact loses what people and peers said in it; that it happened, when, and every state and number of it stay.

Each function touches a bounded number of rows, so that receiving never waits long for one, and may be repeated, also
by several gateways at once: what is gone is gone.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, cast

from sqlalchemy import Connection, and_, bindparam, case, delete, exists, func, or_, select, update

from manager.decisions import brief as briefs
from manager.decisions.brief import Brief
from manager.decisions.fact_words import without_what_was_said
from manager.decisions.retention import RetentionPolicy, Standing, may_forget
from manager.decisions.work import Work
from manager.ids import RequestId
from manager.ledger.events import EventState
from manager.ledger.facts import record
from manager.ledger.tables import (
    event_bodies,
    events,
    facts,
    messages,
    operator_commands,
    requests,
    revision_bodies,
    revisions,
    turns,
)
from returns.ids import Millis, SubjectId
from returns.ledger import retention as told
from returns.ledger.prepared import Prepared

FORGOTTEN: Final = "texts_forgotten"
"""The fact that a request's texts are no longer kept."""

NO_LONGER_KEPT: Final = "(no longer kept)"
_BRIEF: Final = briefs.to_json(Brief(NO_LONGER_KEPT, omissions=("What was said and answered here is no longer kept.",)))
_RESULT: Final = '{"no_longer_kept": true}'

_KEEPING: Final = Prepared(
    select(requests.c.seq, requests.c.request_id, requests.c.asked_at)
    .where(requests.c.texts == 1, requests.c.seq > bindparam("after"))
    .order_by(requests.c.seq)
    .limit(bindparam("most"))
)
_TAKE: Final = Prepared(
    select(requests.c.request_id, requests.c.revision, requests.c.parent_id)
    .where(requests.c.request_id == bindparam("request"), requests.c.texts == 1)
    .with_for_update()
)
_OPEN_WORK: Final = Prepared(
    select(revisions.c.work)
    .join(
        requests,
        and_(requests.c.request_id == revisions.c.request_id, requests.c.revision == revisions.c.revision),
    )
    .where(revisions.c.request_id == bindparam("request"), revisions.c.work == Work.OPEN.value)
)
"""Of the revision that stands: one that was replaced stays open where its peer never wrote to it again."""

_PENDING_TURN: Final = Prepared(
    select(turns.c.turn_id).where(turns.c.request_id == bindparam("request"), turns.c.pending == 1)
)
_PENDING_COMMAND: Final = Prepared(
    select(operator_commands.c.seq)
    .where(operator_commands.c.pending == 1, operator_commands.c.request_id == bindparam("request"))
    .limit(1)
)
_CANCELLED: Final = Prepared(
    select(revisions.c.work).where(
        revisions.c.request_id == bindparam("request"),
        revisions.c.revision == bindparam("revision"),
        revisions.c.work == Work.CANCELLED.value,
    )
)
_LAST: Final = Prepared(
    select(facts.c.at).where(facts.c.request_id == bindparam("request")).order_by(facts.c.seq.desc()).limit(1)
)
_SAID: Final = Prepared(
    select(messages.c.seq).where(messages.c.request_id == bindparam("request")).limit(bindparam("most"))
)
_UNSAY: Final = Prepared(delete(messages).where(messages.c.seq == bindparam("said")))
_BLANK: Final = Prepared(
    update(revision_bodies)
    .where(revision_bodies.c.request_id == bindparam("request"), revision_bodies.c.pruned_at.is_(None))
    .values(
        question="",
        brief=_BRIEF,
        result=case((revision_bodies.c.result.is_(None), None), else_=_RESULT),
        pruned_at=bindparam("now"),
    )
)
_TOLD: Final = Prepared(
    select(facts.c.seq, facts.c.fact, facts.c.detail)
    .where(facts.c.request_id == bindparam("request"))
    .order_by(facts.c.seq)
)
_RETELL: Final = Prepared(update(facts).where(facts.c.seq == bindparam("told")).values(detail=bindparam("plain")))
_SAID_OF_IT: Final = ("accepted_scope", "remaining", "reason", "resume_condition", "owner")
_UNSAY_OF_IT: Final = Prepared(
    update(revisions)
    .where(
        revisions.c.request_id == bindparam("request"),
        or_(*(revisions.c[name].is_not(None) for name in _SAID_OF_IT)),
    )
    .values(dict.fromkeys(_SAID_OF_IT))
)
_MARK: Final = Prepared(update(requests).where(requests.c.request_id == bindparam("request")).values(texts=None))
_OLD_EVENTS: Final = Prepared(
    select(events.c.seq, events.c.received_at)
    .where(events.c.state == bindparam("state"), events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("most"))
)
_NEWEST_EVENT: Final = Prepared(select(func.max(events.c.seq).label("seq")))


@dataclass(frozen=True, slots=True)
class Kept:
    """A request whose texts are kept."""

    seq: int
    request_id: RequestId
    asked_at: Millis


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How much of a request was forgotten."""

    rows: int
    complete: bool


def keeping(connection: Connection, after: int, most: int) -> tuple[Kept, ...]:
    """Requests whose texts are kept, behind the place ``after``, oldest first."""
    return tuple(
        Kept(
            cast("int", row["seq"]),
            RequestId(cast("str", row["request_id"])),
            Millis(cast("int", row["asked_at"])),
        )
        for row in _KEEPING.rows(connection, {"after": after, "most": most})
    )


def standing(connection: Connection, request: RequestId, revision: int, parent: RequestId | None) -> Standing:
    """Where a request stands."""
    asked = {"request": request}
    way_back = told.standing(connection, SubjectId(request))
    is_open = (
        way_back.pending
        or any(each.first(connection, asked) is not None for each in (_OPEN_WORK, _PENDING_TURN, _PENDING_COMMAND))
        or (parent is not None and _OPEN_WORK.first(connection, {"request": parent}) is not None)
    )
    unwanted = _CANCELLED.first(connection, {**asked, "revision": revision}) is not None
    last = _LAST.first(connection, asked)
    ours = Millis(0) if last is None else Millis(cast("int", last["at"]))
    return Standing(is_open, way_back.needs_operator and not unwanted, max(ours, way_back.last_fact_at or ours))


def forget(connection: Connection, request: RequestId, policy: RetentionPolicy, now: Millis, most: int) -> Forgotten:
    """Forget at most about ``most`` rows of a request's texts, if it is over and old enough by what stands now."""
    row = _TAKE.first(connection, {"request": request})
    if row is None:
        return Forgotten(0, complete=True)
    revision, parent = cast("int", row["revision"]), cast("RequestId | None", row["parent_id"])
    if not may_forget(standing(connection, request, revision, parent), policy, now):
        return Forgotten(0, complete=True)
    rows = told.forget_texts(connection, SubjectId(request), most)
    if rows < most:
        rows += _forget_messages(connection, request, most - rows)
    if rows < most:
        rows += _forget_words(connection, request, most - rows)
    if rows >= most:
        return Forgotten(rows, complete=False)
    rows += _UNSAY_OF_IT.run(connection, {"request": request})
    rows += _blank(connection, request, now)
    _MARK.run(connection, {"request": request})
    record(connection, request, revision, now, FORGOTTEN)
    return Forgotten(rows, complete=True)


def _forget_messages(connection: Connection, request: RequestId, most: int) -> int:
    found = _SAID.rows(connection, {"request": request, "most": most})
    return sum(_UNSAY.run(connection, {"said": row["seq"]}) for row in found)


def _forget_words(connection: Connection, request: RequestId, most: int) -> int:
    """The facts stay, without what people and peers said in them."""
    found = 0
    for row in _TOLD.rows(connection, {"request": request}):
        told = cast("dict[str, object]", json.loads(cast("str", row["detail"])))
        plain = without_what_was_said(cast("str", row["fact"]), told)
        if plain != told:
            _RETELL.run(connection, {"told": row["seq"], "plain": json.dumps(plain, ensure_ascii=False)})
            found += 1
        if found == most:
            break
    return found


def _blank(connection: Connection, request: RequestId, now: Millis) -> int:
    """The rows stay, for lists are made of them; stand-ins take the places of the texts."""
    return _BLANK.run(connection, {"request": request, "now": now})


def old_events(
    connection: Connection, state: EventState, until: Millis, after: int, most: int
) -> tuple[tuple[int, ...], int | None]:
    """Events in a state behind ``after`` that came until ``until``, oldest first; and where to go on, if there is more.

    The very newest event is never among them: its number is what the next one counts on from.
    """
    rows = _OLD_EVENTS.rows(connection, {"state": state.value, "after": after, "most": most})
    newest = _NEWEST_EVENT.only(connection, {})["seq"]
    found = [cast("int", row["seq"]) for row in rows if cast("int", row["received_at"]) <= until]
    more = len(rows) == most and len(found) == len(rows)
    return tuple(seq for seq in found if seq != newest), found[-1] if more else None


def forget_events(connection: Connection, seqs: Collection[int]) -> int:
    """Forget events and what they said, but not those that a turn waits for or that are held; how many."""
    waits = exists().where(turns.c.pending == 1, turns.c.request_id == events.c.request_id)
    found = connection.execute(
        select(events.c.seq).where(events.c.seq.in_(seqs), events.c.state != EventState.HELD.value, ~waits)
    ).scalars()
    over = list(found)
    connection.execute(delete(event_bodies).where(event_bodies.c.seq.in_(over)))
    return connection.execute(delete(events).where(events.c.seq.in_(over))).rowcount
