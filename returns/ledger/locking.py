"""One writer a chat: what depends on several parts of a chat is decided by one transaction at a time.

Which part is the first in its chat, whether an answer was begun, how its parts stand together: each is read and then
acted upon, and the guard of a single row cannot keep two gateways apart there. SQLite has one writer anyway. On
PostgreSQL a lock by the chat's name is taken before the reading; it ends with the transaction, however that ends.
https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import ColumnElement, Connection, bindparam, func, select

from returns.ids import ChatKey, PartId, SubjectId
from returns.ledger.prepared import Prepared
from returns.ledger.tables import parts, returns

SEED: Final = 7_265_747
"""Sets these locks apart from others that are made of names."""


def _lock(chat: ColumnElement[str]) -> ColumnElement[object]:
    return func.pg_advisory_xact_lock(func.hashtextextended(chat, SEED))


_CHAT: Final = Prepared(select(_lock(bindparam("chat"))))
_CHAT_OF_PART: Final = Prepared(select(_lock(parts.c.chat_key)).where(parts.c.part_id == bindparam("part")))
_CHATS_OF_SUBJECT: Final = Prepared(
    select(_lock(returns.c.chat_key)).where(returns.c.subject_id == bindparam("subject"))
)


def lock_chat(connection: Connection, chat: ChatKey) -> None:
    """Keep other writers out of the parts of a chat until the transaction ends."""
    _take(connection, _CHAT, {"chat": chat})


def lock_chat_of(connection: Connection, part_id: PartId) -> None:
    """As ``lock_chat``, for the chat of a part; call it before the part is loaded."""
    _take(connection, _CHAT_OF_PART, {"part": part_id})


def lock_chats_of(connection: Connection, subject: SubjectId) -> None:
    """As ``lock_chat``, for the chats that a subject's returns go to."""
    _take(connection, _CHATS_OF_SUBJECT, {"subject": subject})


def _take(connection: Connection, lock: Prepared, asked: dict[str, object]) -> None:
    if connection.dialect.name == "postgresql":
        lock.rows(connection, asked)
