"""One app's connections to Lark: a pool, every exchange bounded in time and size, nothing followed, nothing repeated.

What matters most of an exchange that failed is whether anything of the request can have left. aiohttp says so itself:
``on_request_headers_sent`` is called right before the first byte of a request is written, after name lookup, connect,
TLS and a proxy's tunnel (https://docs.aiohttp.org/en/stable/tracing_reference.html).
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CoroutineType, SimpleNamespace, TracebackType
from typing import Final, Self, TypeAlias
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import certifi
from aiohttp.abc import AbstractResolver
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from yarl import URL

from providers.lark.answers import Answer, NoAnswer, read_answer
from providers.lark.config import LarkApp, LarkAppInvalid
from returns.ports import MayLeave

CONNECT_TIMEOUT_S: Final = 5.0
MAX_CONNECTIONS: Final = 600
"""More than the way back has under way at once, so that one that waits long keeps no other waiting."""
KEEPALIVE_S: Final = 15.0
"""Shorter than any server's: a request on a connection that the server is closing has an unknown outcome."""
MAX_BODY: Final = 32 * 1024 * 1024
"""A page of history has at most 50 messages of 150 KB, escaped twice."""
DEADLINE: Final = 3
"""A whole exchange may take so many times as long as a single read."""
HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "lark-steward"}

Params: TypeAlias = Mapping[str, str]


class AnswerTooLarge(Exception):
    """An answer longer than any that Lark gives; it was not read to its end."""

    code = "answer_too_large"


class NoLongerWanted(Exception):
    """The moment in which the request might have left has passed; nothing of it was written."""

    code = "no_longer_wanted"


@dataclass(slots=True)
class _Leaving:
    """How far a request came."""

    may_leave: MayLeave | None
    left: bool = False


class _Connections(aiohttp.TCPConnector):
    """Connections that are kept, unless something came in while nothing was asked.

    A second answer to an earlier request would be taken for the answer to the next one.
    """

    def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> CoroutineType[object, object, Connection]:
        """A connection that says nothing unasked. Raises ``ClientConnectionError`` if all do."""
        return self._quiet(req, traces, timeout)

    async def _quiet(
        self, request: aiohttp.ClientRequest, traces: list[Trace], bounds: aiohttp.ClientTimeout
    ) -> Connection:
        for _ in range(MAX_CONNECTIONS):
            connection = await super().connect(request, traces, bounds)
            if connection.protocol is None or not connection.protocol.should_close:
                return connection
            connection.close()
        raise aiohttp.ClientConnectionError("The server talks unasked.")


class Http:
    """``async with`` opens and closes the pool.

    ``timeout_s`` bounds each read in seconds; connecting and waiting for a free connection are bounded by the smaller
    of it and 5 s, a whole exchange by three times it. Redirects are never followed. A proxy of the environment is
    honoured, except towards this machine. ``resolver`` looks names up in place of the system.
    """

    def __init__(
        self, app: LarkApp, timeout_s: float, tls: ssl.SSLContext, resolver: AbstractResolver | None = None
    ) -> None:
        """Raises ``LarkAppInvalid`` if the environment's proxy cannot be used."""
        self._base = str(URL(app.base_url).origin())
        self._deadline_s = timeout_s * DEADLINE
        self._proxy, self._proxy_headers = (None, None) if app.is_local else _proxy_of(app)
        self._timeout_s = timeout_s
        self._tls = tls
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        short = min(CONNECT_TIMEOUT_S, self._timeout_s)
        self._session = aiohttp.ClientSession(
            connector=_Connections(
                limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S, ssl=self._tls, resolver=self._resolver
            ),
            timeout=aiohttp.ClientTimeout(total=None, connect=short, sock_connect=short, sock_read=self._timeout_s),
            headers=HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            trace_configs=[_tracing()],
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def exchange(
        self,
        method: str,
        path: str,
        params: Params,
        body: bytes | None,
        headers: Mapping[str, str],
        may_leave: MayLeave | None = None,
    ) -> Answer | NoAnswer:
        """Ask once. ``path`` is quoted already; nothing leaves if ``may_leave`` says so right before the first byte."""
        if self._session is None:
            raise RuntimeError("The connections are not open.")
        leaving = _Leaving(may_leave)
        try:
            async with (
                asyncio.timeout(self._deadline_s),
                self._session.request(
                    method,
                    self._url(path, params),
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    proxy=self._proxy,
                    proxy_headers=self._proxy_headers,
                    trace_request_ctx=leaving,
                ) as response,
            ):
                return read_answer(response.status, response.headers, await _bounded(response))
        except (aiohttp.ClientError, AnswerTooLarge, NoLongerWanted, OSError) as error:
            return NoAnswer(type(error), left=leaving.left)

    def _url(self, path: str, params: Params) -> URL:
        query = f"?{urlencode(params)}" if params else ""
        return URL(f"{self._base}{path}{query}", encoded=True)


def trust(apps: Iterable[LarkApp]) -> ssl.SSLContext:
    """Whom to trust: the usual authorities, loaded once and only if anything leaves this machine; else nobody."""
    if all(app.is_local and app.domain.startswith("http://") for app in apps):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    usual = ssl.create_default_context()
    usual.load_verify_locations(certifi.where())  # not every system has its own where OpenSSL looks
    return usual


def _tracing() -> aiohttp.TraceConfig:
    tracing = aiohttp.TraceConfig()
    tracing.on_request_headers_sent.append(_leave)
    return tracing


async def _leave(_session: aiohttp.ClientSession, context: SimpleNamespace, _sent: object) -> None:
    leaving: _Leaving = context.trace_request_ctx
    if leaving.may_leave is not None and not leaving.may_leave():
        raise NoLongerWanted
    leaving.left = True


def _proxy_of(app: LarkApp) -> tuple[URL | None, Mapping[str, str] | None]:
    """The proxy that the environment names for an app's domain, and what it is told besides.

    Raises ``LarkAppInvalid`` if it cannot be used.
    """
    parts = urlsplit(app.base_url)
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.hostname or ""):
        return None, None
    try:
        proxy = URL(named if "://" in named else f"http://{named}")
    except ValueError:
        raise _unusable(app) from None
    if proxy.scheme not in {"http", "https"} or not proxy.host:
        raise _unusable(app)
    if proxy.user is None:
        return proxy, None
    login = b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
    return proxy.with_user(None), {"Proxy-Authorization": f"Basic {login}"}


def _unusable(app: LarkApp) -> LarkAppInvalid:
    return LarkAppInvalid(
        f"app {app.name}: the proxy named by the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY) cannot be used; "
        "set an http:// or https:// one, or unset it"
    )


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > MAX_BODY:
            raise AnswerTooLarge
    return bytes(body)
