"""The history of a conversation, as its people read it. Private."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, and_, insert, not_, or_, select

from manager.decisions.decision import Said
from manager.decisions.moments import iso
from manager.ids import ConversationId, RequestId
from manager.ledger.tables import messages
from returns.ids import Millis
from returns.ledger.prepared import Prepared

ASKER = "asker"

_APPEND: Final = Prepared(insert(messages), ("conversation_id", "request_id", "author", "text", "at"))


def append(
    connection: Connection,
    conversation: ConversationId,
    request: RequestId | None,
    *,
    author: str,
    text: str,
    at: Millis,
) -> None:
    """Add what was said."""
    _APPEND.run(
        connection,
        {"conversation_id": conversation, "request_id": request, "author": author, "text": text, "at": at},
    )


def history(
    connection: Connection, conversation: ConversationId, *, before: Millis, without: RequestId, limit: int
) -> tuple[Said, ...]:
    """What was said before a question, oldest first, at most ``limit`` messages.

    Questions that were written after ``before`` wait for their own turns and are left out, as is what the asker wrote
    for the request ``without``, which is the question itself.
    """
    theirs = messages.c.author == ASKER
    own = and_(messages.c.request_id.is_not(None), messages.c.request_id == without)
    query = (
        select(messages.c.at, messages.c.author, messages.c.text)
        .where(messages.c.conversation_id == conversation, not_(and_(theirs, or_(messages.c.at > before, own))))
        .order_by(messages.c.seq.desc())
        .limit(limit)
    )
    rows = connection.execute(query).all()
    return tuple(Said(iso(Millis(row.at)), row.author, row.text) for row in reversed(rows))


def said_by_us(connection: Connection, request: RequestId, *, limit: int) -> tuple[Said, ...]:
    """What was told about a request, oldest first, the last ``limit`` messages."""
    query = (
        select(messages.c.at, messages.c.author, messages.c.text)
        .where(messages.c.request_id == request, messages.c.author != ASKER)
        .order_by(messages.c.seq.desc())
        .limit(limit)
    )
    return tuple(Said(iso(Millis(row.at)), row.author, row.text) for row in reversed(connection.execute(query).all()))
