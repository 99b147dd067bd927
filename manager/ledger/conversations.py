"""Conversations: a chat, or a thread in one. A reply in a chat makes no thread; only a thread's own id does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from sqlalchemy import Connection, bindparam, select, update

from manager.ids import ConversationId
from manager.ledger.inserting import insert_new
from manager.ledger.tables import conversations
from returns.ids import Millis, ThreadId
from returns.ledger.prepared import Prepared, Row

NO_THREAD = ""

_FIND: Final = Prepared(
    select(conversations.c.conversation_id, conversations.c.answered_at).where(
        conversations.c.chat_ref == bindparam("chat_ref"), conversations.c.thread_id == bindparam("thread_id")
    )
)
_CHAT_OF: Final = Prepared(
    select(conversations.c.chat_ref).where(conversations.c.conversation_id == bindparam("conversation"))
)
_OF_ID: Final = select(conversations.c.conversation_id).where(
    conversations.c.conversation_id == bindparam("conversation")
)
_LOCK: Final = Prepared(_OF_ID.with_for_update())
_TRY_LOCK: Final = Prepared(_OF_ID.with_for_update(skip_locked=True))
_ANSWERED: Final = Prepared(
    update(conversations)
    .where(conversations.c.conversation_id == bindparam("conversation"), conversations.c.answered_at.is_(None))
    .values(answered_at=bindparam("now"))
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation by its shown name."""

    conversation_id: ConversationId
    chat_ref: str
    answered_at: Millis | None
    """When the steward first answered there."""


def find(connection: Connection, chat_ref: str, thread: ThreadId | None) -> Conversation | None:
    """The conversation, if it was seen before."""
    row = _FIND.first(connection, {"chat_ref": chat_ref, "thread_id": thread or NO_THREAD})
    return None if row is None else conversation_of(chat_ref, row)


def conversation_of(chat_ref: str, row: Row) -> Conversation:
    """The conversation of a row with its name and the time of its first answer."""
    conversation = ConversationId(cast("str", row["conversation_id"]))
    return Conversation(conversation, chat_ref, cast("Millis | None", row["answered_at"]))


def find_or_create(
    connection: Connection, chat_ref: str, thread: ThreadId | None, *, new_id: Callable[[str], str], now: Millis
) -> Conversation:
    """The conversation, made if it is new."""
    conversation = find(connection, chat_ref, thread)
    if conversation is not None:
        return conversation
    row = {
        "conversation_id": chat_ref if thread is None else f"{chat_ref}.{new_id('t')}"[:80],
        "chat_ref": chat_ref,
        "thread_id": thread or NO_THREAD,
        "created_at": now,
    }
    insert_new(connection, conversations, [row])
    return find_or_create(connection, chat_ref, thread, new_id=new_id, now=now)


def chat_of(connection: Connection, conversation: ConversationId) -> str | None:
    """The shown name of a conversation's chat."""
    row = _CHAT_OF.first(connection, {"conversation": conversation})
    return None if row is None else cast("str", row["chat_ref"])


def lock(connection: Connection, conversation: ConversationId) -> None:
    """Keep other gateways out of the conversation until the transaction ends: of its turns, and of its first grant."""
    _LOCK.first(connection, {"conversation": conversation})


def try_lock(connection: Connection, conversation: ConversationId) -> bool:
    """As ``lock``, without waiting: False when another gateway is in it at this moment."""
    return _TRY_LOCK.first(connection, {"conversation": conversation}) is not None


def mark_answered(connection: Connection, conversation: ConversationId, now: Millis) -> None:
    """Note that the steward answers there; the first time stays."""
    _ANSWERED.run(connection, {"conversation": conversation, "now": now})
