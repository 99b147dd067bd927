"""What can arrive, as values: already authenticated, parsed, and free of the provider's JSON."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from manager.ids import OpenId
from returns.ids import AppName, ChatId, MessageId, Millis, ThreadId


class SenderKind(Enum):
    """Who wrote, as the provider says."""

    USER = "user"
    BOT = "bot"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sender:
    """The author of a message. Private."""

    open_id: OpenId | None
    kind: SenderKind
    tenant_key: str | None


@dataclass(frozen=True, slots=True)
class Mention:
    """Somebody named in a message; ``key`` is what stands in the text in their place."""

    key: str
    open_id: OpenId | None
    name: str


@dataclass(frozen=True, slots=True)
class Envelope:
    """What every event carries."""

    app: AppName
    event_id: str
    event_type: str
    tenant_key: str | None
    created_at: Millis | None
    body_digest: str
    """SHA-256 of the event's own canonical JSON: the same event with another body is an alarm."""


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """Somebody wrote."""

    envelope: Envelope
    message_id: MessageId
    chat_id: ChatId
    private: bool
    thread_id: ThreadId | None
    parent_id: MessageId | None
    sender: Sender
    created_at: Millis | None
    text: str
    """What a person reads, with mention keys where people are named; empty for what has no words."""
    mentions: tuple[Mention, ...]
    mentions_all: bool
    content_digest: str
    """SHA-256 of type and content as sent."""
    message_type: str
    shown: str | None = None
    """What a person reads, in the form in which what we send is compared; None where ``text`` is that."""


@dataclass(frozen=True, slots=True)
class MessageRecalled:
    """Somebody took a message back."""

    envelope: Envelope
    message_id: MessageId
    chat_id: ChatId


@dataclass(frozen=True, slots=True)
class BotAdded:
    """The app's bot joined a chat."""

    envelope: Envelope
    chat_id: ChatId
    external: bool | None


@dataclass(frozen=True, slots=True)
class BotRemoved:
    """The app's bot was removed from a chat."""

    envelope: Envelope
    chat_id: ChatId


@dataclass(frozen=True, slots=True)
class ChatDisbanded:
    """A chat ended."""

    envelope: Envelope
    chat_id: ChatId


@dataclass(frozen=True, slots=True)
class Unwanted:
    """Authentic and of no interest (unknown type, reactions, …): counted."""

    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Misshapen:
    """Authentic and of a known type, but a needed field is missing or of the wrong type: parked."""

    envelope: Envelope
    field: str


Inbound: TypeAlias = MessageReceived | MessageRecalled | BotAdded | BotRemoved | ChatDisbanded | Unwanted | Misshapen
