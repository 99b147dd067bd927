"""The machine of one part's delivery, as data.

This module stands alone: it does no I/O, knows no provider and no database, and everything that decides a part's next
state stands here. ``TRANSITIONS`` says which event leads from which state to which; what is not in it is illegal and
moves nothing. ``ERRORS`` says which error an event leaves behind.

States only move forward. ``DELIVERED`` and ``SUPERSEDED`` have no way out at all, ``UNDELIVERABLE`` none either, and
``EXPLICIT_UNVERIFIED`` only back to looking: by an operator, or by a locator that was learned late. No event leads from
an uncertain state to another send.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType


class State(Enum):
    """Where a part is. The values are the names that the database, JSON and people use."""

    QUEUED = "queued"
    """Committed, never attempted. Leaves by an attempt, a refusal before one, or by being replaced."""
    SENDING = "sending"
    """The attempt is committed; the request may be under way. Leaves by its outcome or by a lost lease."""
    RETRY_PENDING = "retry_pending"
    """The provider definitely did not accept it; the next attempt has its time."""
    VERIFICATION_REQUIRED = "verification_required"
    """It may have been accepted, with a locator or without one. Leaves by reading, never by sending."""
    DELIVERED = "delivered"
    """Read back and proved. Final, and never overwritten."""
    EXPLICIT_UNVERIFIED = "explicit_unverified"
    """It cannot be proved either way; stays so until an operator acts or its locator is learned."""
    UNDELIVERABLE = "undeliverable"
    """Definitely not delivered, and will not be. Final."""
    SUPERSEDED = "superseded"
    """Replaced before any attempt, or cancelled and, if it was attempted, definitely refused. Final."""


class Error(Enum):
    """Why a part is where it is. The values are the public names."""

    PROVIDER_OFFLINE = "provider_offline"
    """The request never left."""
    PROVIDER_RATE_LIMITED = "provider_rate_limited"
    """A limit of the provider; the part waits for its turn."""
    PROVIDER_REJECTED = "provider_rejected"
    """The provider refused: the token, the app's configuration, or the bot may not speak there."""
    PROVIDER_DELIVERY_UNVERIFIED = "provider_delivery_unverified"
    """The message has a locator and was not read yet."""
    PROVIDER_LOCATOR_UNAVAILABLE = "provider_locator_unavailable"
    """The message may exist, and it is not known where."""
    PROVIDER_VERIFICATION_UNAVAILABLE = "provider_verification_unavailable"
    """Reading failed or is forbidden."""
    PROVIDER_MESSAGE_MISSING = "provider_message_missing"
    """The message was deleted before it was proved."""
    PROVIDER_MESSAGE_RECALLED = "provider_message_recalled"
    """The message was recalled before it was proved."""
    PROVIDER_DELIVERY_MISMATCH = "provider_delivery_mismatch"
    """What was read is not what was sent: another chat, thread, parent, sender or content."""
    AMBIGUOUS_MATCH = "ambiguous_match"
    """Several messages could be this part."""
    NO_MATCH_FOUND = "no_match_found"
    """A complete search after the settle time found nothing, which does not prove that nothing was sent."""
    ORIGINAL_ROUTE_UNAVAILABLE = "original_route_unavailable"
    """The chat, the thread or the question is gone."""
    RETURN_AUTHORIZATION_UNAVAILABLE = "return_authorization_unavailable"
    """The right to tell this there was revoked."""
    EARLIER_PART_UNVERIFIED = "earlier_part_unverified"
    """An earlier part of the same answer ended without proof, so this one stays back."""
    CONTENT_REFUSED = "content_refused"
    """The provider refused the content."""


class Verification(Enum):
    """How a delivered part was located."""

    DIRECT = "direct"
    """The send's own answer named the message."""
    RECONCILED = "reconciled"
    """The message was found otherwise: by searching, or by an operator."""


