"""A server for the events benchmark: ``python -m tests.bench.event_server MODE FOLDER``; prints its port.

``ledger``: the gateway's webhook over the real ledger. ``bare``: the same webhook, nothing stored. ``official``:
lark-oapi's dispatcher in the same server, nothing stored.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from aiohttp import web

from gateway.http.metrics import Metrics, metrics_middleware
from gateway.http.server import HttpServer
from gateway.migrations import SCRIPTS
from gateway.system import Ids, SystemClock
from gateway.webhook.handler import Webhook, WebhookApp
from manager.decisions.inbound import Inbound
from manager.decisions.policy import AppPolicy, StewardPolicy
from manager.ids import OpenId
from manager.service.receiving import Acceptance, Receiving
from providers.storage.migrate import sqlite_url, upgrade
from providers.storage.sqlite import SqliteTransactions
from returns.ids import AppName

APP, APP_ID, KEY, TOKEN, BOT = AppName("default"), "cli_bench", "bench-encrypt-key", "bench-token", OpenId("ou_bot")


def policy() -> StewardPolicy:
    apps: Mapping[AppName, AppPolicy] = {APP: AppPolicy(APP_ID, frozenset(), "mentioned", "owners")}
    return StewardPolicy(600_000, 900_000, 30_000, 8, apps)


async def own_id(_app: AppName) -> OpenId | None:
    return BOT


async def nothing(_event: Inbound, _body: str) -> Acceptance:
    return Acceptance.NEW


async def serve_webhook(accept: Callable[[Inbound, str], Awaitable[Acceptance]]) -> None:
    metrics = Metrics()
    webhook = Webhook({APP: WebhookApp(APP, APP_ID, KEY, TOKEN)}, accept, SystemClock(), metrics)
    await listen(webhook.routes(), metrics)


async def serve_official() -> None:
    import lark_oapi as lark
    from lark_oapi.core.model import RawRequest

    handler = (
        lark.EventDispatcherHandler.builder(KEY, TOKEN).register_p2_im_message_receive_v1(lambda _event: None).build()
    )

    async def receive(request: web.Request) -> web.StreamResponse:
        raw = RawRequest()
        raw.uri, raw.body, raw.headers = request.path, await request.read(), request.headers
        answer = handler.do(raw)
        return web.Response(status=answer.status_code or 500, body=answer.content)

    await listen([web.post("/lark/events", receive)], Metrics())


async def listen(routes: list[web.RouteDef], metrics: Metrics) -> None:
    async with HttpServer(routes, "127.0.0.1", 0, [metrics_middleware(metrics)]) as server:
        print(server.port, flush=True)
        await asyncio.Event().wait()


async def main(mode: str, folder: Path) -> None:
    if mode == "official":
        await serve_official()
    elif mode == "bare":
        await serve_webhook(nothing)
    else:
        path = folder / "steward.db"
        upgrade(sqlite_url(path), SCRIPTS)
        async with SqliteTransactions(path) as transactions:
            await serve_webhook(Receiving(transactions, SystemClock(), Ids().new, policy(), own_id).accept)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
