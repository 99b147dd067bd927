"""Keys for signing, derived from the operator's token: gateways that share the token accept each other's."""

from __future__ import annotations

import hashlib
import hmac


def derive(token: str, purpose: str) -> bytes:
    """A 32-byte key for one purpose (``cursors``, ``cookie``, …)."""
    return hmac.digest(token.encode(), b"lark-steward/1/" + purpose.encode(), hashlib.sha256)
