"""Content as it is sent, and as it reads back: Lark rewrites what it is given.

Text loses its styles, and its ``<at>`` tags become keys with mentions; a post is one locale, unwrapped, with
``style`` on its nodes. https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/im-v1/message/create_json and
https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/im-v1/message/events/message_content
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from providers.lark_double.errors import LarkError
from providers.lark_double.markdown import split_markdown
from providers.lark_double.model import Author, Mention
from providers.lark_double.wire import Json, compact, mapping, parse, sequence, text

TEXT_LIMIT_BYTES = 150 * 1024
POST_LIMIT_BYTES = 30 * 1024

Who: TypeAlias = Callable[[str], tuple[Author, str] | None]
"""Somebody by an id that the sending app uses: who it is, and their name; None when there is nobody."""

_AT = re.compile(r"""<at\s+user_id\s*=\s*["']?([^"'>\s]+)["']?\s*>(.*?)</at>""", re.DOTALL)
_TAG = re.compile(r"<(/?)([bius])>")
_LOCALE = re.compile(r"[a-z]{2}_[a-z]{2}")
_HREF = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+")
_STYLES = frozenset({"bold", "underline", "lineThrough", "italic"})
_ALONE = frozenset({"img", "media", "md", "hr", "code_block"})
_BARE: dict[str, tuple[str, ...]] = {"hr": (), "emotion": ("emoji_type",), "img": ("image_key",)}
"""Tags without style, and the fields that they must have."""
_RESOURCE_TYPES = frozenset({"image", "file", "audio", "media", "sticker"})
_DEGRADED_CARD = "请升级至最新版本客户端，以查看内容"


@dataclass(slots=True)
class Mentions:
    """Gives each named one the next key."""

    who: Who
    found: list[Mention] = field(default_factory=list[Mention])

    def key(self, user_id: str) -> tuple[str, str] | None:
        """The key that stands for somebody, and their name; None for an id of nobody."""
        if user_id == "all":
            return "@_all", "all"
        known = self.who(user_id)
        if known is None:
            return None
        author, name = known
        for mention in self.found:
            if mention.author == author:
                return mention.key, name
        self.found.append(Mention(f"@_user_{len(self.found) + 1}", author, name))
        return self.found[-1].key, name


def read_back(msg_type: str, content: str, who: Who) -> tuple[str, tuple[Mention, ...]]:
    """What ``content`` reads back as, and who is mentioned in it. Raises ``LarkError`` 230001 for what is not valid."""
    value = _object(content)
    mentions = Mentions(who)
    if msg_type == "text":
        shown: Json = {"text": _text(value, mentions)}
    elif msg_type == "post":
        shown = _post(value, mentions)
    elif msg_type == "interactive":
        shown = {"title": None, "elements": [[{"tag": "text", "text": _DEGRADED_CARD}]]}
    elif msg_type in _RESOURCE_TYPES:
        raise LarkError(230017)
    elif msg_type in {"share_chat", "share_user"}:
        shown = value
    else:
        raise LarkError(230001, "invalid msg_type")
    return compact(shown), tuple(mentions.found)


def check_size(msg_type: str, request_bytes: int) -> None:
    """Refuse (230025) a request that is larger than its type allows: bytes of the serialised request."""
    if request_bytes > (TEXT_LIMIT_BYTES if msg_type == "text" else POST_LIMIT_BYTES):
        raise LarkError(230025)


def plain(msg_type: str, content: str) -> str:
    """What a person reads of content as it reads back; mention keys stay keys."""
    value = mapping(parse(content)) or {}
    if msg_type == "text":
        return text(value, "text") or ""
    if msg_type != "post":
        return f"[{msg_type}]"
    lines = [text(value, "title") or ""] if text(value, "title") else []
    for paragraph in sequence(value.get("content")) or []:
        nodes = [mapping(node) or {} for node in sequence(paragraph) or []]
        lines.append("".join(_node_text(node) for node in nodes))
    return "\n".join(lines)


def _node_text(node: Json) -> str:
    match node.get("tag"):
        case "at":
            return text(node, "user_id") or ""
        case "hr":
            return "---"
        case "img" | "media":
            return f"[{node['tag']}]"
        case "a":
            words, href = text(node, "text") or "", text(node, "href") or ""
            return words if words == href else f"{words} ({href})"
        case _:
            return text(node, "text") or ""


def _object(content: str) -> Json:
    try:
        value = mapping(parse(content))
    except ValueError:
        value = None
    if value is None:
        raise LarkError(230001, "invalid message content")
    return value


def _text(value: Json, mentions: Mentions) -> str:
    words = text(value, "text")
    if not words:
        raise LarkError(230001, "text is empty")
    return _without_styles(_with_keys(words, mentions))


def _with_keys(words: str, mentions: Mentions) -> str:
    def named(found: re.Match[str]) -> str:
        known = mentions.key(found[1])
        return f"@{found[2]}" if known is None else known[0]

    return _AT.sub(named, words)


def _without_styles(words: str) -> str:
    """Styles go where they are properly nested; otherwise everything stays as it was sent."""
    opened: list[str] = []
    for found in _TAG.finditer(words):
        if not found[1]:
            opened.append(found[2])
        elif not opened or opened.pop() != found[2]:
            return words
    return words if opened else _TAG.sub("", words)


def _post(value: Json, mentions: Mentions) -> Json:
    locales = [mapping(body) for name, body in value.items() if _LOCALE.fullmatch(name)]
    chosen = next((body for body in locales if body is not None), None)
    if chosen is None:
        raise LarkError(230001, "a post needs a locale")
    paragraphs = sequence(chosen.get("content"))
    if not paragraphs:
        raise LarkError(230001, "content is empty")
    shown: list[object] = []
    for paragraph in paragraphs:
        shown.extend(_paragraph(paragraph, mentions))
    return {"title": text(chosen, "title") or "", "content": shown}


def _paragraph(paragraph: object, mentions: Mentions) -> list[object]:
    nodes = [mapping(node) for node in sequence(paragraph) or []]
    if not isinstance(paragraph, list) or any(node is None for node in nodes):
        raise LarkError(230001, "a paragraph is a list of nodes")
    present = [node for node in nodes if node is not None]
    if len(present) > 1 and any(node.get("tag") in _ALONE for node in present):
        raise LarkError(230001, "this tag needs a paragraph of its own")
    if present and present[0].get("tag") == "md":
        words = _with_keys(_required(present[0], "text"), mentions)
        return [[_node(node, mentions) for node in nodes] for nodes in split_markdown(words)]
    return [[_node(node, mentions) for node in present]]


def _node(node: Json, mentions: Mentions) -> Json:
    tag = node.get("tag")
    if tag == "text":
        return {"tag": "text", "text": _required(node, "text"), "style": _style(node)}
    if tag == "a":
        href = _required(node, "href")
        if not _HREF.fullmatch(href):
            raise LarkError(230001, "invalid href")
        return {"tag": "a", "href": href, "text": _required(node, "text"), "style": _style(node)}
    if tag == "at":
        user_id = _required(node, "user_id")
        known = (user_id, user_id) if user_id.startswith("@_") else mentions.key(user_id)
        if known is None:
            raise LarkError(230001, "invalid user_id")
        return {"tag": "at", "user_id": known[0], "user_name": known[1], "style": _style(node)}
    if tag == "code_block":
        return {"tag": "code_block", "language": text(node, "language") or "", "text": _required(node, "text")}
    if tag == "media":
        return {"tag": "media", "file_key": _required(node, "file_key"), "image_key": text(node, "image_key") or ""}
    if not isinstance(tag, str) or tag not in _BARE:
        raise LarkError(230001, "unknown tag")
    return {"tag": tag, **{key: _required(node, key) for key in _BARE[tag]}}


def _required(node: Json, key: str) -> str:
    value = text(node, key)
    if value is None:
        raise LarkError(230001, f"{key} is missing")
    return value


def _style(node: Json) -> list[object]:
    return [style for style in sequence(node.get("style")) or [] if style in _STYLES]
