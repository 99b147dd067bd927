"""What the tests of Lark's side share: a clock to move, an app, answers as Lark gives them, and who gives them.

``answering()`` is a server on loopback that answers as it is told; a client that is made by ``opened()`` finds it under
any name, so that real requests go over real connections.
"""

from __future__ import annotations

import contextlib
import inspect
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import httpx
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from providers.lark.client import LarkClient
from providers.lark.config import LarkApp
from returns.ids import AppName, ChatId, Millis

DOMAIN = "http://lark.localhost"
APP = LarkApp(AppName("default"), "cli_own", "top-secret-value", DOMAIN)
CHAT = ChatId("oc_asked")
START = Millis(1_700_000_000_000)
TOKEN_URL = f"{DOMAIN}/open-apis/auth/v3/tenant_access_token/internal"
MESSAGES_URL = f"{DOMAIN}/open-apis/im/v1/messages"


class MovedClock:
    """The time stands still until a test moves it."""

    def __init__(self, at: int = START) -> None:
        self.at = at

    def now(self) -> Millis:
        return Millis(self.at)

    def move(self, ms: int) -> None:
        self.at += ms


async def no_sleep(_seconds: float) -> None:
    """Goes on at once."""


def token_answer(value: str = "t-1", expire: object = 7200) -> httpx.Response:
    return httpx.Response(200, json={"code": 0, "msg": "ok", "tenant_access_token": value, "expire": expire})


def refused(code: int, status: int = 400, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "msg": "no"}, headers=headers)


def ok(**data: object) -> httpx.Response:
    return httpx.Response(200, json={"code": 0, "msg": "success", "data": data}, headers={"X-Tt-Logid": "log-1"})


def message(message_id: str = "om_1", text: str = "hi", **changes: object) -> dict[str, object]:
    """A message of ours, as REST shows it."""
    shown: dict[str, object] = {
        "message_id": message_id,
        "msg_type": "text",
        "create_time": str(START),
        "update_time": str(START),
        "deleted": False,
        "updated": False,
        "chat_id": CHAT,
        "sender": {"id": "cli_own", "id_type": "app_id", "sender_type": "app", "tenant_key": "t"},
        "body": {"content": f'{{"text":"{text}"}}'},
    }
    return shown | changes


class HangUp(Exception):
    """Instead of an answer: the request is read, and the connection ends."""


class Nowhere(Exception):
    """Instead of an answer: the name cannot be looked up (any more)."""


class Calls(list[Any]):
    """The requests that came."""

    @property
    def last(self) -> Any:
        return self[-1]


@dataclass
class Route:
    """What one address answers; of a list, one after the other."""

    calls: Calls = field(default_factory=Calls)
    _answers: Any = None

    def mock(self, *, return_value: Any = None, side_effect: Any = None) -> Route:
        self._answers = return_value if side_effect is None else side_effect
        return self

    @property
    def call_count(self) -> int:
        return len(self.calls)

    async def answer(self, request: httpx.Request) -> Any:
        self.calls.append(SimpleNamespace(request=request))
        given = self._answers.pop(0) if isinstance(self._answers, list) else self._answers
        if isinstance(given, httpx.Response) or (isinstance(given, type) and issubclass(given, Exception)):
            return given
        made = given(request)
        return await made if inspect.isawaitable(made) else made


class Answering:
    """A server that answers as it is told."""

    def __init__(self) -> None:
        self.calls = Calls()
        self.names = Names()
        self._routes: list[tuple[str | None, httpx.URL | None, dict[str, str], Route]] = []

    def post(self, url: str, params: dict[str, str] | None = None) -> Route:
        return self._add("POST", url, params)

    def get(self, url: str, params: dict[str, str] | None = None) -> Route:
        return self._add("GET", url, params)

    def route(self) -> Route:
        """Everything that no other route answers."""
        return self._add(None, None, None)

    def _add(self, method: str | None, url: str | None, params: dict[str, str] | None) -> Route:
        address = None if url is None else httpx.URL(url)
        for found in self._routes:
            if found[:3] == (method, address, params or {}):
                return found[3]
        self._routes.append((method, address, params or {}, Route()))
        return self._routes[-1][3]

    def _route_of(self, request: httpx.Request) -> Route:
        for method, url, params, route in self._routes:
            same = url is None or (request.url.host, request.url.path) == (url.host, url.path)
            if method in (None, request.method) and same and params.items() <= dict(request.url.params).items():
                return route
        raise AssertionError(f"nothing answers {request.method} {request.url}")

    async def handle(self, came: web.Request) -> web.StreamResponse:
        url = f"http://{came.host}{came.raw_path}"
        request = httpx.Request(came.method, url, headers=list(came.headers.items()), content=await came.read())
        self.calls.append(SimpleNamespace(request=request))
        given = await self._route_of(request).answer(request)
        if isinstance(given, httpx.Response):
            return await _say(came, given)
        if given is Nowhere:
            self.names.known = False
        assert came.transport is not None
        came.transport.abort()
        return web.Response()


async def _say(came: web.Request, given: httpx.Response) -> web.StreamResponse:
    answer = web.StreamResponse(status=given.status_code)
    for name, value in given.headers.multi_items():
        if name not in ("content-length", "transfer-encoding"):
            answer.headers.add(name, value)
    await answer.prepare(came)
    if isinstance(given.stream, httpx.ByteStream):
        await answer.write(given.content)
    else:
        with contextlib.suppress(ConnectionError):  # nobody reads any more
            async for piece in given.stream:
                await answer.write(piece)
    await answer.write_eof()
    return answer


class Names(AbstractResolver):
    """Every name is the answering server."""

    def __init__(self) -> None:
        self.port = 0
        self.known = True

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if not self.known:
            raise OSError(8, "no such name")
        return [
            ResolveResult(
                hostname=host,
                host="127.0.0.1",
                port=self.port,
                family=socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
        ]

    async def close(self) -> None:
        """Nothing to close."""


@asynccontextmanager
async def answering() -> AsyncIterator[Answering]:
    """Run one; the token is at hand."""
    server = Answering()
    server.post(TOKEN_URL).mock(return_value=token_answer())
    runner = web.AppRunner(_application(server.handle), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.names.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()


def _application(handle: Callable[[web.Request], Any]) -> web.Application:
    application = web.Application()
    application.router.add_route("*", "/{rest:.*}", handle)
    return application


@asynccontextmanager
async def opened(
    lark: Answering | None = None, clock: MovedClock | None = None, *apps: LarkApp, timeout_s: float = 2.0
) -> AsyncIterator[LarkClient]:
    """A client that finds ``lark`` under every name."""
    names = None if lark is None else lark.names
    async with LarkClient(apps or (APP,), clock or MovedClock(), timeout_s, sleep=no_sleep, resolver=names) as client:
        yield client
