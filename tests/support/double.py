"""Helpers around the local Lark: a caller of its API, a webhook that writes down what it gets, the control API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
from aiohttp import web

from providers.lark_double.changes import Changes
from providers.lark_double.envelope import decrypt
from providers.lark_double.server import LarkDouble

APP_ID = "cli_test00000000000a"
OTHER_APP_ID = "cli_test00000000000b"
SECRET = "secret-of-the-test-app"
ENCRYPT_KEY = "test-encrypt-key-0123456789abcdef"
TOKEN = "verification-token-1"


@asynccontextmanager
async def running(**options: object) -> AsyncGenerator[LarkDouble]:
    """A double with one app and one chat, ``dev``, that alice and the bot are in."""
    async with LarkDouble.start(**options) as double:
        double.app(APP_ID, SECRET, ENCRYPT_KEY, TOKEN)
        double.create_chat("dev", ["alice"], [APP_ID])
        yield double


@dataclass
class Caller:
    """Calls the open API as one app, with a plain client that repeats nothing."""

    http: httpx.AsyncClient
    app_id: str = APP_ID
    secret: str = SECRET
    token: str = ""

    async def login(self) -> dict:
        path = "/open-apis/auth/v3/tenant_access_token/internal"
        answer = (await self.http.post(path, json={"app_id": self.app_id, "app_secret": self.secret})).json()
        self.token = answer.get("tenant_access_token", "")
        return answer

    async def call(self, method: str, path: str, **options: object) -> httpx.Response:
        if not self.token:
            await self.login()
        headers = {"Authorization": f"Bearer {self.token}"}
        return await self.http.request(method, f"/open-apis{path}", headers=headers, **options)

    async def send(
        self, chat_id: str, text: str = "hello", *, uuid: str | None = None, **fields: object
    ) -> httpx.Response:
        body = {"receive_id": chat_id, "msg_type": "text", "content": json.dumps({"text": text}), **fields}
        if uuid is not None:
            body["uuid"] = uuid
        return await self.call("POST", "/im/v1/messages", params={"receive_id_type": "chat_id"}, json=body)

    async def reply(self, message_id: str, text: str = "answer", **fields: object) -> httpx.Response:
        body = {"msg_type": "text", "content": json.dumps({"text": text}), **fields}
        return await self.call("POST", f"/im/v1/messages/{message_id}/reply", json=body)

    async def get(self, message_id: str, **params: object) -> httpx.Response:
        return await self.call("GET", f"/im/v1/messages/{message_id}", params=params)

    async def list(self, container_id: str, container: str = "chat", **params: object) -> httpx.Response:
        query = {"container_id_type": container, "container_id": container_id, **params}
        return await self.call("GET", "/im/v1/messages", params=query)


@asynccontextmanager
async def calling(double: LarkDouble, app_id: str = APP_ID, secret: str = SECRET) -> AsyncGenerator[Caller]:
    """A caller of the double's API."""
    async with httpx.AsyncClient(base_url=double.url, timeout=20, trust_env=False) as http:
        yield Caller(http, app_id, secret)


async def control(url: str, action: str, /, **body: object) -> object:
    """Drive a double in another process; ``url`` is its address or its control address."""
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
        response = await http.post(f"{url}/_control/{action}", json=body)
    answer = response.json()
    if response.status_code != 200:
        raise AssertionError(f"{action}: {answer['error']}")
    return answer["result"]


@dataclass
class Received:
    """A push as it came over the wire."""

    headers: dict[str, str]
    body: bytes

    def payload(self, encrypt_key: str = ENCRYPT_KEY) -> dict:
        sealed = json.loads(self.body)
        return json.loads(decrypt(sealed["encrypt"], encrypt_key)) if "encrypt" in sealed else sealed


Answer = Callable[[Received], Awaitable[web.Response]]


async def ok(_received: Received) -> web.Response:
    """The usual answer."""
    return web.json_response({"msg": "success"})


@dataclass
class Sink:
    """A webhook that keeps what it gets."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answer: Answer = ok
    changes: Changes = field(default_factory=Changes)
    held: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.Response:
        got = Received(dict(request.headers), await request.read())
        self.received.append(got)
        self.changes.ring()
        return await self.answer(got)

    async def wait(self, count: int, timeout_s: float = 10.0) -> list[Received]:
        """What came, once there are ``count``."""
        await self.changes.until(lambda: len(self.received) >= count, timeout_s, f"{count} pushes")
        return self.received


@asynccontextmanager
async def sink() -> AsyncGenerator[Sink]:
    """A webhook on a free port."""
    it = Sink()
    application = web.Application()
    application.router.add_post("/lark/events", it.handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    it.url = f"http://127.0.0.1:{runner.addresses[0][1]}/lark/events"
    try:
        yield it
    finally:
        it.held.set()
        await runner.cleanup()