class Event(Enum):
    """What can happen to a part. Each member says who raises it."""

    ATTEMPT = "attempt"
    """The pump commits an attempt, right before the send."""
    ACCEPTED = "accepted"
    """The send's answer: accepted, and where."""
    UNKNOWN = "unknown"
    """The send's answer is missing, unclear, or accepts without an id."""
    LEASE_LOST = "lease_lost"
    """The holder of a send is gone: a crash, a pause, a restart."""
    REFUSED_OFFLINE = "refused_offline"
    """Nothing left this machine; from the send, or before it while the token was fetched."""
    REFUSED_RATE_LIMITED = "refused_rate_limited"
    """A rate limit; from the send or before it."""
    REFUSED_STALE_TOKEN = "refused_stale_token"
    """The token was not accepted; from the send or before it."""
    REFUSED_CONFIGURATION = "refused_configuration"
    """Only an operator can cure it; from the send or before it."""
    REFUSED_NOT_ALLOWED = "refused_not_allowed"
    """The bot may not speak there."""
    REFUSED_CONTENT = "refused_content"
    """The content was refused."""
    ROUTE_GONE = "route_gone"
    """Bot, chat or thread is gone; from the send, or known before it."""
    QUESTION_RECALLED = "question_recalled"
    """The question is gone and nothing is to be said; from the send, or known before another one."""
    MOVED_TO_CHAT = "moved_to_chat"
    """The question is gone, the refusal is definite, and the policy is to answer in the chat."""
    REVOKED_UNATTEMPTED = "revoked_unattempted"
    """Authority was revoked before any attempt."""
    REVOKED_ATTEMPTED = "revoked_attempted"
    """Authority was revoked after an attempt."""
    SUPERSEDED = "superseded"
    """Replaced, or its question recalled, before any attempt."""
    LOCATED = "located"
    """The locator became known later: the send's own late answer, or a search, or an operator."""
    PROVED = "proved"
    """Read back: same message, chat, thread, sender and content, not recalled."""
    MISMATCH = "mismatch"
    """Read back, and it is something else."""
    RECALLED = "recalled"
    """Read back as recalled."""
    MISSING = "missing"
    """The provider says that it was deleted."""
    READ_FAILED = "read_failed"
    """Reading or searching failed or is forbidden; nothing is known."""
    NOT_FOUND_EARLY = "not_found_early"
    """A search found nothing, and it is too early to count."""
    NO_MATCH = "no_match"
    """A complete search after the settle time found nothing."""
    AMBIGUOUS = "ambiguous"
    """A search found several."""
    GAVE_UP = "gave_up"
    """Reading was not possible for as long as we try."""
    LOOK_AGAIN = "look_again"
    """An operator asks for another look."""


_S, _E = State, Event

