"""What there is in a Lark: apps, people, chats, messages, reactions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ChatMode(Enum):
    """The mode of a chat (``chat_mode``)."""

    GROUP = "group"
    """An ordinary group."""
    TOPIC = "topic"
    """A topic group: everything is in a thread."""
    P2P = "p2p"
    """One person and one bot."""


class ChatForm(Enum):
    """How a group shows its messages (``group_message_type``)."""

    CHAT = "chat"
    """One after the other; a thread begins with ``reply_in_thread``."""
    THREAD = "thread"
    """Every message begins a thread."""


class EchoShape(Enum):
    """How an app hears its own messages, if at all; Lark's documentation does not say."""

    NONE = "none"
    """Not at all."""
    APP = "app"
    """With ``sender_type`` app."""
    OWN_ID = "own_id"
    """With the bot's own open_id as a user's."""
    AS_USER = "as_user"
    """As if the person who was answered had written it."""


class UuidRepeat(Enum):
    """What a second send with a used uuid gives; Lark's documentation does not say."""

    ORIGINAL = "original"
    """Code 0 and the first message: what has been seen in the field."""
    REFUSED = "refused"
    """An error."""
    IGNORED = "ignored"
    """A second message, as if the uuid were not there."""


@dataclass(slots=True)
class App:
    """A self-built app with a bot."""

    app_id: str
    app_secret: str
    name: str
    tenant_key: str
    open_id: str
    """The bot's own id, as this app knows it."""
    encrypt_key: str = ""
    verification_token: str = ""
    webhook_url: str | None = None
    hears_all_group_messages: bool = False
    """The scope ``im:message.group_msg``."""
    hears_bots: bool = False
    """The scope ``im:message.group_at_msg.include_bot:readonly``."""
    hears_at_all: bool = True
    """Whether @all reaches the bot like a mention."""
    sees_user_ids: bool = True
    """The scope ``contact:user.employee_id:readonly``."""
    reads_history: bool = True
    enabled: bool = True
    echo: EchoShape = EchoShape.NONE
    subscribed: frozenset[str] | None = None
    """The event types that it gets; None is all."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in the tenant."""

    key: str
    name: str
    union_id: str
    user_id: str
    tenant_key: str


@dataclass(slots=True)
class Chat:
    """A conversation."""

    chat_id: str
    name: str
    mode: ChatMode
    form: ChatForm
    external: bool
    people: list[str]
    """Keys of persons."""
    bots: list[str]
    """App ids."""
    owner: str | None
    created_at: int
    dissolved: bool = False
    muted: bool = False
    """Nobody but its owner may speak."""
    threads_allowed: bool = True
    history_forbidden: bool = False


class SenderKind(Enum):
    """Who can write."""

    PERSON = "user"
    APP = "app"


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote: a person by key, an app by its id."""

    kind: SenderKind
    key: str


@dataclass(frozen=True, slots=True)
class Mention:
    """Somebody named in a message; ``author`` is None for everybody."""

    key: str
    author: Author | None
    name: str


@dataclass(slots=True)
class Message:
    """A message as it is kept."""

    message_id: str
    chat_id: str
    author: Author
    msg_type: str
    sent: str
    """The content as it was sent."""
    content: str
    """The content as it reads back."""
    mentions: tuple[Mention, ...]
    root_id: str | None
    parent_id: str | None
    thread_id: str | None
    create_time: int
    update_time: int
    order: int
    uuid: str | None = None
    updated: bool = False
    recalled: bool = False
    deleted: bool = False
    edits: int = 0
    readable_at: int = 0
    """From when on reads and lists show it, on the double's clock."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """An emoji that somebody left on a message."""

    reaction_id: str
    message_id: str
    emoji_type: str
    author: Author
    at: int


@dataclass(slots=True)
class Knobs:
    """What stays switchable because Lark's documentation does not settle it, or because a test wants it otherwise."""

    uuid_repeat: UuidRepeat = UuidRepeat.ORIGINAL
    limits: bool = True
    bare_429: bool = False
    """A 429 comes without JSON."""
    fresh_repush: bool = True
    """A re-push carries a fresh timestamp, nonce and signature; otherwise the first ones."""
    wall_timestamps: bool = False
    """Signatures carry the real time, however the double's clock was moved: for a gateway whose clock was not."""
    push_timeout_s: float = 3.0
    challenge_timeout_s: float = 1.0
    repush_after_s: tuple[float, ...] = (15.0, 300.0, 3600.0, 21600.0)
    chat_per_second: int = 5
    app_per_second: int = 50
    app_per_minute: int = 1000
    max_edits: int = 20
