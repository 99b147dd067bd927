"""How the work on a turn can end, before it is committed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from manager.decisions.decision import Decision, Said
from manager.decisions.turn_sentences import Sentence
from manager.ledger.turns import ClaimedTurn


@dataclass(frozen=True, slots=True)
class Decided:
    """There is a decision. The turn may decide a newer revision than it was claimed for: its question was edited."""

    turn: ClaimedTurn
    decision: Decision
    quoted: Said | None = None
    """What the question replied to."""


@dataclass(frozen=True, slots=True)
class Failed:
    """There is none."""

    turn: ClaimedTurn
    cause: str
    """A stable word for the timeline."""
    told: Sentence | str
    """What the asker is told if it failed for good: a sentence, or the runtime's own reason."""
    may_retry: bool


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """None is wanted, or none may be given."""

    turn: ClaimedTurn
    cause: str
    """``recalled``, ``corrected`` or ``closed``."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Somebody else holds the turn, or it was cancelled: nothing of this work counts."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The database was away: the turn is given back."""

    turn: ClaimedTurn


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whether anything may be said there is not known yet, or nobody speaks for the app.

    The turn is given back as if it had not been claimed.
    """

    turn: ClaimedTurn
    cause: str
    """A stable word for the timeline."""


Outcome: TypeAlias = Decided | Failed | Withdrawn | Lost | Interrupted | Waiting
