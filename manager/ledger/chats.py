"""Chats: their shown names, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, cast

from sqlalchemy import Connection, bindparam, or_, select, update

from manager.ledger.inserting import insert_new
from manager.ledger.messages import ASKER
from manager.ledger.tables import chats, conversations, messages
from returns.ids import AppName, ChatId, Millis
from returns.ledger.prepared import Prepared, Row

_FIND: Final = Prepared(select(chats).where(chats.c.app == bindparam("app"), chats.c.chat_id == bindparam("chat_id")))
_GET: Final = Prepared(select(chats).where(chats.c.chat_ref == bindparam("chat_ref")))


class ChatState(Enum):
    """Whether the steward is in a chat."""

    ACTIVE = "active"
    """The bot is in it, as far as is known."""
    LEFT = "left"
    """The bot was removed; it comes back by being added, or by a later message from there."""
    DISBANDED = "disbanded"
    """The chat ended."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat. Private: ``chat_id``, ``bot_name``."""

    chat_ref: str
    app: AppName
    chat_id: ChatId
    private: bool
    external: bool | None
    """None: not known yet."""
    state: ChatState
    state_at: Millis | None
    bot_name: str | None


def find(connection: Connection, app: AppName, chat_id: ChatId) -> Chat | None:
    """The chat, if it was seen before."""
    row = _FIND.first(connection, {"app": app, "chat_id": chat_id})
    return None if row is None else chat_of(row)


def get(connection: Connection, chat_ref: str) -> Chat | None:
    """The chat of a shown name."""
    row = _GET.first(connection, {"chat_ref": chat_ref})
    return None if row is None else chat_of(row)


def find_or_create(
    connection: Connection,
    app: AppName,
    chat_id: ChatId,
    *,
    private: bool,
    new_id: Callable[[str], str],
    now: Millis,
) -> Chat:
    """The chat, made if it is new."""
    chat = find(connection, app, chat_id)
    if chat is not None:
        return chat
    row = {
        "chat_ref": new_id("c"),
        "app": app,
        "chat_id": chat_id,
        "private": private,
        "state": ChatState.ACTIVE.value,
        "created_at": now,
    }
    insert_new(connection, chats, [row])
    return find_or_create(connection, app, chat_id, private=private, new_id=new_id, now=now)


def enter(connection: Connection, chat: Chat, state: ChatState, at: Millis) -> bool:
    """Note where the bot stands since ``at``; an older event than the last one changes nothing (False)."""
    entered = connection.execute(
        update(chats)
        .where(chats.c.chat_ref == chat.chat_ref, or_(chats.c.state_at.is_(None), chats.c.state_at <= at))
        .values(state=state.value, state_at=at)
    )
    return entered.rowcount == 1


def was_asked_since(connection: Connection, chat: Chat, at: Millis) -> bool:
    """Whether anything was asked in the chat after that: who asks the bot there has it there."""
    asked = (
        select(messages.c.seq)
        .join(conversations, conversations.c.conversation_id == messages.c.conversation_id)
        .where(conversations.c.chat_ref == chat.chat_ref, messages.c.at > at, messages.c.author == ASKER)
        .limit(1)
    )
    return connection.execute(asked).first() is not None


def learn_external(connection: Connection, chat_ref: str, *, external: bool) -> None:
    """Note whether the chat reaches into another tenant."""
    connection.execute(update(chats).where(chats.c.chat_ref == chat_ref).values(external=external))


def learn_bot_name(connection: Connection, chat: Chat, name: str | None) -> None:
    """Note how people name the steward there."""
    if name is not None and name != chat.bot_name:
        connection.execute(update(chats).where(chats.c.chat_ref == chat.chat_ref).values(bot_name=name[:120]))


def chat_of(get: Row) -> Chat:
    """The chat of a row of ``chats``."""
    return Chat(
        chat_ref=cast("str", get["chat_ref"]),
        app=AppName(cast("str", get["app"])),
        chat_id=ChatId(cast("str", get["chat_id"])),
        private=bool(get["private"]),
        external=cast("bool | None", get["external"]),
        state=ChatState(get["state"]),
        state_at=cast("Millis | None", get["state_at"]),
        bot_name=cast("str | None", get["bot_name"]),
    )
