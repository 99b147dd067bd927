"""What the steward's mind needs from others: a runtime, host tools, a chat to read, receipts.

Fulfilled by ``providers``.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from manager.decisions.decision import Audience, Decision, TurnInput
from manager.ids import OpenId
from returns.ids import AppName, ChatId, MessageId, Millis


class HostStatus(Enum):
    """How a look at the host ended."""

    OK = "ok"
    DENIED = "denied"
    """Outside the workspace, private, untracked or never readable."""
    UNAVAILABLE = "unavailable"
    """A tool is missing, failed or ran out of time."""


@dataclass(frozen=True, slots=True)
class WorkspaceView:
    """A declared workspace, pinned for this turn."""

    name: str
    git: bool
    revision: str | None
    """The full commit that everything is read at; None outside git."""
    branch: str | None
    uncommitted: bool | None
    """There are changes that are not in ``revision``; they are mentioned, not quoted. None: it could not be learnt."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file: ``path:number@revision``."""

    workspace: str
    path: str
    number: int
    text: str
    revision: str
    """The commit, or ``sha256:…`` of the file outside git."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit."""

    workspace: str
    revision: str
    author: str
    at: str
    """UTC, ISO 8601, ending in Z."""
    subject: str
    body: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths found; ``truncated`` when there are more."""

    status: HostStatus
    paths: tuple[tuple[str, str], ...] = ()
    """(workspace, path)."""
    truncated: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines found or read."""

    status: HostStatus
    lines: tuple[Line, ...] = ()
    truncated: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Commits:
    """Commits found, newest first."""

    status: HostStatus
    commits: tuple[Commit, ...] = ()
    truncated: bool = False
    reason: str = ""


class HostSession(Protocol):
    """The host for one turn: revisions pinned, output and time bounded, nothing outside the workspaces."""

    @property
    def workspaces(self) -> tuple[WorkspaceView, ...]:
        """The workspaces that this audience may read."""
        ...

    async def find_files(self, fragment: str, *, limit: int = 20) -> Paths:
        """Tracked files whose path contains ``fragment`` (case-insensitive)."""
        ...

    async def search(self, text: str, *, whole_word: bool = False, ignore_case: bool = False, limit: int = 50) -> Lines:
        """Lines that contain ``text`` exactly (its case apart with ``ignore_case``), in every workspace."""
        ...

    async def read(self, workspace: str, path: str, *, start: int = 1, count: int = 60) -> Lines:
        """``count`` lines of a file from line ``start`` on."""
        ...

    async def log(
        self, *, workspace: str | None = None, path: str | None = None, text: str | None = None, limit: int = 10
    ) -> Commits:
        """Commits reachable from the pinned revision: of a path, whose message has ``text``, or the newest."""
        ...

    async def blame(self, workspace: str, path: str, *, line: int) -> Commits:
        """The commit that last changed a line."""
        ...

    async def commit(self, revision: str) -> Commits:
        """One commit by (an abbreviation of) its name, with the files that it changed."""
        ...


class HostTools(Protocol):
    """The owner's machine, for reading."""

    def open(self, audience: Audience) -> AbstractAsyncContextManager[HostSession]:
        """A session over the workspaces that ``audience`` may see; leaving it ends every process it started."""
        ...


class Runtime(Protocol):
    """Something that decides a turn."""

    async def decide(self, turn: TurnInput, host: HostSession) -> Decision:
        """Investigate and end the turn with a typed decision. Raises ``RuntimeFailed`` if it cannot."""
        ...


class RuntimeFailed(Exception):
    """The runtime could not decide; ``reason`` may be told to the asker."""

    code = "runtime_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as it is now."""

    text: str
    """What a person reads, mention keys replaced by names."""
    author: str
    """``asker`` for a person, ``steward`` for ourselves, ``bot`` for another bot."""
    sent_at: Millis
    edited_at: Millis | None
    content_digest: str


class Gone(Enum):
    """Why there is no message to read."""

    RECALLED = "recalled"
    """The provider says that it was taken back: recalled, or deleted."""
    MISSING = "missing"
    """The provider knows no such message or chat; it may know it a moment later."""
    NOT_PERMITTED = "not_permitted"
    UNREACHABLE = "unreachable"


ChatRead: TypeAlias = ChatMessage | Gone


@dataclass(frozen=True, slots=True)
class ChatFacts:
    """What is known of a chat."""

    external: bool
    gone: bool
    """The bot is outside, or the chat was disbanded."""


class ChatReader(Protocol):
    """Reads in chats. No method raises for what the provider does."""

    async def message(self, app: AppName, message_id: MessageId) -> ChatRead:
        """A message as it is now: a quoted parent, a question before it is decided."""
        ...

    async def chat(self, app: AppName, chat_id: ChatId) -> ChatFacts | Gone:
        """What is known of a chat."""
        ...

    async def own_id(self, app: AppName) -> OpenId | None:
        """The bot's own id (cached), or None while it cannot be learnt."""
        ...


class Receipts(Protocol):
    """Tells the asker that the question was received."""

    async def acknowledge(self, app: AppName, message_id: MessageId) -> bool:
        """Leave the receipt on the question; False when it could not be left. Never raises for the provider."""
        ...
