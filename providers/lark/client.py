"""HTTP towards Lark: one pool of connections and one token an app, every exchange bounded in time and size."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self, TypeAlias
from urllib.parse import quote

import httpx

from providers.lark.answers import Answer, Exchange, NoAnswer, NoToken, read_answer
from providers.lark.config import LarkApp, LarkAppInvalid
from providers.lark.fields import compact
from providers.lark.outcomes import is_broken, is_stale
from providers.lark.repeat import Sleep, repeated
from providers.lark.tokens import PATH as TOKEN_PATH
from providers.lark.tokens import Token, TokenSource
from returns.ids import AppName
from returns.ports import Clock, Refusal, Refused

CONNECT_TIMEOUT_S: Final = 5.0
MAX_CONNECTIONS: Final = 50
KEEPALIVE_S: Final = 15.0
"""Shorter than any server's: a request on a connection that the server is closing has an unknown outcome."""
MAX_BODY: Final = 32 * 1024 * 1024
"""A page of history has at most 50 messages of 150 KB, escaped twice."""
JSON_TYPE: Final = "application/json; charset=utf-8"

Params: TypeAlias = Mapping[str, str]


class AnswerTooLarge(Exception):
    """An answer longer than any that Lark gives; it was not read to its end."""

    code = "answer_too_large"


class AppSession:
    """One app's connections and token."""

    def __init__(self, app: LarkApp, http: httpx.AsyncClient, clock: Clock, deadline_s: float, sleep: Sleep) -> None:
        self.app = app
        self.tokens = TokenSource(self._fetch_token, clock, sleep)
        self._http = http
        self._deadline_s = deadline_s
        self._sleep = sleep

    async def send(self, path: str, *, params: Params | None = None, body: bytes) -> Exchange:
        """POST once, whatever comes of it. A token that is not accepted is dropped, and nothing is repeated."""
        return await self._once("POST", path, params or {}, body)

    async def read(self, path: str, *, params: Params | None = None) -> Exchange:
        """GET, and again where asking again may help."""
        return await repeated(lambda: self._once("GET", path, params or {}, None), is_broken, self._sleep)

    async def _once(self, method: str, path: str, params: Params, body: bytes | None) -> Exchange:
        token = await self.tokens.get()
        if isinstance(token, Refused):
            return NoToken(token)
        exchange = await self._exchange(method, path, params, body, token)
        if is_stale(exchange):
            self.tokens.invalidate(token)
        return exchange

    async def _fetch_token(self) -> Answer | NoAnswer:
        credentials = compact({"app_id": self.app.app_id, "app_secret": self.app.app_secret}).encode()
        return await self._exchange("POST", TOKEN_PATH, {}, credentials, None)

    async def _exchange(
        self, method: str, path: str, params: Params, body: bytes | None, token: Token | None
    ) -> Answer | NoAnswer:
        headers = {} if body is None else {"Content-Type": JSON_TYPE}
        if token is not None:
            headers["Authorization"] = f"Bearer {token.value}"
        try:
            async with (
                asyncio.timeout(self._deadline_s),
                self._http.stream(method, path, params=params, content=body, headers=headers) as response,
            ):
                return read_answer(response.status_code, response.headers, await _bounded(response))
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, AnswerTooLarge, OSError) as error:
            return NoAnswer(type(error))


class LarkClient:
    """All apps' connections; ``async with`` opens and closes them.

    ``http_timeout_s`` bounds each write and read in seconds; connecting and waiting for a free connection are bounded
    by the smaller of it and 5 s, a whole exchange by three times it. Redirects are never followed. A proxy of the
    environment is honoured, except towards this machine. Raises ``LarkAppInvalid`` on entering if it cannot be used.
    """

    def __init__(
        self, apps: Iterable[LarkApp], clock: Clock, http_timeout_s: float = 10.0, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._apps = tuple(apps)
        self._clock = clock
        self._timeout_s = http_timeout_s
        self._sleep = sleep
        self._stack = AsyncExitStack()
        self._sessions: dict[AppName, AppSession] = {}

    async def __aenter__(self) -> Self:
        _quiet()
        tls = _trust(self._apps)
        async with AsyncExitStack() as opening:
            for app in self._apps:
                http = await opening.enter_async_context(_open(app, self._timeout_s, tls))
                self._sessions[app.name] = AppSession(app, http, self._clock, self._timeout_s * 3, self._sleep)
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

    async def token(self, name: AppName) -> Token | Refused:
        """Have an app's token at hand."""
        session = self._sessions.get(name)
        return Refused(Refusal.CONFIGURATION) if session is None else await session.tokens.get()

    async def send(self, name: AppName, path: str, *, params: Params | None = None, body: bytes) -> Exchange:
        """POST once for an app."""
        session = self._sessions.get(name)
        return _unknown_app() if session is None else await session.send(path, params=params, body=body)

    async def read(self, name: AppName, path: str, *, params: Params | None = None) -> Exchange:
        """GET for an app, repeated where that may help."""
        session = self._sessions.get(name)
        return _unknown_app() if session is None else await session.read(path, params=params)


def segment(value: str) -> str:
    """An id as one segment of a path."""
    return quote(value, safe="")


def _trust(apps: Iterable[LarkApp]) -> ssl.SSLContext:
    """Whom to trust: the usual authorities, loaded once and only if anything leaves this machine; else nobody."""
    plain = all(app.is_local and app.domain.startswith("http://") for app in apps)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else httpx.create_ssl_context()


def _unknown_app() -> NoToken:
    return NoToken(Refused(Refusal.CONFIGURATION))


def _open(app: LarkApp, timeout_s: float, tls: ssl.SSLContext) -> httpx.AsyncClient:
    short = min(CONNECT_TIMEOUT_S, timeout_s)
    try:
        return httpx.AsyncClient(
            base_url=app.base_url,
            timeout=httpx.Timeout(connect=short, write=timeout_s, read=timeout_s, pool=short),
            limits=httpx.Limits(
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=MAX_CONNECTIONS,
                keepalive_expiry=KEEPALIVE_S,
            ),
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "lark-steward"},
            follow_redirects=False,
            trust_env=not app.is_local,
            verify=tls,
        )
    except (ImportError, ValueError) as error:
        raise LarkAppInvalid(
            f"app {app.name}: the proxy named by the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY) cannot be used; "
            "set an http:// or https:// one, or unset it"
        ) from error


async def _bounded(response: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_BODY:
            raise AnswerTooLarge
    return bytes(body)


def _quiet() -> None:
    """Requests name messages and carry tokens: the HTTP client's own lines stay out of every log."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
