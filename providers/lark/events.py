"""Lark's events as values: pure, and nothing that Lark could send makes it raise.

Both envelopes are read: 2.0 (``schema``, ``header``, ``event``) and 1.0 (``uuid``, ``event``). From Lark's pages
"Receive message" (im.message.receive_v1), "Message recalled", "Bot added to a chat", "Bot removed from a chat" and
"Chat disbanded".
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from manager.decisions.inbound import (
    BotAdded,
    BotRemoved,
    ChatDisbanded,
    Envelope,
    Inbound,
    Mention,
    MessageRecalled,
    MessageReceived,
    Misshapen,
    Sender,
    SenderKind,
    Unwanted,
)
from manager.ids import OpenId
from providers.lark.content import ALL_KEY, UnreadableContent, digest, mentions_all, readable, shown
from providers.lark.fields import JsonObject, as_id, as_list, as_object, as_text, child, moment
from returns.ids import AppName, ChatId, MessageId, Millis, ThreadId

MAX_EVENT_TYPE: Final = 80
MAX_MENTIONS: Final = 200
_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"))

_KINDS: Final[Mapping[object, SenderKind]] = {
    "user": SenderKind.USER,
    "bot": SenderKind.BOT,
    "app": SenderKind.BOT,
}
_FLOAT_SECONDS = re.compile(r"([0-9]{1,12})(\.[0-9]{1,9})?")


class _Wrong(Exception):
    """A needed field is missing or of the wrong type."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


def parse_event(app: AppName, payload: Mapping[str, object]) -> Inbound:
    """The value of an authentic, decrypted event. Raises nothing: what is not as it should be is ``Misshapen``."""
    envelope, event, wrong = _envelope(app, payload)
    if wrong is not None:
        return Misshapen(envelope, wrong)
    parse = _PARSERS.get(envelope.event_type) if "schema" in payload else None
    if parse is None:
        return Unwanted(envelope)
    if event is None:
        return Misshapen(envelope, "event")
    try:
        return parse(envelope, event)
    except _Wrong as wrong_field:
        return Misshapen(envelope, wrong_field.field)


def _envelope(app: AppName, payload: JsonObject) -> tuple[Envelope, JsonObject | None, str | None]:
    event = as_object(payload.get("event"))
    new = "schema" in payload
    header = child(payload, "header") if new else payload
    about = header if new else (event or {})
    event_type = as_text(about.get("event_type" if new else "type"))[:MAX_EVENT_TYPE]
    body_digest = _digest([event_type, payload.get("event")])
    event_id = as_id(header.get("event_id" if new else "uuid"))
    created_at = moment(header.get("create_time")) if new else _seconds(header.get("ts"))
    tenant = as_id(about.get("tenant_key"))
    # without an id of its own an event is told from others by what it says, so that it is parked once
    envelope = Envelope(app, event_id or f"body-{body_digest}", event_type, tenant, created_at, body_digest)
    where = "header." if new else ""
    if event_id is None:
        return envelope, event, f"{where}event_id" if new else "uuid"
    if not event_type:
        return envelope, event, f"{where}event_type" if new else "event.type"
    return envelope, event, None


def _seconds(value: object) -> Millis | None:
    """A time of the 1.0 envelope: seconds with a fraction, as a string."""
    found = _FLOAT_SECONDS.fullmatch(value) if isinstance(value, str) else None
    return moment(value) if found is None else moment(int(float(found[0]) * 1000))


def _digest(value: object) -> str:
    try:
        canonical = _CANONICAL.encode(value)
    except (TypeError, ValueError, RecursionError):
        canonical = "not JSON"
    return hashlib.sha256(canonical.encode()).hexdigest()


def _received(envelope: Envelope, event: JsonObject) -> MessageReceived:
    message = _object(event, "event", "message")
    message_type = _id(message, "event.message", "message_type")
    content = _content(message)
    text = _readable(message_type, content)
    mentions, everybody = _mentions(message)
    thread_id = _optional_id(message, "event.message", "thread_id")
    parent_id = _optional_id(message, "event.message", "parent_id")
    return MessageReceived(
        envelope=envelope,
        message_id=MessageId(_id(message, "event.message", "message_id")),
        chat_id=ChatId(_id(message, "event.message", "chat_id")),
        private=_id(message, "event.message", "chat_type") == "p2p",
        thread_id=None if thread_id is None else ThreadId(thread_id),
        parent_id=None if parent_id is None else MessageId(parent_id),
        sender=_sender(event),
        created_at=moment(message.get("create_time")),
        text=text,
        mentions=mentions,
        mentions_all=everybody or mentions_all(message_type, content, text),
        content_digest=digest(message_type, content),
        message_type=message_type,
        shown=shown(message_type, content),
    )


