"""What operators may ask for, what comes of it, and when the rest of an answer may be sent anew. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, assert_never

from returns.decisions.looks import NOT_THERE
from returns.delivery import Error, State
from returns.ids import Millis
from returns.ports import Verdict

MOST_REASON: Final = 500
MOST_NOTE: Final = 2_000
MOST_NAME: Final = 60
LONGEST_SNOOZE_MS: Final = 366 * 24 * 3_600_000

CANCEL_AFTER_MS: Final = 3_600_000
"""A receiver that says nothing is cancelled without its acknowledgement after this, unless its deadline comes first."""


class Kind(Enum):
    """What an operator asks for."""

    VERIFY = "verify"
    """Look again at what is not proved."""
    FOUND = "found"
    """Look at this message: it is the answer."""
    RESEND = "resend"
    """Look again; if it is not there, send the rest anew."""
    CANCEL = "cancel"
    """Nobody wants it any more."""
    NOTE = "note"
    """Remember this beside it."""
    SNOOZE = "snooze"
    """Leave it alone for a while."""
    REVEAL = "reveal"
    """Show what is private of it."""


class Outcome(Enum):
    """What came of it."""

    PROVED = "proved"
    """The delivery is proved; nothing had to be sent."""
    QUEUED = "queued"
    """A new return is on its way."""
    UNPROVED = "unproved"
    """It was looked for, and is still not proved."""
    UNREADABLE = "unreadable"
    """The history may not or cannot be read, so nothing was sent."""
    AMBIGUOUS = "ambiguous"
    """Several messages could be it, so nothing was sent."""
    FORBIDDEN = "forbidden"
    """It may not be told there, or there is no way there, so nothing was sent."""
    NO_LONGER_KEPT = "no_longer_kept"
    """What it said was forgotten by retention, so nothing was sent."""
    CHANGED = "changed"
    """Another answer, or the question that stands, took this one's place, so nothing was sent."""
    CANCELLED = "cancelled"
    """It is cancelled."""
    CANCEL_REQUESTED = "cancel_requested"
    """Its receiver is told with its next write; without one it is cancelled at its deadline."""
    NOTED = "noted"
    """It stands in the timeline."""
    SNOOZED = "snoozed"
    """It is left alone until then."""
    WOKEN = "woken"
    """It is not left alone any more."""
    REVEALED = "revealed"
    """It was shown, and that is recorded."""


NEEDS_SOMEONE: Final = frozenset(
    {
        Outcome.UNPROVED,
        Outcome.UNREADABLE,
        Outcome.AMBIGUOUS,
        Outcome.FORBIDDEN,
        Outcome.NO_LONGER_KEPT,
        Outcome.CHANGED,
    }
)
"""Outcomes after which a person has to act all the same."""


class Refusal(Enum):
    """Why it was refused: the codes of commands and of the API."""

    NOT_FOUND = "not_found"
    """There is no such request."""
    INVALID = "invalid_request"
    """What was given with it is missing or wrong."""
    NOT_RESENDABLE = "not_resendable"
    """Only what ended without proof, or cannot be delivered, can be sent anew."""
    NOTHING_OPEN = "nothing_open"
    """The answer has no part that waits for a proof."""
    NO_CANDIDATE = "no_such_candidate"
    """No candidate has that number."""
    ANOTHERS_MESSAGE = "anothers_message"
    """The message belongs to another answer."""
    ALREADY_LOCATED = "already_located"
    """The provider itself named another message, and that is not disproved."""
    ALREADY_FINAL = "already_final"
    """There is nothing left to cancel."""
    NO_LONGER_KEPT = "no_longer_kept"
    """What it said was forgotten by retention."""


