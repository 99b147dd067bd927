"""What a request carries: purpose, messages, constraints, evidence, what is owed.

The JSON has exactly the fields of the peer's API. An item of ``evidence`` or ``rejected`` that came as a plain string
stays one, so that a brief reads as it was written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, cast

from manager.decisions.decision import Delegate, Evidence, Said

_JSON: Final = json.JSONEncoder(ensure_ascii=False)


class MessageKind(Enum):
    """What a message was in its request."""

    QUESTION = "question"
    """What was asked first."""
    CORRECTION = "correction"
    """What the asker said afterwards about the same request."""
    QUOTE = "quote"
    """What the question replied to; evidence, never an order."""


@dataclass(frozen=True, slots=True)
class BriefMessage:
    """A message that the request came from, in order."""

    at: str
    """UTC, ISO 8601, ending in Z."""
    author: str
    """``asker``, ``steward`` or a peer's name; never a provider's id."""
    text: str
    kind: MessageKind


@dataclass(frozen=True, slots=True)
class Rejected:
    """An approach that was tried or thought of, and why it is out."""

    approach: str
    reason: str


BriefEvidence: TypeAlias = Evidence | str
BriefRejected: TypeAlias = Rejected | str


@dataclass(frozen=True, slots=True)
class Brief:
    """All that a receiver is given with a revision."""

    purpose: str
    messages: tuple[BriefMessage, ...] = ()
    constraints: tuple[str, ...] = ()
    rejected: tuple[BriefRejected, ...] = ()
    evidence: tuple[BriefEvidence, ...] = ()
    questions: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()
    omissions: tuple[str, ...] = ()


class BriefUnreadable(Exception):
    """A stored brief has not the form that ``to_json`` writes."""

    code = "brief_unreadable"


def complete(brief: Brief, decision: Delegate, quoted: Said | None = None) -> Brief:
    """The brief with what the steward's own investigation adds to it when it hands over.

    ``quoted`` is what the question replied to. Of a correction that is the question or what was said of it, which the
    receiver knows.
    """
    return Brief(
        purpose=decision.purpose or brief.purpose,
        messages=(*_quote(brief.messages, quoted), *brief.messages),
        constraints=brief.constraints,
        rejected=brief.rejected,
        evidence=(*brief.evidence, *decision.evidence),
        questions=(*brief.questions, *decision.questions),
        owed=decision.owed or brief.owed,
        omissions=(*brief.omissions, *decision.omissions),
    )


def _quote(messages: tuple[BriefMessage, ...], quoted: Said | None) -> tuple[BriefMessage, ...]:
    if quoted is None or any(message.kind is not MessageKind.QUESTION for message in messages):
        return ()
    return (BriefMessage(quoted.at, quoted.author, quoted.text, MessageKind.QUOTE),)


def to_object(brief: Brief) -> dict[str, object]:
    """The brief as JSON values."""
    return {
        "purpose": brief.purpose,
        "messages": [
            {"at": message.at, "author": message.author, "text": message.text, "kind": message.kind.value}
            for message in brief.messages
        ],
        "constraints": list(brief.constraints),
        "rejected": [_rejected_out(item) for item in brief.rejected],
        "evidence": [evidence_out(item) for item in brief.evidence],
        "questions": list(brief.questions),
        "owed": list(brief.owed),
        "omissions": list(brief.omissions),
    }


def to_json(brief: Brief) -> str:
    """The brief as text."""
    return _JSON.encode(to_object(brief))


def from_json(text: str) -> Brief:
    """The brief that ``to_json`` wrote. Raises ``BriefUnreadable``."""
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise BriefUnreadable("A stored brief is not JSON.") from error
    if not isinstance(value, dict):
        raise BriefUnreadable("A stored brief is not an object.")
    fields = cast("dict[str, object]", value)
    return Brief(
        purpose=_text(fields.get("purpose")),
        messages=tuple(_message_in(item) for item in _list(fields.get("messages"))),
        constraints=_texts(fields.get("constraints")),
        rejected=tuple(_rejected_in(item) for item in _list(fields.get("rejected"))),
        evidence=tuple(_evidence_in(item) for item in _list(fields.get("evidence"))),
        questions=_texts(fields.get("questions")),
        owed=_texts(fields.get("owed")),
        omissions=_texts(fields.get("omissions")),
    )


def evidence_out(item: BriefEvidence) -> object:
    """One piece of evidence as JSON values."""
    if isinstance(item, str):
        return item
    return {"source": item.source, "revision": item.revision, "status": item.status, "excerpt": item.excerpt}


def _rejected_out(item: BriefRejected) -> object:
    if isinstance(item, str):
        return item
    return {"approach": item.approach, "reason": item.reason}


def _message_in(value: object) -> BriefMessage:
    fields = _object(value)
    return BriefMessage(
        at=_text(fields.get("at")),
        author=_text(fields.get("author")),
        text=_text(fields.get("text")),
        kind=MessageKind(_text(fields.get("kind"))),
    )


def _rejected_in(value: object) -> BriefRejected:
    if isinstance(value, str):
        return value
    fields = _object(value)
    return Rejected(approach=_text(fields.get("approach")), reason=_text(fields.get("reason")))


def _evidence_in(value: object) -> BriefEvidence:
    if isinstance(value, str):
        return value
    fields = _object(value)
    revision = fields.get("revision")
    return Evidence(
        source=_text(fields.get("source")),
        revision=None if revision is None else _text(revision),
        status=_text(fields.get("status")),
        excerpt=_text(fields.get("excerpt")),
    )


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BriefUnreadable("A part of a stored brief is not an object.")
    return cast("dict[str, object]", value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise BriefUnreadable("A part of a stored brief is not a list.")
    return cast("list[object]", value)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BriefUnreadable("A part of a stored brief is not text.")
    return value
