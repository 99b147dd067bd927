"""The history of a conversation, as its people read it. Private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from sqlalchemy import Connection, and_, bindparam, insert, not_, or_, select

from manager.decisions.decision import Said
from manager.decisions.moments import iso
from manager.ids import ConversationId, RequestId
from manager.ledger.tables import messages
from returns.ids import Millis
from returns.ledger.prepared import Prepared, Row

ASKER = "asker"

_APPEND: Final = Prepared(insert(messages), ("conversation_id", "request_id", "author", "text", "at"))
_SAID: Final = (
    select(messages.c.at, messages.c.author, messages.c.text).order_by(messages.c.seq.desc()).limit(bindparam("most"))
)
_HISTORY: Final = Prepared(
    _SAID.where(
        messages.c.conversation_id == bindparam("conversation"),
        not_(
            and_(
                messages.c.author == ASKER,
                or_(
                    messages.c.at > bindparam("before"),
                    and_(messages.c.request_id.is_not(None), messages.c.request_id == bindparam("without")),
                ),
            )
        ),
    )
)
_BY_US: Final = Prepared(_SAID.where(messages.c.request_id == bindparam("request"), messages.c.author != ASKER))


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
    _APPEND.defer(
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
    asked = {"conversation": conversation, "before": before, "without": without, "most": limit}
    return _oldest_first(_HISTORY.rows(connection, asked))


def said_by_us(connection: Connection, request: RequestId, *, limit: int) -> tuple[Said, ...]:
    """What was told about a request, oldest first, the last ``limit`` messages."""
    return _oldest_first(_BY_US.rows(connection, {"request": request, "most": limit}))


def _oldest_first(rows: Sequence[Row]) -> tuple[Said, ...]:
    return tuple(
        Said(iso(Millis(cast("int", row["at"]))), cast("str", row["author"]), cast("str", row["text"]))
        for row in reversed(rows)
    )
