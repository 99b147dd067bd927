"""The operations of the open API that there are, by method and path. What is not here answers 404 (99991201).

Uploads, cards, CardKit and the long connection's bootstrap have no entry yet: each is a member, a path and a handler.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from providers.lark_double.errors import LarkError
from providers.lark_double.journal import Entry
from providers.lark_double.model import App
from providers.lark_double.wire import Json


class Operation(Enum):
    """An API; the value is its name in faults and in the journal."""

    TOKEN = "token"
    """A tenant token is asked for."""
    SEND = "send"
    """A message into a chat."""
    REPLY = "reply"
    """A message as a reply."""
    GET = "get"
    """One message is read."""
    LIST = "list"
    """A history is read."""
    EDIT = "edit"
    """A message is edited."""
    RECALL = "recall"
    """A message is taken back."""
    REACT = "react"
    """A reaction is left."""
    UNREACT = "unreact"
    """A reaction is removed."""
    REACTIONS = "reactions"
    """Reactions are listed."""
    CHAT = "chat"
    """A chat is looked up."""
    CHATS = "chats"
    """The bot's chats are listed."""
    MEMBERS = "members"
    """The people of a chat are listed."""
    IS_IN_CHAT = "is_in_chat"
    """Whether the bot is in a chat."""
    BOT_INFO = "bot_info"
    """The bot asks who it is."""
    USER = "user"
    """A person is looked up."""
    UNKNOWN = "unknown"
    """There is no such API here."""


SENDS = frozenset({Operation.SEND.value, Operation.REPLY.value})
READS = frozenset({Operation.GET.value, Operation.LIST.value})


@dataclass(slots=True)
class Call:
    """A request whose app is known."""

    operation: Operation
    app: App
    path: dict[str, str]
    query: dict[str, str]
    body: Json
    size: int
    """Bytes of the request's body."""
    entry: Entry
    extra: Json = field(default_factory=dict[str, object])
    """Fields of the answer beside ``code`` and ``msg``, where an API has no ``data``."""

    def asked(self, key: str) -> str:
        """A parameter of the query that must be there. Raises ``LarkError`` 99992402."""
        value = self.query.get(key)
        if not value:
            raise LarkError(99992402, f"{key} is required")
        return value
