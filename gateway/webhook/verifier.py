"""Whether bytes come from Lark: the signature of an event, over the body exactly as it was received.

``X-Lark-Signature`` is the lower-case hex SHA-256 of timestamp, nonce, Encrypt Key and raw body, one after the other
(https://open.feishu.cn/document/server-docs/event-subscription-guide/event-subscription-configure-/encrypt-key-encryption-configuration-case).
Nothing separates the timestamp from the nonce, so a character could move between them under the same signature: the
timestamp is exactly ten digits or nothing. Pure; bytes in, a verdict out.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from enum import Enum

AHEAD_S = 5 * 60
BEHIND_S = 8 * 60 * 60
"""A push that is repeated (for up to 7 h 5 min) may carry its first timestamp."""

TIMESTAMP_DIGITS = 10


class Verdict(Enum):
    """What the signature headers of a request are worth."""

    AUTHENTIC = "authentic"
    """Signed with our key, within the bounds of time."""
    HEADERS = "headers"
    """A signature header is missing, empty or there more than once."""
    TIMESTAMP = "timestamp"
    """The timestamp is not exactly ten ASCII digits."""
    SIGNATURE = "signature"
    """The signature is not ours."""
    TOO_OLD = "too_old"
    """Rightly signed, more than 8 hours ago."""
    TOO_NEW = "too_new"
    """Rightly signed, more than 5 minutes ahead of our clock."""


OUT_OF_TIME = frozenset({Verdict.TOO_OLD, Verdict.TOO_NEW})
"""Rightly signed all the same: our clock, or Lark's, may be wrong."""


def verify(
    key: bytes,
    signatures: Sequence[bytes],
    timestamps: Sequence[bytes],
    nonces: Sequence[bytes],
    body: bytes,
    now_s: int,
) -> Verdict:
    """The verdict on ``body`` under the Encrypt Key ``key``; each header with all the values that were sent.

    ``now_s`` is the time in seconds since 1970. Constant in time over the signature.
    """
    if not (len(signatures) == len(timestamps) == len(nonces) == 1 and signatures[0] and nonces[0]):
        return Verdict.HEADERS
    timestamp = timestamps[0]
    if len(timestamp) != TIMESTAMP_DIGITS or not timestamp.isdigit():
        return Verdict.TIMESTAMP
    digest = hashlib.sha256(timestamp + nonces[0] + key)
    digest.update(body)
    if not hmac.compare_digest(digest.hexdigest().encode("ascii"), signatures[0]):
        return Verdict.SIGNATURE
    age_s = now_s - int(timestamp)
    if age_s > BEHIND_S:
        return Verdict.TOO_OLD
    if age_s < -AHEAD_S:
        return Verdict.TOO_NEW
    return Verdict.AUTHENTIC
