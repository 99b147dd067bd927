"""Statements on turns that run again and again, made once: making one costs more than running it."""

from __future__ import annotations

from typing import Final

from sqlalchemy import and_, bindparam, case, exists, func, insert, or_, select

from manager.decisions.turn import TurnState
from manager.ledger.tables import turns
from returns.ledger.prepared import Prepared

_other: Final = turns.alias()
_earlier: Final = turns.alias()

DUE: Final = (
    select(turns)
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
NEXT_QUEUED: Final = select(func.min(turns.c.due_at)).where(
    turns.c.pending == 1, turns.c.state == TurnState.QUEUED.value, turns.c.due_at > bindparam("now")
)
NEXT_LEASE: Final = select(func.min(turns.c.lease_until)).where(
    turns.c.pending == 1, turns.c.lease_until > bindparam("now")
)

NO_RECEIPT: Final = case((turns.c.receipt == "wanted", None), else_=turns.c.receipt)
"""What was not acknowledged need not be any more."""
