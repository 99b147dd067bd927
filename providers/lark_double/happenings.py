"""What happens in a chat that apps may hear of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from providers.lark_double.model import Chat, Message, Reaction


class RecallType(Enum):
    """Who took a message back (``recall_type``)."""

    MESSAGE_OWNER = "message_owner"
    """Whoever wrote it."""
    GROUP_OWNER = "group_owner"
    """The owner of the group."""
    GROUP_MANAGER = "group_manager"
    """A manager of the group."""
    ENTERPRISE_MANAGER = "enterprise_manager"
    """A manager of the tenant."""


@dataclass(frozen=True, slots=True)
class Written:
    """A message was written."""

    message: Message


@dataclass(frozen=True, slots=True)
class Recalled:
    """A message was taken back."""

    message: Message
    recall_type: RecallType
    at: int


@dataclass(frozen=True, slots=True)
class Reacted:
    """A reaction was left, or removed."""

    reaction: Reaction
    chat_id: str
    removed: bool
    at: int


@dataclass(frozen=True, slots=True)
class BotMoved:
    """A bot was added to a chat, or removed from it."""

    chat: Chat
    app_id: str
    operator: str | None
    """The key of the person who did it."""
    added: bool


@dataclass(frozen=True, slots=True)
class Disbanded:
    """A chat was dissolved; ``bots`` are those that were in it."""

    chat: Chat
    operator: str | None
    bots: tuple[str, ...]


Happening: TypeAlias = Written | Recalled | Reacted | BotMoved | Disbanded
