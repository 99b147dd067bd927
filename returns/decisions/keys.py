"""Keys and digests: pure functions of ids, never of mutable state, content or chance."""

from __future__ import annotations

import hashlib
import json

from returns.ids import AppName, ChatId, ChatKey, IdempotencyKey, PartId, ReturnId
from returns.ports import Route


def _digest(*words: object) -> str:
    return hashlib.sha256(json.dumps(words, ensure_ascii=True).encode()).hexdigest()


def part_id(return_id: ReturnId, position: int) -> PartId:
    """The id of a return's part; positions count from 0."""
    return PartId("p_" + _digest("part", return_id, position)[:32])


def idempotency_key(part: PartId, generation: int) -> IdempotencyKey:
    """What the provider deduplicates a part's sends by: 43 characters, well below Lark's 50.

    The same after every refusal. ``generation`` counts the places that the part was given: a plain message instead of
    a reply is another message to the provider and needs a key of its own.
    (https://open.feishu.cn/document/server-docs/im-v1/message/create: ``uuid``)
    """
    return IdempotencyKey("ls-" + _digest("send", part, generation)[:40])


def chat_key(app: AppName, chat_id: ChatId) -> ChatKey:
    """Orders and paces a chat of an app without naming it."""
    return ChatKey(_digest("chat", app, chat_id))


def route_digest(route: Route) -> str:
    """Fixes where an attempt goes."""
    return _digest("route", route.app, route.chat_id, route.thread_id, route.reply_to)


def body_digest(body: str) -> str:
    """Fixes what an attempt says; ``body`` is the document's JSON."""
    return hashlib.sha256(body.encode()).hexdigest()
