"""A chat's or a thread's history, page by page. No I/O.

https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/list
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from providers.lark_double.errors import LarkError
from providers.lark_double.model import App, Chat, Message
from providers.lark_double.world import World

PAGE_SIZE_MAX = 50


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """What is asked for; times in whole seconds."""

    container_type: str
    container_id: str
    start_s: int | None
    end_s: int | None
    descending: bool
    page_size: int
    page_token: str | None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page, and the token of the next one when there is more."""

    messages: tuple[Message, ...]
    next_token: str | None


def page(world: World, app: App, query: HistoryQuery) -> HistoryPage:
    """One page of a container. Raises ``LarkError`` when it may not be read or the query is not valid."""
    if not 1 <= query.page_size <= PAGE_SIZE_MAX:
        raise LarkError(230001, "page_size must be 1 to 50")
    if query.container_type == "thread":
        found = _thread(world, app, query)
    elif query.container_type == "chat":
        found = _chat(world, app, query)
    else:
        raise LarkError(230001, "invalid container_id_type")
    found.sort(key=_position, reverse=query.descending)
    after = _after(query)
    if after is not None:
        found = [m for m in found if (_position(m) < after if query.descending else _position(m) > after)]
    shown = tuple(found[: query.page_size])
    more = len(found) > query.page_size
    return HistoryPage(shown, _token(query, shown[-1]) if more else None)


def chat_of(world: World, query: HistoryQuery) -> str | None:
    """The chat that a query looks into, or None when there is no such container."""
    if query.container_type == "thread":
        root = world.messages.get(world.thread_roots.get(query.container_id, ""))
        return None if root is None else root.chat_id
    return query.container_id if query.container_id in world.chats else None


def _chat(world: World, app: App, query: HistoryQuery) -> list[Message]:
    chat = _open(world, app, chat_of(world, query))
    return [
        message
        for message in _shown(world, chat)
        if (message.thread_id is None or world.thread_roots[message.thread_id] == message.message_id)
        and (query.start_s is None or message.create_time // 1000 >= query.start_s)
        and (query.end_s is None or message.create_time // 1000 <= query.end_s)
    ]


def _thread(world: World, app: App, query: HistoryQuery) -> list[Message]:
    if query.start_s is not None or query.end_s is not None:
        raise LarkError(230001, "thread containers know no time range")
    chat_id = chat_of(world, query)
    if chat_id is None:
        raise LarkError(230019)
    chat = _open(world, app, chat_id)
    return [message for message in _shown(world, chat) if message.thread_id == query.container_id]


def _open(world: World, app: App, chat_id: str | None) -> Chat:
    chat = world.chats.get(chat_id or "")
    if chat is None:
        raise LarkError(230001, "invalid container_id")
    if chat.dissolved or app.app_id not in chat.bots:
        raise LarkError(230002)
    if chat.history_forbidden or not app.reads_history:
        raise LarkError(230027)
    return chat


def _shown(world: World, chat: Chat) -> list[Message]:
    now = world.clock.now()
    messages = (world.messages[message_id] for message_id in world.in_chat[chat.chat_id])
    return [message for message in messages if not message.deleted and message.readable_at <= now]


def _position(message: Message) -> tuple[int, int]:
    return message.create_time, message.order


def _token(query: HistoryQuery, last: Message) -> str:
    direction = "d" if query.descending else "a"
    return base64.urlsafe_b64encode(f"{direction}.{last.create_time}.{last.order}".encode()).decode()


def _after(query: HistoryQuery) -> tuple[int, int] | None:
    if not query.page_token:
        return None
    try:
        direction, created, order = base64.urlsafe_b64decode(query.page_token).decode().split(".")
        after = int(created), int(order)
    except (ValueError, binascii.Error) as broken:
        raise LarkError(230001, "invalid page_token") from broken
    if direction != ("d" if query.descending else "a"):
        raise LarkError(230001, "sort_type differs from that of the first page")
    return after
