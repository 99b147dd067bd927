"""What a person reads of a received message, by its type, and a digest of what was sent.

Mention keys (``@_user_1``) stay in the text; whoever knows the names puts them in. From Lark's page "Message content
structure" for receiving.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from providers.lark.fields import JsonObject, as_list, as_object, as_text, child, parse_json
from providers.lark.post import document_of, unwrapped
from returns.decisions.fingerprint import clean, visible

ALL_KEY: Final = "@_all"
MAX_OPTIONS: Final = 20

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_ALL_IN_TEXT = re.compile(r"@_all(?![0-9A-Za-z_])")
_FENCE_RUN = re.compile(r"`{3,}")
_UNTOLD: Final = frozenset({"style", "un_escape"})


class UnreadableContent(ValueError):
    """The content of a type with words is not the JSON that the type has."""


def readable(message_type: str, content: str) -> str:
    """The words of a message. Empty for empty content (recalled before it came).

    Raises ``UnreadableContent`` for text and posts that are not of their form; everything else has a name at least.
    """
    if not content:
        return ""
    try:
        parsed = as_object(parse_json(content))
    except ValueError:
        parsed = None
    if message_type in {"text", "post"}:
        return _text(parsed) if message_type == "text" else _post(parsed)
    show = _SHOWN.get(message_type)
    return f"[{clean(message_type)}]" if show is None else show(parsed or {})


def shown(message_type: str, content: str) -> str | None:
    """What a person reads of a post, as our own are compared when they are read back; None for other types.

    Words for a reader tell code from prose by fences, which nobody sees in a post.
    """
    if message_type != "post" or not content:
        return None
    try:
        parsed = as_object(parse_json(content))
    except ValueError:
        return None
    return None if parsed is None else clean(visible(document_of(parsed)))


def mentions_all(message_type: str, content: str, text: str) -> bool:
    """Whether everybody is called. In a post only a mention calls, not words in code."""
    if message_type == "post":
        return any(_calls_all(node) for node in _post_nodes(content))
    return message_type == "text" and _ALL_IN_TEXT.search(text) is not None


def with_names(text: str, names: Mapping[str, str]) -> str:
    """The text with the names of the mentioned in the place of their keys."""
    if not names:
        return text
    keys = sorted(names, key=len, reverse=True)
    pattern = re.compile("|".join(f"{re.escape(key)}(?![0-9])" for key in keys))
    return pattern.sub(lambda found: f"@{names[found[0]]}", text)


def digest(message_type: str, content: str) -> str:
    """SHA-256 of type and content. Key order, spacing, locale and styles, which Lark rewrites, change nothing."""
    try:
        parsed: object = _told(parse_json(content))
    except ValueError:
        parsed = content
    canonical = _CANONICAL.encode([message_type, parsed])
    return hashlib.sha256(canonical.encode()).hexdigest()


def _told(value: object) -> object:
    entries = as_object(value)
    if entries is not None:
        kept = {key: _told(item) for key, item in unwrapped(entries).items() if key not in _UNTOLD}
        return {key: item for key, item in kept.items() if item not in ("", None, [], {})}
    items = as_list(value)
    return value if items is None else [_told(item) for item in items]


def _text(parsed: JsonObject | None) -> str:
    text = "" if parsed is None else parsed.get("text", "")
    if parsed is None or not isinstance(text, str):
        raise UnreadableContent("text")
    return clean(text)


def _post(parsed: JsonObject | None) -> str:
    rows = None if parsed is None else as_list(unwrapped(parsed).get("content", []))
    if parsed is None or rows is None:
        raise UnreadableContent("post")
    title = as_text(unwrapped(parsed).get("title"))
    return "\n".join([*([title] if title else []), *_rows(rows)])


def _post_nodes(content: str) -> Iterable[JsonObject]:
    try:
        parsed = as_object(parse_json(content)) or {}
    except ValueError:
        return
    for row in as_list(unwrapped(parsed).get("content")) or ():
        for node in as_list(row) or ():
            yield as_object(node) or {}


def _calls_all(node: JsonObject) -> bool:
    if node.get("tag") == "at":
        return as_text(node.get("user_id")) in {"all", ALL_KEY}
    return node.get("tag") == "text" and _ALL_IN_TEXT.search(as_text(node.get("text"))) is not None


def _rows(rows: Sequence[object]) -> Iterable[str]:
    for row in rows:
        nodes = [as_object(node) or {} for node in as_list(row) or ()]
        yield "".join(_node(node) for node in nodes)


def _node(node: JsonObject) -> str:
    text = as_text(node.get("text")) or as_text(child(node, "text").get("content"))
    match node.get("tag"):
        case "a":
            href = as_text(node.get("href"))
            return text if not href or text == href else f"[{text}]({href})"
        case "at":
            return as_text(node.get("user_id")) or f"@{as_text(node.get('user_name'))}"
        case "code_block":
            return _fenced(as_text(node.get("language")), text)
        case "hr":
            return "---"
        case "emotion":
            return f"[{as_text(node.get('emoji_type'))}]"
        case "img":
            return "[image]"
        case "media":
            return "[video]"
        case "note":
            return "".join(_rows([as_list(node.get("elements")) or ()]))
        case _:
            return text


def _fenced(language: str, text: str) -> str:
    """Code inside a fence that is longer than any inside it."""
    longest = max((len(run) for run in _FENCE_RUN.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def _card(parsed: JsonObject) -> str:
    title = as_text(parsed.get("title"))
    lines = [title, *_rows(as_list(parsed.get("elements")) or ())]
    return "\n".join(line for line in lines if line) or "[card]"


def _todo(parsed: JsonObject) -> str:
    try:
        summary = _post(child(parsed, "summary"))
    except UnreadableContent:
        summary = ""
    return _named("task", summary)


def _vote(parsed: JsonObject) -> str:
    options = [as_text(option) for option in as_list(parsed.get("options")) or ()][:MAX_OPTIONS]
    return _named("poll", "; ".join(word for word in (as_text(parsed.get("topic")), *options) if word))


def _named(kind: str, words: str) -> str:
    return f"[{kind}: {words}]" if words else f"[{kind}]"


_Show: TypeAlias = Callable[[JsonObject], str]


def _with(kind: str, key: str) -> _Show:
    return lambda parsed: _named(kind, as_text(parsed.get(key)))


def _only(kind: str) -> _Show:
    return lambda _: f"[{kind}]"


_SHOWN: Final[Mapping[str, _Show]] = {
    "image": _only("image"),
    "file": _with("file", "file_name"),
    "folder": _with("folder", "file_name"),
    "audio": _only("audio"),
    "media": _with("video", "file_name"),
    "sticker": _only("sticker"),
    "interactive": _card,
    "share_chat": _only("shared chat"),
    "share_user": _only("shared contact"),
    "merge_forward": _only("forwarded messages"),
    "hongbao": _only("red packet"),
    "location": _with("location", "name"),
    "system": _only("system message"),
    "share_calendar_event": _with("event", "summary"),
    "calendar": _with("event", "summary"),
    "general_calendar": _with("event", "summary"),
    "video_chat": _with("meeting", "topic"),
    "todo": _todo,
    "vote": _vote,
}
