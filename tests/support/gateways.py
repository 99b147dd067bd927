"""Several real gateways of one app over one PostgreSQL, behind a load balancer, with a local Lark as the judge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from providers.lark_double.model import App, Chat, Message, UuidRepeat
from providers.lark_double.server import LarkDouble
from tests.support.balancer import Balancer
from tests.support.gateway_process import GatewayProcess, GatewaySettings
from tests.support.tunnel import Tunnel
from tests.support.world import FINAL, PERSON, Peer, make_repository

T = TypeVar("T")

TOKEN = "one-operator-token-of-all-gateways"
LEASE_S = 3.0
WAIT_S = 90
PUSH_S = 1.5
AGAIN_AFTER_S = 0.5
LIMIT_CODES = (99991400, 230020)
"""Too many calls of an app, too many messages into a chat: Lark's answers to who does not pace itself."""


@dataclass
class Gateways:
    """All of it. Each gateway has a folder, a port and a way to the database of its own."""

    lark: LarkDouble
    app: App
    chat: Chat
    each: list[GatewayProcess]
    ways: list[Tunnel]
    balancer: Balancer
    asked: list[Message] = field(default_factory=list)

    def ask(self, text: str, chat: Chat | None = None, **how: Any) -> Message:
        """A person mentions the bot."""
        message = self.lark.say(chat or self.chat, PERSON, text, mention=[self.app.app_id], **how)
        self.asked.append(message)
        return message

    def operator(self, gateway: GatewayProcess | None = None) -> httpx.AsyncClient:
        """The operator's client of one gateway, or through the balancer."""
        url = self.balancer.url if gateway is None else gateway.settings.url
        return httpx.AsyncClient(
            base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False, timeout=10
        )

    async def inbox(self, gateway: GatewayProcess) -> list[dict[str, Any]]:
        """All requests, oldest first, as one gateway shows them."""
        items: list[dict[str, Any]] = []
        cursor: str | None = None
        async with self.operator(gateway) as http:
            while True:
                query = {"limit": 100, **({} if cursor is None else {"cursor": cursor})}
                page = await patiently(http, "/api/v1/inbox", query)
                items += page["items"]
                cursor = page["next_cursor"]
                if cursor is None:
                    return items[::-1]

    async def settled(self, gateway: GatewayProcess, count: int) -> list[dict[str, Any]]:
        """The inbox once ``count`` requests have a settled delivery."""
        async with asyncio.timeout(WAIT_S):
            while True:
                items = await self.inbox(gateway)
                if sum(item["delivery"]["status"] in FINAL for item in items) >= count:
                    return items
                await asyncio.sleep(0.1)

    async def timeline(self, gateway: GatewayProcess, request: str) -> list[str]:
        """The names of a request's facts, in order."""
        async with self.operator(gateway) as http:
            shown = await patiently(http, f"/api/v1/inbox/{request}")
            return [fact["fact"] for fact in shown["timeline"]]

    async def add_peer(self, name: str, through: GatewayProcess | None = None) -> Peer:
        """Register a peer by a command, and be it, at one gateway or through the balancer."""
        made = await self.each[-1].command("peers", "add", name, "--responsibility", f"{name}'s work")
        url = self.balancer.url if through is None else through.settings.url
        headers = {"Authorization": f"Bearer {made['token']}"}
        return Peer(httpx.AsyncClient(base_url=url, headers=headers, timeout=40, trust_env=False))


async def patiently(http: httpx.AsyncClient, path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The JSON there, as soon as the database answers in time: 503 is what a gateway says until then."""
    async with asyncio.timeout(WAIT_S):
        while True:
            answer = await http.get(path, params=query)
            if answer.status_code != 503:
                answer.raise_for_status()
                return answer.json()
            await asyncio.sleep(0.2)


async def until(look: Callable[[], Any], what: str = "") -> Any:
    """Wait for a fact; ``look`` may be a coroutine function."""
    async with asyncio.timeout(WAIT_S):
        while True:
            found = look()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.05)


@asynccontextmanager
async def gateways(
    folder: Path,
    database_url: str,
    count: int,
    *,
    returns: Mapping[str, object] | None = None,
    steward: Mapping[str, object] | None = None,
) -> AsyncIterator[Gateways]:
    """Start so many."""
    async with AsyncExitStack() as stack:
        lark = await stack.enter_async_context(LarkDouble.start())
        lark.knobs.uuid_repeat = UuidRepeat.IGNORED  # Lark forgives nothing: what is sent twice is seen twice
        lark.knobs.repush_after_s = (AGAIN_AFTER_S,) * 100
        lark.knobs.push_timeout_s = PUSH_S
        workspace = make_repository(folder / "project")
        port = urlsplit(database_url).port
        assert port is not None
        ways = [await stack.enter_async_context(Tunnel(port)) for _ in range(count)]
        each: list[GatewayProcess] = []
        for number, way in enumerate(ways):
            own = folder / f"gateway-{number}"
            own.mkdir()
            settings = GatewaySettings(
                own,
                lark.url,
                workspace=workspace,
                gateway={"database_url": database_url.replace(f":{port}/", f":{way.port}/"), "operator_token": TOKEN},
                returns={"lease_s": LEASE_S, **(returns or {})},
                steward={"lease_s": LEASE_S, **(steward or {})},
            )
            settings.write()
            each.append(GatewayProcess(settings, forked=True))
        app = lark.app(
            settings.app_id, settings.app_secret, settings.encrypt_key, settings.verification_token, name="Steward"
        )
        chat = lark.create_chat("team", [PERSON, "mei"], [app.app_id])
        for gateway in each:
            stack.push_async_callback(gateway.stop)
        await asyncio.gather(*(gateway.begin() for gateway in each))  # together, on an empty database
        await asyncio.gather(*(gateway.ready(WAIT_S) for gateway in each))
        balancer = await stack.enter_async_context(
            Balancer([gateway.settings.url for gateway in each], within_s=PUSH_S)
        )
        lark.set_webhook(app, f"{balancer.url}/lark/events")
        yield Gateways(lark, app, chat, each, ways, balancer)
