"""The life of a turn, as a table, and the bounds of its attempts.

A turn decides one revision of one request. It waits in its conversation, runs under a lease with a fencing number, and
ends once. A turn whose holder died is taken up again; what it had not committed never happened.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

MAX_ATTEMPTS: Final = 3
"""Failures of the runtime before a turn has failed for good."""

MAX_CLAIMS: Final = 6
"""Claims, whatever became of them, before a turn that kills its holder is given up."""

RETRY_FIRST_MS: Final = 1_000
RETRY_MAX_MS: Final = 30_000


class TurnState(Enum):
    """Where a turn stands."""

    QUEUED = "queued"
    """Waits for its conversation; a claim takes it on."""
    RUNNING = "running"
    """Held by a lease; its decision, a failure, a cancellation or the end of the lease takes it on."""
    DONE = "done"
    """Its decision was committed. Final."""
    FAILED = "failed"
    """It failed for good, and the asker is told. Final."""
    CANCELLED = "cancelled"
    """Its question was recalled or replaced, or may not be answered. Final."""


class TurnEvent(Enum):
    """What happens to a turn."""

    CLAIMED = "claimed"
    """A gateway took it, with a new fence."""
    RELEASED = "released"
    """Its holder is gone, or its attempt failed and another one is allowed."""
    DECIDED = "decided"
    """Its decision is committed in the same transaction."""
    GAVE_UP = "gave_up"
    """No further attempt is allowed."""
    WITHDRAWN = "withdrawn"
    """The question was recalled or corrected, or may not be answered any more."""


TRANSITIONS: Final = {
    (TurnState.QUEUED, TurnEvent.CLAIMED): TurnState.RUNNING,
    (TurnState.QUEUED, TurnEvent.WITHDRAWN): TurnState.CANCELLED,
    (TurnState.RUNNING, TurnEvent.CLAIMED): TurnState.RUNNING,
    (TurnState.RUNNING, TurnEvent.RELEASED): TurnState.QUEUED,
    (TurnState.RUNNING, TurnEvent.DECIDED): TurnState.DONE,
    (TurnState.RUNNING, TurnEvent.GAVE_UP): TurnState.FAILED,
    (TurnState.RUNNING, TurnEvent.WITHDRAWN): TurnState.CANCELLED,
}

FINAL: Final = frozenset({TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED})


class IllegalTurnMove(Exception):
    """This event cannot happen to a turn in this state; nothing moved."""

    code = "illegal_turn_move"

    def __init__(self, state: TurnState, event: TurnEvent) -> None:
        super().__init__(f"a {state.value} turn cannot be {event.value}")
        self.state = state
        self.event = event


def move(state: TurnState, event: TurnEvent) -> TurnState:
    """The state after ``event``. Raises ``IllegalTurnMove``."""
    after = TRANSITIONS.get((state, event))
    if after is None:
        raise IllegalTurnMove(state, event)
    return after


def sources(event: TurnEvent) -> tuple[TurnState, ...]:
    """The states that ``event`` may find, for the guard of an update."""
    return tuple(state for state, other in TRANSITIONS if other is event)


def may_retry(attempts: int) -> bool:
    """Whether a turn that failed at its ``attempts``-th attempt gets another one."""
    return attempts < MAX_ATTEMPTS


def is_exhausted(attempts: int) -> bool:
    """Whether a claim is one too many: earlier ones ended without a word, so the turn may be what ends its holder."""
    return attempts > MAX_CLAIMS


def retry_delay_ms(attempts: int) -> int:
    """Milliseconds until the next attempt after ``attempts`` (at least one) failed."""
    return min(RETRY_FIRST_MS * 2 ** min(max(attempts, 1) - 1, 10), RETRY_MAX_MS)
