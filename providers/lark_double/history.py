"""A chat's or a thread's history, page by page. No I/O.

https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/list
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from providers.lark_double.errors import LarkError
from providers.lark_double.model import App, Chat, Message
from providers.lark_double.world import Moment, World

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


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a timeline, from ``first`` up to ``last``."""

    moments: list[Moment]
    first: int
    last: int
    descending: bool


def page(world: World, app: App, query: HistoryQuery) -> HistoryPage:
    """One page of a container. Raises ``LarkError`` when it may not be read or the query is not valid."""
    if not 1 <= query.page_size <= PAGE_SIZE_MAX:
        raise LarkError(230001, "page_size must be 1 to 50")
    if query.container_type == "thread":
        timeline = _thread(world, app, query)
    elif query.container_type == "chat":
        timeline = _chat(world, app, query)
    else:
        raise LarkError(230001, "invalid container_id_type")
    found = list(islice(_shown(world, timeline, _after(query)), query.page_size + 1))
    shown = tuple(found[: query.page_size])
    return HistoryPage(shown, _token(query, shown[-1]) if len(found) > query.page_size else None)


def chat_of(world: World, query: HistoryQuery) -> str | None:
    """The chat that a query looks into, or None when there is no such container."""
    if query.container_type == "thread":
        root = world.messages.get(world.thread_roots.get(query.container_id, ""))
        return None if root is None else root.chat_id
    return query.container_id if query.container_id in world.chats else None


def _chat(world: World, app: App, query: HistoryQuery) -> Stretch:
    chat = _open(world, app, chat_of(world, query))
    moments = world.timelines.get(chat.chat_id, [])
    first = 0 if query.start_s is None else bisect_left(moments, (query.start_s * 1000, 0, ""))
    last = len(moments) if query.end_s is None else bisect_left(moments, ((query.end_s + 1) * 1000, 0, ""))
    return Stretch(moments, first, last, query.descending)


def _thread(world: World, app: App, query: HistoryQuery) -> Stretch:
    if query.start_s is not None or query.end_s is not None:
        raise LarkError(230001, "thread containers know no time range")
    chat_id = chat_of(world, query)
    if chat_id is None:
        raise LarkError(230019)
    _open(world, app, chat_id)
    moments = world.timelines.get(query.container_id, [])
    return Stretch(moments, 0, len(moments), query.descending)


def _open(world: World, app: App, chat_id: str | None) -> Chat:
    chat = world.chats.get(chat_id or "")
    if chat is None:
        raise LarkError(230001, "invalid container_id")
    if chat.dissolved or app.app_id not in chat.bots:
        raise LarkError(230002)
    if chat.history_forbidden or not app.reads_history:
        raise LarkError(230027)
    return chat


def _shown(world: World, stretch: Stretch, after: tuple[int, int] | None) -> Iterator[Message]:
    first, last = stretch.first, stretch.last
    if after is not None and stretch.descending:
        last = min(last, bisect_left(stretch.moments, (*after, "")))
    elif after is not None:
        first = max(first, bisect_left(stretch.moments, (after[0], after[1] + 1, "")))
    now = world.clock.now()
    for index in range(last - 1, first - 1, -1) if stretch.descending else range(first, last):
        message = world.messages[stretch.moments[index][2]]
        if not message.deleted and message.readable_at <= now:
            yield message


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