TRANSITIONS: Mapping[tuple[State, Event], State] = MappingProxyType(
    {
        # Before a send. A refusal here came before the attempt: nothing was sent, nothing is counted.
        (_S.QUEUED, _E.ATTEMPT): _S.SENDING,
        (_S.QUEUED, _E.REFUSED_OFFLINE): _S.RETRY_PENDING,
        (_S.QUEUED, _E.REFUSED_RATE_LIMITED): _S.RETRY_PENDING,
        (_S.QUEUED, _E.REFUSED_STALE_TOKEN): _S.RETRY_PENDING,
        (_S.QUEUED, _E.REFUSED_CONFIGURATION): _S.RETRY_PENDING,
        (_S.QUEUED, _E.ROUTE_GONE): _S.UNDELIVERABLE,
        (_S.QUEUED, _E.REVOKED_UNATTEMPTED): _S.UNDELIVERABLE,
        (_S.QUEUED, _E.SUPERSEDED): _S.SUPERSEDED,
        (_S.RETRY_PENDING, _E.ATTEMPT): _S.SENDING,
        (_S.RETRY_PENDING, _E.REFUSED_OFFLINE): _S.RETRY_PENDING,
        (_S.RETRY_PENDING, _E.REFUSED_RATE_LIMITED): _S.RETRY_PENDING,
        (_S.RETRY_PENDING, _E.REFUSED_STALE_TOKEN): _S.RETRY_PENDING,
        (_S.RETRY_PENDING, _E.REFUSED_CONFIGURATION): _S.RETRY_PENDING,
        (_S.RETRY_PENDING, _E.ROUTE_GONE): _S.UNDELIVERABLE,
        (_S.RETRY_PENDING, _E.QUESTION_RECALLED): _S.UNDELIVERABLE,
        (_S.RETRY_PENDING, _E.REVOKED_UNATTEMPTED): _S.UNDELIVERABLE,
        (_S.RETRY_PENDING, _E.REVOKED_ATTEMPTED): _S.EXPLICIT_UNVERIFIED,
        (_S.RETRY_PENDING, _E.SUPERSEDED): _S.SUPERSEDED,
        # The outcome of a send. Only definite refusals lead back to another one.
        (_S.SENDING, _E.ACCEPTED): _S.VERIFICATION_REQUIRED,
        (_S.SENDING, _E.UNKNOWN): _S.VERIFICATION_REQUIRED,
        (_S.SENDING, _E.LEASE_LOST): _S.VERIFICATION_REQUIRED,
        (_S.SENDING, _E.REFUSED_OFFLINE): _S.RETRY_PENDING,
        (_S.SENDING, _E.REFUSED_RATE_LIMITED): _S.RETRY_PENDING,
        (_S.SENDING, _E.REFUSED_STALE_TOKEN): _S.RETRY_PENDING,
        (_S.SENDING, _E.REFUSED_CONFIGURATION): _S.RETRY_PENDING,
        (_S.SENDING, _E.MOVED_TO_CHAT): _S.RETRY_PENDING,
        (_S.SENDING, _E.REFUSED_NOT_ALLOWED): _S.UNDELIVERABLE,
        (_S.SENDING, _E.REFUSED_CONTENT): _S.UNDELIVERABLE,
        (_S.SENDING, _E.ROUTE_GONE): _S.UNDELIVERABLE,
        (_S.SENDING, _E.QUESTION_RECALLED): _S.UNDELIVERABLE,
        # Reading settles what a send left open.
        (_S.VERIFICATION_REQUIRED, _E.LOCATED): _S.VERIFICATION_REQUIRED,
        (_S.VERIFICATION_REQUIRED, _E.READ_FAILED): _S.VERIFICATION_REQUIRED,
        (_S.VERIFICATION_REQUIRED, _E.NOT_FOUND_EARLY): _S.VERIFICATION_REQUIRED,
        (_S.VERIFICATION_REQUIRED, _E.LOOK_AGAIN): _S.VERIFICATION_REQUIRED,
        (_S.VERIFICATION_REQUIRED, _E.PROVED): _S.DELIVERED,
        (_S.VERIFICATION_REQUIRED, _E.MISMATCH): _S.EXPLICIT_UNVERIFIED,
        (_S.VERIFICATION_REQUIRED, _E.RECALLED): _S.EXPLICIT_UNVERIFIED,
        (_S.VERIFICATION_REQUIRED, _E.MISSING): _S.EXPLICIT_UNVERIFIED,
        (_S.VERIFICATION_REQUIRED, _E.NO_MATCH): _S.EXPLICIT_UNVERIFIED,
        (_S.VERIFICATION_REQUIRED, _E.AMBIGUOUS): _S.EXPLICIT_UNVERIFIED,
        (_S.VERIFICATION_REQUIRED, _E.GAVE_UP): _S.EXPLICIT_UNVERIFIED,
        (_S.VERIFICATION_REQUIRED, _E.REVOKED_ATTEMPTED): _S.EXPLICIT_UNVERIFIED,
        # What ended without proof can be looked at again.
        (_S.EXPLICIT_UNVERIFIED, _E.LOOK_AGAIN): _S.VERIFICATION_REQUIRED,
        (_S.EXPLICIT_UNVERIFIED, _E.LOCATED): _S.VERIFICATION_REQUIRED,
    }
)
"""Every legal move; whatever is not here is illegal."""