class OperatorRefused(Exception):
    """What an operator asked for was refused and moved nothing. The caller was wrong, the outcome is certain."""

    def __init__(self, refusal: Refusal, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.code = refusal.value
        self.refusal = refusal
        self.message = message
        self.field = field


@dataclass(frozen=True, slots=True)
class Verify:
    """Look again."""


@dataclass(frozen=True, slots=True)
class Found:
    """``ref``: a message id, or the number of a candidate. Private."""

    ref: str


@dataclass(frozen=True, slots=True)
class Resend:
    """Send the rest anew."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel."""

    reason: str


@dataclass(frozen=True, slots=True)
class Note:
    """Remember a text."""

    text: str


@dataclass(frozen=True, slots=True)
class Snooze:
    """Leave it alone until then; a moment that is over wakes it."""

    until: Millis


@dataclass(frozen=True, slots=True)
class Reveal:
    """Show what is private."""


Act: TypeAlias = Verify | Found | Resend | Cancel | Note | Snooze | Reveal


class Step(Enum):
    """What a resend does with the part that stands there."""

    SEND = "send"
    """It is not there: the operator's statement stands, and the rest is sent anew."""
    WAIT = "wait"
    """It is being looked for."""
    SETTLED = "settled"
    """It was found and proved."""
    UNREADABLE = "unreadable"
    """It could not be looked for."""
    AMBIGUOUS = "ambiguous"
    """Several could be it; which one is for ``found`` to say."""
    FORBIDDEN = "forbidden"
    """The right to tell it there is gone."""


def after_look(state: State | None, error: Error | None) -> Step:
    """What a resend does once its part was looked for; None: no part is unproved any more."""
    match state:
        case State.VERIFICATION_REQUIRED:
            return Step.UNREADABLE if error is Error.PROVIDER_VERIFICATION_UNAVAILABLE else Step.WAIT
        case State.UNDELIVERABLE:
            return Step.SEND
        case State.EXPLICIT_UNVERIFIED if error in NOT_THERE:
            return Step.SEND
        case State.EXPLICIT_UNVERIFIED if error is Error.AMBIGUOUS_MATCH:
            return Step.AMBIGUOUS
        case State.EXPLICIT_UNVERIFIED if error is Error.RETURN_AUTHORIZATION_UNAVAILABLE:
            return Step.FORBIDDEN
        case State.EXPLICIT_UNVERIFIED:
            return Step.UNREADABLE
        case None | State.QUEUED | State.SENDING | State.RETRY_PENDING | State.DELIVERED | State.SUPERSEDED:
            return Step.SETTLED
        case _:
            assert_never(state)


_FIRST: Final = (Step.WAIT, Step.FORBIDDEN, Step.UNREADABLE, Step.AMBIGUOUS, Step.SEND)


def after_looks(seen: Sequence[tuple[State, Error | None]]) -> Step:
    """As ``after_look``, of a part and of what it repeats: it is sent anew only if none of them is there."""
    steps = {after_look(state, error) for state, error in seen}
    return next((step for step in _FIRST if step in steps), Step.SETTLED)


def may_send(verdict: Verdict) -> bool:
    """Whether a new return may go out along the route now."""
    return verdict is Verdict.ALLOWED


def reason_of(text: str) -> str:
    """A reason as it is kept: one line, bounded. Raises ``OperatorRefused`` for none, or one without any word."""
    words = " ".join(text.split())
    if not any(each.isalnum() for each in words):  # the dots of an example are no reason
        raise OperatorRefused(Refusal.INVALID, "Say why: a reason is kept with it.", "reason")
    if len(words) > MOST_REASON:
        raise OperatorRefused(Refusal.INVALID, f"A reason has at most {MOST_REASON} characters.", "reason")
    return printable(words)


def note_of(text: str) -> str:
    """A note as it is kept. Raises ``OperatorRefused`` for none, or one that is too long."""
    words = text.strip()
    if not words:
        raise OperatorRefused(Refusal.INVALID, "A note says something.", "text")
    if len(words) > MOST_NOTE:
        raise OperatorRefused(Refusal.INVALID, f"A note has at most {MOST_NOTE} characters.", "text")
    return printable(words)


def name_of(text: str) -> str:
    """An operator's name as it is kept. Raises ``OperatorRefused`` for one that is empty or too long."""
    name = printable(" ".join(text.split()))
    if not name or len(name) > MOST_NAME:
        raise OperatorRefused(Refusal.INVALID, f"A name has 1 to {MOST_NAME} characters.", "as")
    return name


def printable(text: str) -> str:
    """``text`` without what would steer a terminal; line breaks stay."""
    return "".join(each if each.isprintable() or each == "\n" else "\N{REPLACEMENT CHARACTER}" for each in text)
