"""A document as a Lark post, and a post as it is read back as a document.

Only plain nodes go out (``text``, ``a``, ``code_block``, ``hr``, ``img``), in one locale: Lark interprets nothing in
them, so they read back as they were sent (its pages "Message content structure" for sending and for receiving).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, assert_never

from providers.lark.fields import JsonObject, as_list, as_object, as_text, child, compact
from returns.decisions.document import Code, Document, Image, Link, Node, Paragraph, Rule, Text
from returns.decisions.fingerprint import clean
from returns.ids import ChatId, IdempotencyKey

LIMIT_BYTES: Final = 30 * 1024 - 512
"""A post's request body may have 30 KB (Lark's page "Send message"); the rest is for what Lark adds to it."""

_LONGEST_KEY: Final = IdempotencyKey("k" * 50)
_LONGEST_CHAT: Final = ChatId("c" * 120)
_WEB = re.compile(r"https?://[^\s]+", re.IGNORECASE)
LOCALES: Final = ("zh_cn", "en_us", "ja_jp")


def content(document: Document) -> str:
    """The ``content`` of a message that shows the document."""
    return compact({"zh_cn": {"title": "", "content": [_paragraph(paragraph) for paragraph in document]}})


def create_body(chat_id: ChatId, document: Document, key: IdempotencyKey) -> bytes:
    """The request that sends a plain message in a chat."""
    return _bytes({"receive_id": chat_id, "msg_type": "post", "content": content(document), "uuid": key})


def reply_body(document: Document, key: IdempotencyKey) -> bytes:
    """The request that replies. It opens no thread; in a thread it stays there."""
    return _bytes({"content": content(document), "msg_type": "post", "reply_in_thread": False, "uuid": key})


def measure(document: Document) -> int:
    """Bytes of the largest request that could carry the document."""
    return len(create_body(_LONGEST_CHAT, document, _LONGEST_KEY))


def document_of(post: JsonObject) -> Document:
    """What a post that was read back shows: its title, if any, then its paragraphs."""
    inner = unwrapped(post)
    title = as_text(inner.get("title"))
    paragraphs = tuple(tuple(_nodes_of(as_list(row) or ())) for row in as_list(inner.get("content")) or ())
    return (((Text(title),), *paragraphs)) if title else paragraphs


def text_document(text: str) -> Document:
    """Words as a document."""
    return ((Text(text),),)


def unwrapped(post: JsonObject) -> JsonObject:
    """The post without the locale around it, where there is one."""
    if "content" in post:
        return post
    for locale in LOCALES:
        inner = as_object(post.get(locale))
        if inner is not None:
            return inner
    return post


def is_same_place(text: str, href: str) -> bool:
    """Whether a link is what Lark makes of its text by itself: an address or a mailbox, written out."""
    return href.removesuffix("/") in {text, text.removesuffix("/"), *(f"{scheme}{text}" for scheme in _SCHEMES)}


_SCHEMES: Final = ("https://", "http://", "mailto:")


def _bytes(request: JsonObject) -> bytes:
    return compact(request).encode()


def _paragraph(paragraph: Paragraph) -> list[JsonObject]:
    return [_node(node) for node in paragraph] or [_text("")]


def _node(node: Node) -> JsonObject:
    match node:
        case Text(text):
            return _text(text)
        case Link(text, href):
            return _link(clean(text), clean(href))
        case Code(language, text):
            return {"tag": "code_block", "language": clean(language), "text": clean(text)}
        case Rule():
            return {"tag": "hr"}
        case Image(key):
            return {"tag": "img", "image_key": key}
        case _:
            assert_never(node)


def _text(text: str) -> JsonObject:
    return {"tag": "text", "text": clean(text)}


def _link(text: str, href: str) -> JsonObject:
    """A link, or its words: Lark refuses a whole post for one address that is not of the web.

    A link that differs from its text only as Lark's own would is written out too: reading back could not tell them
    apart.
    """
    if not href:
        return _text(text)
    if text == href:
        return {"tag": "a", "text": text, "href": href} if _WEB.fullmatch(href) else _text(text)
    if not text or is_same_place(text, href) or not _WEB.fullmatch(href):
        return _text(f"{text} ({href})")
    return {"tag": "a", "text": text, "href": href}


def _nodes_of(row: Iterable[object]) -> Iterable[Node]:
    for value in row:
        node = as_object(value)
        if node is not None:
            yield _node_of(node)


def _node_of(node: JsonObject) -> Node:
    text = as_text(node.get("text"))
    match node.get("tag"):
        case "a":
            return _link_of(text, as_text(node.get("href")))
        case "code_block":
            return Code(as_text(node.get("language")), text)
        case "hr":
            return Rule()
        case "img":
            return Image(as_text(node.get("image_key")))
        case "at":
            return Text(f"@{as_text(node.get('user_name')) or 'all'}")
        case "emotion":
            return Text(f"[{as_text(node.get('emoji_type'))}]")
        case _:
            return Text(text or as_text(child(node, "text").get("content")))


def _link_of(text: str, href: str) -> Node:
    if not href or (text != href and is_same_place(text, href)):
        return Text(text)
    return Link(text, href)
