"""The tenant's token: fetched by one caller at a time, renewed early, dropped when Lark no longer accepts it.

Lark hands out the same token while 30 minutes or more of it remain, then a new one, and both are good until their own
end (its page "Get tenant access token of a custom app"). So a renewal never disturbs what is under way: whoever comes
first renews, everybody else goes on with the token at hand.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from providers.lark import codes
from providers.lark.answers import Answer, NoAnswer
from providers.lark.fields import as_int
from providers.lark.flight import Flight
from providers.lark.outcomes import FIRST_SERVER_ERROR, NEVER_POSSIBLE, TOO_MANY_REQUESTS
from providers.lark.repeat import Sleep, repeated
from returns.ids import Millis
from returns.ports import Clock, Refusal, Refused

PATH: Final = "/open-apis/auth/v3/tenant_access_token/internal"
RENEW_BEFORE_MS: Final = 30 * 60_000
LAST_USE_MS: Final = 10_000
"""A token is not used within this of its end: the request has to arrive with it."""
RENEW_AGAIN_MS: Final = 30_000
"""After a renewal that failed while the old token still serves."""
EARLY_RENEWAL_TIMEOUT_S: Final = 3.0
"""How long the one caller who renews early waits; the token at hand still serves it afterwards."""
LONGEST_S: Final = 86_400

_TOKEN = re.compile(r"[!-~]{1,4096}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token and when it ends."""

    value: str = field(repr=False)
    renew_at: Millis
    expires_at: Millis


@dataclass(frozen=True, slots=True)
class _Broken:
    """The endpoint did not answer sensibly; asking again may help."""

    code: int | None


_Fetched: TypeAlias = Token | Refused | _Broken


class TokenSource:
    """The token of one app. ``fetch`` asks Lark once."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Answer | NoAnswer]],
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._sleep = sleep
        self._flight: Flight[Token | Refused] = Flight(self._renew)
        self._token: Token | None = None
        self._quiet_until = Millis(0)

    async def get(self) -> Token | Refused:
        """The token at hand, or a new one. Refused: OFFLINE, RATE_LIMITED or CONFIGURATION."""
        now = self._clock.now()
        usable = self._usable(now)
        if usable is not None:
            if now < usable.renew_at or now < self._quiet_until or self._flight.under_way:
                return usable
            return await self._renew_early(usable)
        return await self._flight.shared()

    def invalidate(self, token: Token) -> None:
        """Drop the token, unless it was replaced in the meantime."""
        if self._token is token:
            self._token = None

    def _usable(self, now: Millis) -> Token | None:
        token = self._token
        return token if token is not None and now < token.expires_at - LAST_USE_MS else None

    async def _renew_early(self, at_hand: Token) -> Token:
        self._quiet_until = Millis(self._clock.now() + RENEW_AGAIN_MS)
        try:
            async with asyncio.timeout(EARLY_RENEWAL_TIMEOUT_S):
                renewed = await self._flight.shared()
        except TimeoutError:
            return at_hand
        return renewed if isinstance(renewed, Token) else at_hand

    async def _renew(self) -> Token | Refused:
        fetched = await repeated(self._fetch_once, lambda result: isinstance(result, _Broken), self._sleep)
        if isinstance(fetched, _Broken):
            return Refused(Refusal.OFFLINE, fetched.code)
        if isinstance(fetched, Token):
            self._token = fetched
        return fetched

    async def _fetch_once(self) -> _Fetched:
        asked_at = self._clock.now()
        answer = await self._fetch()
        if isinstance(answer, NoAnswer):
            wrong = issubclass(answer.error, NEVER_POSSIBLE)
            return Refused(Refusal.CONFIGURATION) if wrong else _Broken(None)
        if answer.code == codes.SUCCESS:
            return _token(answer, asked_at) or _Broken(None)
        return _refused(answer)


def _token(answer: Answer, asked_at: Millis) -> Token | None:
    """The token of a good answer; it has no ``data`` around it, and ``expire`` is the seconds that remain."""
    body = answer.body or {}
    value, seconds = body.get("tenant_access_token"), as_int(body.get("expire"))
    if not isinstance(value, str) or not _TOKEN.fullmatch(value) or seconds is None or seconds <= 0:
        return None
    life = min(seconds, LONGEST_S) * 1000
    early = min(RENEW_BEFORE_MS, life // 2)
    return Token(value, Millis(asked_at + life - early), Millis(asked_at + life))


def _refused(answer: Answer) -> Refused | _Broken:
    if answer.code in codes.RATE_LIMITED or answer.status == TOO_MANY_REQUESTS:
        return Refused(Refusal.RATE_LIMITED, answer.code, answer.retry_after_ms, answer.log_id)
    if answer.code is None or answer.status >= FIRST_SERVER_ERROR or answer.code in codes.TOKEN_BUSY:
        return _Broken(answer.code)
    return Refused(Refusal.CONFIGURATION, answer.code, None, answer.log_id)
