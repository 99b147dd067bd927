"""Tenant tokens: two hours, the same one while 30 minutes or more are left, a new one beside it afterwards.

https://open.feishu.cn/document/ukTMukTMukTM/ukDNz4SO0MjL5QzM/auth-v3/auth/tenant_access_token_internal
"""

from __future__ import annotations

from dataclasses import dataclass

from providers.lark_double.clock import DoubleClock
from providers.lark_double.ids import NewId

LIFE_MS = 2 * 60 * 60 * 1000
RENEWED_BELOW_MS = 30 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Token:
    """A token and until when it is good, in milliseconds on the double's clock."""

    value: str
    app_id: str
    expires_at: int


class Tokens:
    """Every token that is still good."""

    def __init__(self, clock: DoubleClock, new_id: NewId) -> None:
        self._clock = clock
        self._new_id = new_id
        self._newest: dict[str, Token] = {}
        self._known: dict[str, Token] = {}

    def issue(self, app_id: str) -> tuple[str, int]:
        """The app's token and the seconds that it is still good for."""
        now = self._clock.now()
        token = self._newest.get(app_id)
        if token is None or token.expires_at - now < RENEWED_BELOW_MS:
            token = Token(self._new_id("t-"), app_id, now + LIFE_MS)
            self._newest[app_id] = self._known[token.value] = token
        return token.value, (token.expires_at - now) // 1000

    def owner(self, value: str) -> str | None:
        """The app whose good token this is."""
        token = self._known.get(value)
        return token.app_id if token is not None and token.expires_at > self._clock.now() else None

    def expire(self, app_id: str) -> None:
        """None of the app's tokens is good any more."""
        self._newest.pop(app_id, None)
        self._known = {value: token for value, token in self._known.items() if token.app_id != app_id}
