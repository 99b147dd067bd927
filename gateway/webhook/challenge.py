"""The question that Lark asks an address before it trusts it. It arrives unsigned, and it dispatches nothing.

Source: https://open.feishu.cn/document/server-docs/event-subscription-guide/event-subscription-configure-/request-url-configuration-case
"""

from __future__ import annotations

import hmac

LONGEST = 4_096
EVENT_MEMBERS = frozenset({"schema", "header", "event", "uuid"})


def is_challenge(payload: dict[str, object]) -> bool:
    """Whether a decrypted payload says that it is one."""
    return payload.get("type") == "url_verification"


def answer(payload: dict[str, object], token: bytes) -> str | None:
    """What to send back, None when it is not to be answered: another token, no text, or an event inside."""
    challenge = payload.get("challenge")
    if not is_challenge(payload) or not same_text(payload.get("token"), token):
        return None
    if not isinstance(challenge, str) or not 0 < len(challenge) <= LONGEST or not EVENT_MEMBERS.isdisjoint(payload):
        return None
    return challenge


def same_text(value: object, expected: bytes) -> bool:
    """Whether ``value`` is the expected text, compared in constant time."""
    return isinstance(value, str) and hmac.compare_digest(value.encode("utf-8", "surrogatepass"), expected)
