"""A load balancer of the tests' own: each request goes to the next gateway; one that is not there is passed over."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

HOP = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})


class Balancer:
    """Listens on loopback and passes on to ``targets`` in turn; with ``copies`` 2 each push to two of them at once."""

    def __init__(self, targets: Sequence[str], *, within_s: float) -> None:
        self._targets = list(targets)
        self._within_s = within_s
        self._next = 0
        self.copies = 1
        self.url = ""
        self.passed_on: dict[str, int] = dict.fromkeys(targets, 0)
        """How many requests each gateway answered."""

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=8 * 1024 * 1024)
        application.router.add_route("*", "/{rest:.*}", self._pass_on)
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True), cookie_jar=aiohttp.DummyCookieJar()
        )
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()
        await self._client.close()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        copies = self.copies if request.path.startswith("/lark/events") else 1
        answers = await asyncio.gather(*(self._send(request, body) for _ in range(copies)))
        return next((each for each in answers if each.status == 200), answers[0])

    async def _send(self, request: web.Request, body: bytes) -> web.Response:
        for _ in self._targets:
            target = self._targets[self._next % len(self._targets)]
            self._next += 1
            try:
                return await self._ask(target, request, body)
            except aiohttp.ClientConnectorError:
                continue
            except (aiohttp.ClientError, TimeoutError):
                return web.Response(status=504)
        return web.Response(status=503)

    async def _ask(self, target: str, request: web.Request, body: bytes) -> web.Response:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        limit = aiohttp.ClientTimeout(total=self._within_s)
        async with self._client.request(
            request.method, f"{target}{request.path_qs}", data=body or None, headers=headers, timeout=limit
        ) as answer:
            content = await answer.read()
            self.passed_on[target] += 1
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP}
            return web.Response(status=answer.status, body=content, headers=kept)
