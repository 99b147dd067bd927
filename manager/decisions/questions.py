"""From what was written to what was asked: mentions, spaces, and the words that begin a correction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from manager.decisions.inbound import Mention
from manager.ids import OpenId

_CORRECTION: Final = re.compile(r"\s*(更正|补充|correction|also)\s*[:：]", re.IGNORECASE)
_UNREADABLE: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_BLANKS: Final = re.compile(r"[ \t\u00a0\u3000]{2,}")


def clean(text: str) -> str:
    """``text`` without control characters and lone surrogates, which no database and no reader needs."""
    return _UNREADABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def visible_text(text: str, mentions: Sequence[Mention]) -> str:
    """What a person read: every mention key replaced by ``@name``."""
    return _replaced(text, {mention.key: f"@{mention.name}" for mention in mentions})


def question_text(text: str, mentions: Sequence[Mention], own_id: OpenId | None) -> str:
    """The question: without the steward's own mention, others as ``@name``, trimmed."""
    names = {mention.key: f"@{mention.name}" for mention in mentions}
    own = {mention.key: " " for mention in mentions if own_id is not None and mention.open_id == own_id}
    return _tidy(_replaced(text, names | own))


def own_name(mentions: Sequence[Mention], own_id: OpenId | None) -> str | None:
    """How the message names the steward, if it does."""
    if own_id is None:
        return None
    return next((mention.name for mention in mentions if mention.open_id == own_id and mention.name), None)


def edited_question(text: str, bot_name: str | None) -> str:
    """The question in a text that shows mentions by name already."""
    if not bot_name:
        return _tidy(text)
    return _tidy(re.sub(rf"@{re.escape(bot_name)}(?!\w)", " ", text))


def is_correction(question: str) -> bool:
    """Whether the question begins with ``更正：``, ``补充：``, ``Correction:`` or ``Also:``."""
    return _CORRECTION.match(question) is not None


def corrected_question(before: str, correction: str) -> str:
    """The question of the next revision: what was asked, then what was put right, in order."""
    return f"{before}\n{correction}" if before else correction


def _replaced(text: str, names: dict[str, str]) -> str:
    """Replace all keys in one pass, so that ``@_user_1`` is not found inside ``@_user_12`` nor in a name put in."""
    if not names:
        return text
    keys = sorted(names, key=len, reverse=True)
    pattern = "|".join(re.escape(key) + (r"(?!\d)" if key[-1:].isdigit() else "") for key in keys if key)
    return re.sub(pattern, lambda found: names[found.group()], text) if pattern else text


def _tidy(text: str) -> str:
    lines = (_BLANKS.sub(" ", line).rstrip() for line in clean(text).split("\n"))
    return "\n".join(lines).strip()
