"""Receipts: which questions still want one, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, and_, select, update

from manager.ids import ConversationId, RequestId, TurnId
from manager.ledger.facts import record
from manager.ledger.tables import question_routes, turns
from returns.ids import AppName, MessageId, Millis


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
    query = (
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
        .limit(limit)
    )
    return tuple(
        WantedReceipt(
            TurnId(row.turn_id),
            ConversationId(row.conversation_id),
            RequestId(row.request_id),
            row.revision,
            AppName(row.app),
            MessageId(row.message_id),
        )
        for row in connection.execute(query)
    )


def settle(connection: Connection, receipt: WantedReceipt, *, left: bool, now: Millis) -> None:
    """Note whether the receipt was left; the first word counts."""
    settled = connection.execute(
        update(turns)
        .where(turns.c.turn_id == receipt.turn_id, turns.c.receipt == "wanted")
        .values(receipt="done" if left else "failed")
    )
    if settled.rowcount == 1:
        record(connection, receipt.request_id, receipt.revision, now, "receipt", {"left": left})


def drop(connection: Connection, receipt: WantedReceipt) -> None:
    """No receipt is wanted after all."""
    connection.execute(
        update(turns).where(turns.c.turn_id == receipt.turn_id, turns.c.receipt == "wanted").values(receipt=None)
    )