def _recalled(envelope: Envelope, event: JsonObject) -> MessageRecalled:
    return MessageRecalled(
        envelope, MessageId(_id(event, "event", "message_id")), ChatId(_id(event, "event", "chat_id"))
    )


def _bot_added(envelope: Envelope, event: JsonObject) -> BotAdded:
    external = event.get("external")
    return BotAdded(envelope, ChatId(_id(event, "event", "chat_id")), external if isinstance(external, bool) else None)


def _bot_removed(envelope: Envelope, event: JsonObject) -> BotRemoved:
    return BotRemoved(envelope, ChatId(_id(event, "event", "chat_id")))


def _disbanded(envelope: Envelope, event: JsonObject) -> ChatDisbanded:
    return ChatDisbanded(envelope, ChatId(_id(event, "event", "chat_id")))


_Parser: TypeAlias = Callable[[Envelope, JsonObject], Inbound]

_PARSERS: Final[Mapping[str, _Parser]] = {
    "im.message.receive_v1": _received,
    "im.message.recalled_v1": _recalled,
    "im.chat.member.bot.added_v1": _bot_added,
    "im.chat.member.bot.deleted_v1": _bot_removed,
    "im.chat.disbanded_v1": _disbanded,
}


def _content(message: JsonObject) -> str:
    """The content as sent; nothing where a message was recalled before it came."""
    content = message.get("content")
    if content is None:
        return ""
    if not isinstance(content, str):
        raise _Wrong("event.message.content")
    return content


def _readable(message_type: str, content: str) -> str:
    try:
        return readable(message_type, content)
    except UnreadableContent:
        raise _Wrong("event.message.content") from None


def _sender(event: JsonObject) -> Sender:
    if event.get("sender") is None:
        return Sender(None, SenderKind.UNKNOWN, None)
    sender = _object(event, "event", "sender")
    open_id: str | None = None
    if sender.get("sender_id") is not None:
        ids = _object(sender, "event.sender", "sender_id")
        open_id = _optional_id(ids, "event.sender.sender_id", "open_id")
    kind = _KINDS.get(as_text(sender.get("sender_type")), SenderKind.UNKNOWN)
    return Sender(None if open_id is None else OpenId(open_id), kind, as_id(sender.get("tenant_key")))


def _mentions(message: JsonObject) -> tuple[tuple[Mention, ...], bool]:
    """Who is named, and whether everybody is called by an entry of its own."""
    if message.get("mentions") is None:
        return (), False
    entries = as_list(message.get("mentions"))
    if entries is None:
        raise _Wrong("event.message.mentions")
    found = [_mention(entry) for entry in entries[:MAX_MENTIONS]]
    return tuple(one for one in found if one.key != ALL_KEY), any(one.key == ALL_KEY for one in found)


def _mention(value: object) -> Mention:
    entry = as_object(value)
    key = None if entry is None else as_id(entry.get("key"))
    if entry is None or key is None:
        raise _Wrong("event.message.mentions")
    person = entry.get("id")  # an object in events, a string where messages are read
    open_id = as_id(child(entry, "id").get("open_id")) or as_id(person)
    name = " ".join(as_text(entry.get("name")).split())
    return Mention(key, None if open_id is None else OpenId(open_id), name)


def _object(parent: JsonObject, where: str, key: str) -> JsonObject:
    value = as_object(parent.get(key))
    if value is None:
        raise _Wrong(f"{where}.{key}")
    return value


def _id(parent: JsonObject, where: str, key: str) -> str:
    value = as_id(parent.get(key))
    if value is None:
        raise _Wrong(f"{where}.{key}")
    return value


def _optional_id(parent: JsonObject, where: str, key: str) -> str | None:
    if parent.get(key) in (None, ""):
        return None
    return _id(parent, where, key)
