"""When to try again. No chance and no clock: the jitter comes from the part's id."""

from __future__ import annotations

import hashlib

from returns.decisions.policy import ReturnsPolicy
from returns.ids import PartId

JITTER = 0.2
"""A delay is at most this share shorter or longer."""

STALE_TOKEN_AT_ONCE = 2
"""So many refusals for a stale token in a row are tried again at once: a fresh token cures most of them."""


def share(part: PartId, failures: int) -> float:
    """A number from -1 to 1 that depends on the part and its count of failures alone."""
    digest = hashlib.sha256(f"{part}:{failures}".encode()).digest()
    return int.from_bytes(digest[:4]) / 0xFFFFFFFF * 2 - 1


def backoff_ms(part: PartId, failures: int, policy: ReturnsPolicy) -> int:
    """The delay after so many failures in a row (1, 2, …): doubling from ``retry_first_ms`` to ``retry_max_ms``."""
    doublings = min(max(failures - 1, 0), 40)
    plain = min(policy.retry_first_ms * 2**doublings, policy.retry_max_ms)
    return max(1, round(plain * (1 + JITTER * share(part, failures))))


def slow_ms(part: PartId, failures: int, policy: ReturnsPolicy) -> int:
    """The delay when only an operator can cure it."""
    return max(1, round(policy.retry_max_ms * (1 + JITTER * share(part, failures))))


def retry_after_ms(part: PartId, failures: int, asked_ms: int | None, policy: ReturnsPolicy) -> int:
    """The delay after a limit: what the provider asked for, clamped to ``retry_max_ms`` and never early, or our own."""
    if asked_ms is None or asked_ms <= 0:
        return backoff_ms(part, failures, policy)
    clamped = min(asked_ms, policy.retry_max_ms)
    return clamped + round(min(clamped, policy.retry_first_ms) * JITTER * abs(share(part, failures)))


def pause_ms(asked_ms: int | None, policy: ReturnsPolicy) -> int:
    """How long nobody calls an API after a limit: never longer than the part that met it waits itself."""
    if asked_ms is None or asked_ms <= 0:
        return round(policy.retry_first_ms * (1 - JITTER))
    return min(asked_ms, policy.retry_max_ms)


def longest_ms(policy: ReturnsPolicy) -> int:
    """No moment that the way back sets for itself lies further ahead; one that does came from a clock that jumped."""
    delays = (policy.retry_max_ms, policy.lease_ms, policy.settle_ms, policy.readback_delay_ms)
    return round(max(delays) * (1 + JITTER)) + 1000
