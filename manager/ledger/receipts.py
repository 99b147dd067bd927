"""Receipts: which questions still want one, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from sqlalchemy import Connection, and_, bindparam, select, update

from manager.ids import ConversationId, RequestId, TurnId
from manager.ledger.facts import record
from manager.ledger.tables import question_routes, turns
from returns.ids import AppName, MessageId, Millis
from returns.ledger.prepared import Prepared

_WANTED: Final = Prepared(
    select(
        turns.c.turn_id,
        turns.c.conversation_id,
        turns.c.request_id,
        turns.c.revision,
        question_routes.c.app,
        question_routes.c.message_id,
    )
    .join(
        question_routes,
        and_(question_routes.c.request_id == turns.c.request_id, question_routes.c.revision == turns.c.revision),
    )
    .where(turns.c.receipt == "wanted")
    .order_by(turns.c.event_seq)
    .limit(bindparam("most"))
)
_SETTLE: Final = Prepared(
    update(turns)
    .where(turns.c.turn_id == bindparam("turn"), turns.c.receipt == "wanted")
    .values(receipt=bindparam("outcome"))
)


@dataclass(frozen=True, slots=True)
class WantedReceipt:
    """A question that wants a receipt. ``message_id`` is private."""

    turn_id: TurnId
    conversation_id: ConversationId
    request_id: RequestId
    revision: int
    app: AppName
    message_id: MessageId


def wanted(connection: Connection, limit: int) -> tuple[WantedReceipt, ...]:
    """Questions that want a receipt, oldest first."""
    return tuple(
        WantedReceipt(
            TurnId(cast("str", row["turn_id"])),
            ConversationId(cast("str", row["conversation_id"])),
            RequestId(cast("str", row["request_id"])),
            cast("int", row["revision"]),
            AppName(cast("str", row["app"])),
            MessageId(cast("str", row["message_id"])),
        )
        for row in _WANTED.rows(connection, {"most": limit})
    )


def settle(connection: Connection, receipt: WantedReceipt, *, left: bool, now: Millis) -> None:
    """Note whether the receipt was left; the first word counts."""
    if _SETTLE.run(connection, {"turn": receipt.turn_id, "outcome": "done" if left else "failed"}) == 1:
        record(connection, receipt.request_id, receipt.revision, now, "receipt", {"left": left})


def drop(connection: Connection, receipt: WantedReceipt) -> None:
    """No receipt is wanted after all."""
    _SETTLE.run(connection, {"turn": receipt.turn_id, "outcome": None})