ERRORS: Mapping[Event, Error | None] = MappingProxyType(
    {
        _E.ATTEMPT: None,
        _E.ACCEPTED: Error.PROVIDER_DELIVERY_UNVERIFIED,
        _E.UNKNOWN: Error.PROVIDER_LOCATOR_UNAVAILABLE,
        _E.LEASE_LOST: Error.PROVIDER_LOCATOR_UNAVAILABLE,
        _E.REFUSED_OFFLINE: Error.PROVIDER_OFFLINE,
        _E.REFUSED_RATE_LIMITED: Error.PROVIDER_RATE_LIMITED,
        _E.REFUSED_STALE_TOKEN: Error.PROVIDER_REJECTED,
        _E.REFUSED_CONFIGURATION: Error.PROVIDER_REJECTED,
        _E.REFUSED_NOT_ALLOWED: Error.PROVIDER_REJECTED,
        _E.REFUSED_CONTENT: Error.CONTENT_REFUSED,
        _E.ROUTE_GONE: Error.ORIGINAL_ROUTE_UNAVAILABLE,
        _E.QUESTION_RECALLED: Error.ORIGINAL_ROUTE_UNAVAILABLE,
        _E.MOVED_TO_CHAT: Error.ORIGINAL_ROUTE_UNAVAILABLE,
        _E.REVOKED_UNATTEMPTED: Error.RETURN_AUTHORIZATION_UNAVAILABLE,
        _E.REVOKED_ATTEMPTED: Error.RETURN_AUTHORIZATION_UNAVAILABLE,
        _E.SUPERSEDED: None,
        _E.LOCATED: Error.PROVIDER_DELIVERY_UNVERIFIED,
        _E.PROVED: None,
        _E.MISMATCH: Error.PROVIDER_DELIVERY_MISMATCH,
        _E.RECALLED: Error.PROVIDER_MESSAGE_RECALLED,
        _E.MISSING: Error.PROVIDER_MESSAGE_MISSING,
        _E.READ_FAILED: Error.PROVIDER_VERIFICATION_UNAVAILABLE,
        _E.NOT_FOUND_EARLY: Error.PROVIDER_LOCATOR_UNAVAILABLE,
        _E.NO_MATCH: Error.NO_MATCH_FOUND,
        _E.AMBIGUOUS: Error.AMBIGUOUS_MATCH,
        _E.GAVE_UP: Error.PROVIDER_VERIFICATION_UNAVAILABLE,
        # With a locator; without one the ledger says PROVIDER_LOCATOR_UNAVAILABLE (see ``unread``).
        _E.LOOK_AGAIN: Error.PROVIDER_DELIVERY_UNVERIFIED,
    }
)
"""The error that an event leaves behind; None clears it."""

SETTLED: frozenset[State] = frozenset({_S.DELIVERED, _S.EXPLICIT_UNVERIFIED, _S.UNDELIVERABLE, _S.SUPERSEDED})
"""Nothing more happens here by itself."""

WAITING: frozenset[State] = frozenset({_S.QUEUED, _S.RETRY_PENDING})
"""To be sent: nothing of it is under way, and nothing was accepted."""

NOT_SENT: frozenset[State] = frozenset({_S.SUPERSEDED, _S.UNDELIVERABLE})
"""It was definitely not accepted and will not be sent: that says nothing of what it repeats."""

MAY_BE_THERE: frozenset[State] = frozenset({_S.EXPLICIT_UNVERIFIED, _S.VERIFICATION_REQUIRED})
"""It was sent, and nobody knows whether it is there."""

FINAL: frozenset[State] = frozenset({_S.DELIVERED, _S.UNDELIVERABLE, _S.SUPERSEDED})
"""No event leads out of these."""

WORST_FIRST: tuple[State, ...] = (
    _S.UNDELIVERABLE,
    _S.EXPLICIT_UNVERIFIED,
    _S.VERIFICATION_REQUIRED,
    _S.RETRY_PENDING,
    _S.SENDING,
    _S.QUEUED,
    _S.SUPERSEDED,
    _S.DELIVERED,
)
"""An answer of several parts shows the first of these that one of its parts is in."""


class IllegalTransition(Exception):
    """This event cannot happen to a part in this state; nothing was moved."""

    code = "illegal_transition"

    def __init__(self, state: State, event: Event) -> None:
        """Name the pair; both names are public."""
        super().__init__(f"a part that is {state.value} cannot take the event {event.value}; nothing was moved")
        self.state = state
        self.event = event


def advance(state: State, event: Event) -> State:
    """The state after ``event``. Raises ``IllegalTransition``."""
    target = TRANSITIONS.get((state, event))
    if target is None:
        raise IllegalTransition(state, event)
    return target


def unread(*, located: bool) -> Error:
    """The error of a part that waits to be looked at, with or without a locator."""
    return Error.PROVIDER_DELIVERY_UNVERIFIED if located else Error.PROVIDER_LOCATOR_UNAVAILABLE


def needs_operator(state: State, *, needs_configuration: bool) -> bool:
    """Whether a person has to act: no proof, no way, or a refusal that only configuration can cure."""
    if state in (State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE):
        return True
    return state is State.RETRY_PENDING and needs_configuration


def worst(states: Iterable[State]) -> State:
    """The state that an answer with these parts shows. Raises ``ValueError`` for no parts."""
    return min(states, key=WORST_FIRST.index)
