"""How long what is over is kept. Pure.

What is pending is never touched, however old it is, and neither are the facts, the ids of messages and the keys of
events: they prove deliveries and stop duplicates for good.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from returns.ids import Millis

DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """The values of the ``[retention]`` section in milliseconds; None keeps for ever."""

    texts_ms: int | None = 90 * DAY_MS
    """Texts of a request of which nothing is open and whose answer is delivered: since its last fact."""
    unproved_ms: int | None = 365 * DAY_MS
    """Texts of a request whose answer waits for an operator: since its last fact."""
    events_ms: int | None = 30 * DAY_MS
    """Events that led to something or asked for nothing: since they came."""
    set_aside_ms: int | None = 90 * DAY_MS
    """Events that were set aside for somebody to look at, with what they said."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a request stands, as far as retention asks."""

    is_open: bool
    """Something is to be done for it yet: work, a turn, a delivery, a command; or for the one it was made under."""
    needs_operator: bool
    last_fact_at: Millis


def may_forget(standing: Standing, policy: RetentionPolicy, now: Millis) -> bool:
    """Whether a request's texts may go."""
    if standing.is_open:
        return False
    kept_ms = policy.unproved_ms if standing.needs_operator else policy.texts_ms
    return kept_ms is not None and standing.last_fact_at <= now - kept_ms


def youngest(policy: RetentionPolicy, now: Millis) -> Millis | None:
    """No request that was asked after this may be forgotten; None: none at all."""
    limits = [limit for limit in (policy.texts_ms, policy.unproved_ms) if limit is not None]
    return Millis(now - min(limits)) if limits else None
