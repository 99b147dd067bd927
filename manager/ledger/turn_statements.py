"""Statements on turns that run again and again, made once: making one costs more than running it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from sqlalchemy import and_, bindparam, case, exists, func, insert, or_, select, update

from manager.decisions.turn import TurnEvent, TurnState, sources
from manager.ledger.tables import conversations, requests, turns
from returns.ledger.prepared import Prepared, names

_app: Final = (
    select(requests.c.app).where(requests.c.request_id == turns.c.request_id).correlate(turns).scalar_subquery()
)
_other: Final = turns.alias()
_earlier: Final = turns.alias()
DUE: Final = (
    select(turns, _app.label("app"))
    .where(
        turns.c.pending == 1,
        turns.c.due_at <= bindparam("now"),
        or_(turns.c.state == TurnState.QUEUED.value, turns.c.lease_until <= bindparam("now")),
        ~exists().where(
            _other.c.pending == 1,
            _other.c.conversation_id == turns.c.conversation_id,
            _other.c.state == TurnState.RUNNING.value,
            _other.c.lease_until > bindparam("now"),
        ),
        ~exists().where(
            _earlier.c.pending == 1,
            _earlier.c.conversation_id == turns.c.conversation_id,
            or_(
                _earlier.c.position < turns.c.position,
                and_(_earlier.c.position == turns.c.position, _earlier.c.event_seq < turns.c.event_seq),
            ),
        ),
    )
    .order_by(turns.c.due_at, turns.c.position, turns.c.event_seq)
    .limit(bindparam("most"))
)
QUEUE: Final = Prepared(
    insert(turns),
    (
        "turn_id",
        "conversation_id",
        "request_id",
        "revision",
        "state",
        "pending",
        "position",
        "event_seq",
        "due_at",
        "receipt",
        "parent_message_id",
    ),
)
RUNNING_NOW: Final = Prepared(
    select(turns.c.conversation_id, turns.c.lease_owner, turns.c.fence, _app.label("app")).where(
        turns.c.pending == 1, turns.c.state == TurnState.RUNNING.value, turns.c.lease_until > bindparam("now")
    )
)
RUNNING: Final = Prepared(
    select(turns.c.turn_id).where(
        turns.c.pending == 1,
        turns.c.conversation_id == bindparam("conversation"),
        turns.c.state == TurnState.RUNNING.value,
        turns.c.lease_until > bindparam("now"),
    )
)
_CLAIMABLE = tuple(sources(TurnEvent.CLAIMED))
CLAIM: Final = Prepared(
    update(turns).where(
        turns.c.turn_id == bindparam("turn"),
        turns.c.fence == bindparam("of_fence"),
        turns.c.revision == bindparam("of_revision"),
        turns.c.state.in_([bindparam(f"state_{number}", state.value) for number, state in enumerate(_CLAIMABLE)]),
    ),
    ("state", "attempts", "fence", "lease_owner", "lease_until"),
)
_HELD: Final = (
    turns.c.turn_id == bindparam("turn"),
    turns.c.fence == bindparam("of_fence"),
    turns.c.state == TurnState.RUNNING.value,
)
HOLDS: Final = Prepared(select(turns.c.revision).where(*_HELD).with_for_update())
RENEW: Final = Prepared(update(turns).where(*_HELD), ("lease_until",))
NEXT_QUEUED: Final = select(func.min(turns.c.due_at)).where(
    turns.c.pending == 1, turns.c.state == TurnState.QUEUED.value, turns.c.due_at > bindparam("now")
)
NEXT_LEASE: Final = select(func.min(turns.c.lease_until)).where(
    turns.c.pending == 1, turns.c.lease_until > bindparam("now")
)
NEXT: Final = (Prepared(NEXT_QUEUED), Prepared(NEXT_LEASE))

NO_RECEIPT: Final = case((turns.c.receipt == "wanted", None), else_=turns.c.receipt)
"""What was not acknowledged need not be any more."""

_leaving: Final = update(turns).where(*_HELD).values(state=bindparam("left"), lease_owner=None, lease_until=None)
RELEASE: Final = Prepared(_leaving.values(due_at=bindparam("due")))
END: Final = Prepared(_leaving.values(pending=None))
CANCEL: Final = Prepared(_leaving.values(pending=None, receipt=NO_RECEIPT))


@lru_cache(maxsize=32)
def still_running(count: int) -> Prepared:
    """Which of so many turns are running, and under which fence."""
    return Prepared(
        select(turns.c.turn_id, turns.c.fence).where(
            turns.c.turn_id.in_(names("turn", count)), turns.c.state == TurnState.RUNNING.value
        )
    )


@lru_cache(maxsize=32)
def claim_due_but(full: int, apps: int = 0, *, fresh: bool = False) -> Prepared:
    """``DUE`` without the turns of ``full`` chats and ``apps`` apps, given as ``full_0``, …, ``apps_0``, …

    ``fresh``: without those that were claimed before, too.
    """
    due = DUE
    if full:
        chat = select(conversations.c.chat_ref).where(conversations.c.conversation_id == turns.c.conversation_id)
        due = due.where(chat.correlate(turns).scalar_subquery().not_in(names("full", full)))
    if apps:
        due = due.where(_app.not_in(names("apps", apps)))
    if fresh:
        due = due.where(turns.c.fence == 0)
    return Prepared(due)
