"""Messages as Lark's REST API shows them, as readings. From its pages "Obtain message" and "Obtain chat history"."""

from __future__ import annotations

from typing import Final

from providers.lark.content import with_names
from providers.lark.fields import JsonObject, as_id, as_list, as_object, as_text, child, moment, parse_json
from providers.lark.post import document_of, text_document
from returns.decisions.document import Document
from returns.decisions.fingerprint import visible
from returns.ids import ChatId, MessageId, ThreadId
from returns.ports import Locator, Reading

MAX_NAMES: Final = 200


def reading(item: JsonObject, app_id: str) -> Reading | None:
    """A message object as a reading; None when it has no identity, place or time."""
    message_id, chat_id = as_id(item.get("message_id")), as_id(item.get("chat_id"))
    sent_at = moment(item.get("create_time"))
    if message_id is None or chat_id is None or sent_at is None:
        return None
    thread_id, parent_id = as_id(item.get("thread_id")), as_id(item.get("parent_id"))
    recalled = item.get("deleted") is True
    return Reading(
        locator=Locator(MessageId(message_id), ChatId(chat_id), None if thread_id is None else ThreadId(thread_id)),
        parent_id=None if parent_id is None else MessageId(parent_id),
        ours=is_ours(item, app_id),
        recalled=recalled,
        sent_at=sent_at,
        visible="" if recalled else visible(_document(item)),
    )


def is_ours(item: JsonObject, app_id: str) -> bool:
    """Whether the app itself sent the message."""
    sender = child(item, "sender")
    return sender.get("sender_type") == "app" and sender.get("id") == app_id


def is_another_s(item: JsonObject, app_id: str) -> bool:
    """Whether the message says of itself that a person or another app sent it; saying nothing is not enough."""
    sender = child(item, "sender")
    kind, who = sender.get("sender_type"), as_id(sender.get("id"))
    return who is not None and (kind == "user" or (kind == "app" and who != app_id))


def content_of(item: JsonObject) -> tuple[str, str]:
    """The message's type and content, as events have them."""
    content = child(item, "body").get("content")
    return as_text(item.get("msg_type")), content if isinstance(content, str) else ""


def names_of(item: JsonObject) -> dict[str, str]:
    """The names of the mentioned, by the keys that stand for them in the text."""
    names: dict[str, str] = {}
    for value in (as_list(item.get("mentions")) or ())[:MAX_NAMES]:
        mention = as_object(value) or {}
        key = as_id(mention.get("key"))
        if key is not None:
            names[key] = " ".join(as_text(mention.get("name")).split())
    return names


def _document(item: JsonObject) -> Document:
    message_type, content = content_of(item)
    try:
        parsed = as_object(parse_json(content))
    except ValueError:
        parsed = None
    if parsed is not None and message_type == "post":
        return document_of(parsed)
    if parsed is not None and message_type == "text":
        return text_document(with_names(as_text(parsed.get("text")), names_of(item)))
    return text_document(f"[{message_type}]")
