"""HTTP towards Lark for all apps: connections and a token of its own for each, and what is sent goes out once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from aiohttp.abc import AbstractResolver

from providers.lark.answers import Answer, Exchange, NoAnswer, NoToken
from providers.lark.config import LarkApp
from providers.lark.fields import compact
from providers.lark.http import Http, Params, trust
from providers.lark.outcomes import is_broken, is_stale
from providers.lark.repeat import Sleep, repeated
from providers.lark.skew import Skew
from providers.lark.tokens import PATH as TOKEN_PATH
from providers.lark.tokens import Token, TokenSource
from returns.ids import AppName
from returns.ports import Clock, MayLeave, Refusal, Refused

JSON_TYPE: Final = "application/json; charset=utf-8"


class AppSession:
    """One app's connections and token."""

    def __init__(self, app: LarkApp, http: Http, clock: Clock, sleep: Sleep) -> None:
        self.app = app
        self.tokens = TokenSource(self._fetch_token, clock, sleep)
        self.skew = Skew()
        self._http = http
        self._clock = clock
        self._sleep = sleep

    async def send(
        self, path: str, *, params: Params | None = None, body: bytes, may_leave: MayLeave | None = None
    ) -> Exchange:
        """POST once, whatever comes of it. A token that is not accepted is dropped, and nothing is repeated."""
        return await self._once("POST", path, params or {}, body, may_leave)

    async def read(self, path: str, *, params: Params | None = None) -> Exchange:
        """GET, and again where asking again may help."""
        return await repeated(lambda: self._once("GET", path, params or {}, None), is_broken, self._sleep)

    async def _once(
        self, method: str, path: str, params: Params, body: bytes | None, may_leave: MayLeave | None = None
    ) -> Exchange:
        token = await self.tokens.get()
        if isinstance(token, Refused):
            return NoToken(token)
        exchange = await self._exchange(method, path, params, body, token, may_leave)
        if is_stale(exchange):
            self.tokens.invalidate(token)
        return exchange

    async def _fetch_token(self) -> Answer | NoAnswer:
        credentials = compact({"app_id": self.app.app_id, "app_secret": self.app.app_secret}).encode()
        return await self._exchange("POST", TOKEN_PATH, {}, credentials, None)

    async def _exchange(
        self,
        method: str,
        path: str,
        params: Params,
        body: bytes | None,
        token: Token | None,
        may_leave: MayLeave | None = None,
    ) -> Answer | NoAnswer:
        headers = {} if body is None else {"Content-Type": JSON_TYPE}
        if token is not None:
            headers["Authorization"] = f"Bearer {token.value}"
        exchange = await self._http.exchange(method, path, params, body, headers, may_leave)
        if isinstance(exchange, Answer) and exchange.code is not None:  # of Lark itself, not of a proxy
            self.skew.see(self._clock.now(), exchange.dated)
        return exchange


class LarkClient:
    """All apps' connections; ``async with`` opens and closes them.

    ``http_timeout_s`` bounds each exchange as ``Http`` says; ``resolver`` looks names up in place of the system.
    Raises ``LarkAppInvalid`` on entering if an app cannot be used.
    """

    def __init__(
        self,
        apps: Iterable[LarkApp],
        clock: Clock,
        http_timeout_s: float = 10.0,
        *,
        sleep: Sleep = asyncio.sleep,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._apps = tuple(apps)
        self._clock = clock
        self._timeout_s = http_timeout_s
        self._sleep = sleep
        self._resolver = resolver
        self._stack = AsyncExitStack()
        self._sessions: dict[AppName, AppSession] = {}

    async def __aenter__(self) -> Self:
        _quiet()
        tls = trust(self._apps)
        async with AsyncExitStack() as opening:
            for app in self._apps:
                http = await opening.enter_async_context(Http(app, self._timeout_s, tls, self._resolver))
                self._sessions[app.name] = AppSession(app, http, self._clock, self._sleep)
            self._stack = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sessions.clear()
        await self._stack.aclose()

    def app_id(self, name: AppName) -> str | None:
        """The provider's id of an app; None for one that is not configured. Private."""
        session = self._sessions.get(name)
        return None if session is None else session.app.app_id

    def is_local(self, name: AppName) -> bool:
        """Whether an app's domain is this machine itself: a local Lark, in which there are no other tenants' people."""
        session = self._sessions.get(name)
        return session is not None and session.app.is_local

    def ahead_ms(self, name: AppName) -> int:
        """The most that our clock was seen ahead of Lark's by an app's answers, in ms."""
        session = self._sessions.get(name)
        return 0 if session is None else session.skew.largest_ms

    def skew_ms(self) -> int | None:
        """How far our clock is from Lark's now: the largest of all apps; None before the first answer."""
        seen = [each.skew.last_ms for each in self._sessions.values() if each.skew.last_ms is not None]
        return max(seen, key=abs, default=None)

    async def token(self, name: AppName) -> Token | Refused:
        """Have an app's token at hand."""
        session = self._sessions.get(name)
        return Refused(Refusal.CONFIGURATION) if session is None else await session.tokens.get()

    async def send(
        self,
        name: AppName,
        path: str,
        *,
        params: Params | None = None,
        body: bytes,
        may_leave: MayLeave | None = None,
    ) -> Exchange:
        """POST once for an app; ``may_leave`` is asked right before the first byte, and nothing leaves at False."""
        session = self._sessions.get(name)
        if session is None:
            return _unknown_app()
        return await session.send(path, params=params, body=body, may_leave=may_leave)

    async def read(self, name: AppName, path: str, *, params: Params | None = None) -> Exchange:
        """GET for an app, repeated where that may help."""
        session = self._sessions.get(name)
        return _unknown_app() if session is None else await session.read(path, params=params)


def segment(value: str) -> str:
    """An id as one segment of a path."""
    return quote(value, safe="")


def _unknown_app() -> NoToken:
    return NoToken(Refused(Refusal.CONFIGURATION))


def _quiet() -> None:
    """Requests name messages and carry tokens: the HTTP client's own lines stay out of every log."""
    logging.getLogger("aiohttp.client").setLevel(logging.WARNING)
