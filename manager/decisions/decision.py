"""What a turn ends with: a typed decision, never text that is parsed for effects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Audience(Enum):
    """Who may be told."""

    SHARED = "shared"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something that was looked at: ``source`` as ``path:line`` or a commit, at a ``revision`` where it has one."""

    source: str
    revision: str | None
    status: str
    """``read``, ``denied``, ``unavailable`` or ``truncated``."""
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The steward answers by itself; ``text`` is Markdown."""

    text: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Delegate:
    """A peer's work. ``to`` is the name that the question used; None leaves the choice to routing."""

    to: str | None
    purpose: str
    evidence: tuple[Evidence, ...] = ()
    questions: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()
    omissions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """One question back."""

    text: str


@dataclass(frozen=True, slots=True)
class Decline:
    """No, with the real reason."""

    reason: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Defer:
    """Later: whose it is and when it goes on."""

    reason: str
    owner: str
    resume_condition: str


Decision: TypeAlias = Answer | Delegate | Ask | Decline | Defer


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the conversation, as it was."""

    at: str
    """UTC, ISO 8601, ending in Z."""
    author: str
    """``asker``, ``steward`` or a peer's name; never a provider's id."""
    text: str


@dataclass(frozen=True, slots=True)
class PeerCard:
    """A peer as the asker's audience may see it."""

    name: str
    responsibilities: tuple[str, ...]
    examples: tuple[str, ...]
    stopped: bool


@dataclass(frozen=True, slots=True)
class TurnInput:
    """All that a runtime is given for one turn."""

    turn_id: str
    question: str
    quoted: Said | None
    history: tuple[Said, ...]
    audience: Audience
    peers: tuple[PeerCard, ...]
