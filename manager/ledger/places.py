"""Where messages stand, as far as the ledger has seen it before; several places are read at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

from sqlalchemy import Connection, and_, bindparam, select

from manager.decisions.admission import Converse
from manager.ids import ConversationId
from manager.ledger import chats, conversations, listening
from manager.ledger.chats import Chat
from manager.ledger.conversations import NO_THREAD, Conversation
from manager.ledger.listening import Spoken
from manager.ledger.tables import chats as chat_rows
from manager.ledger.tables import conversations as conversation_rows
from returns.ids import AppName, ChatId, Millis, ThreadId
from returns.ledger.deferring import Deferred
from returns.ledger.prepared import Prepared, listed, names, size_for

Address: TypeAlias = tuple[AppName, ChatId, ThreadId | None]

AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands. ``None``: never seen."""

    chat: Chat | None
    conversation: Conversation | None
    converse: Converse


@dataclass(frozen=True, slots=True)
class _Seen:
    """A place as it was read."""

    chat: Chat
    conversation: Conversation | None
    spoken: Collection[Spoken]
    """The grants that speak of it."""

    @property
    def named(self) -> ConversationId:
        """The conversation; a thread that was never seen shares what was granted to, or revoked for, its chat."""
        unseen = ConversationId(f"{self.chat.chat_ref}.t_")
        return unseen if self.conversation is None else self.conversation.conversation_id


class Places:
    """What was read ahead; it is read again once something else than deferred rows was written."""

    def __init__(self, connection: Connection, waiting: Deferred, asked: Collection[Address]) -> None:
        self._connection = connection
        self._waiting = waiting
        self._seen: dict[Address, _Seen | None] = {}
        self._read(asked)

    def of(self, address: Address, now: Millis) -> Place:
        """The place of an address at ``now``."""
        if self._changes != self._waiting.changes or address not in self._seen:
            self._seen.clear()
            self._read([address])
        seen = self._seen[address]
        if seen is None:
            return Place(None, None, Converse.NONE)
        converse = listening.judge(self._connection, address[0], seen.named, seen.spoken, now)
        return Place(seen.chat, seen.conversation, converse)

    def _read(self, asked: Collection[Address]) -> None:
        self._seen.update(dict.fromkeys(asked))
        for app in {app for app, _, _ in asked}:
            mine = [address for address in self._seen if address[0] == app]
            for start in range(0, len(mine), AT_ONCE):
                self._seen.update(_read(self._connection, app, mine[start : start + AT_ONCE]))
        self._changes = self._waiting.changes


def _read(connection: Connection, app: AppName, asked: Collection[Address]) -> dict[Address, _Seen | None]:
    ids = list({chat: None for _, chat, _ in asked})
    threads = list({thread or NO_THREAD: None for _, _, thread in asked})
    statement = _standing(size_for(len(ids)), size_for(len(threads)))
    found_chats: dict[ChatId, Chat] = {}
    found: dict[tuple[ChatId, str], Conversation] = {}
    for row in statement.rows(connection, {"app": app, **listed("chat", ids), **listed("thread", threads)}):
        chat = chats.chat_of(row)
        found_chats[chat.chat_id] = chat
        if row["thread_id"] is not None:
            found[chat.chat_id, cast("str", row["thread_id"])] = conversations.conversation_of(chat.chat_ref, row)
    seen = {
        address: _Seen(found_chats[address[1]], found.get((address[1], address[2] or NO_THREAD)), ())
        for address in asked
        if address[1] in found_chats
    }
    return {**seen, **_with_grants(connection, seen)}


def _with_grants(connection: Connection, seen: dict[Address, _Seen]) -> dict[Address, _Seen]:
    spoken = listening.spoken_of(connection, [resource for place in seen.values() for resource in _covering(place)])
    return {
        address: _Seen(place.chat, place.conversation, _together(spoken, _covering(place)))
        for address, place in seen.items()
    }


def _covering(place: _Seen) -> tuple[str, ...]:
    named, chat = place.named, place.chat.chat_ref
    return (named,) if named == chat else (named, chat)


def _together(spoken: dict[str, list[Spoken]], resources: Iterable[str]) -> tuple[Spoken, ...]:
    return tuple(each for resource in resources for each in spoken.get(resource, ()))


@lru_cache(maxsize=64)
def _standing(count: int, threads: int) -> Prepared:
    of_chat = and_(
        conversation_rows.c.chat_ref == chat_rows.c.chat_ref,
        conversation_rows.c.thread_id.in_(names("thread", threads)),
    )
    columns = (conversation_rows.c.conversation_id, conversation_rows.c.thread_id, conversation_rows.c.answered_at)
    query = select(chat_rows, *columns).outerjoin(conversation_rows, of_chat)
    return Prepared(query.where(chat_rows.c.app == bindparam("app"), chat_rows.c.chat_id.in_(names("chat", count))))
