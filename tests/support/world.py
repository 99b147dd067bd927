"""A local Lark with one group, and a real gateway process that answers in it."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx

from providers.lark_double.model import App, Chat, Message
from providers.lark_double.server import LarkDouble
from tests.support.gateway_process import GatewayProcess, GatewaySettings

T = TypeVar("T")

PERSON = "lin"
FINAL = {"delivered", "explicit_unverified", "undeliverable", "superseded"}
WAIT_S = 40
ADA = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2026-01-02T03:04:05Z"}


@dataclass
class Peer:
    """A peer that talks HTTP, driven by the test."""

    http: httpx.AsyncClient
    _writes: int = field(default=0)

    async def next(self) -> dict[str, Any]:
        """The oldest open request, waited for."""
        answer = await self.http.get("/api/v1/peer/requests", params={"state": "open", "wait_s": 20})
        answer.raise_for_status()
        return answer.json()["items"][0]

    async def write(
        self, path: str, body: dict[str, Any], *, key: str | None = None, method: str = "POST"
    ) -> httpx.Response:
        self._writes += 1
        headers = {"Idempotency-Key": key or f"write-{self._writes}"}
        return await self.http.request(method, path, json=body, headers=headers)

    async def conclude(self, text: str) -> dict[str, Any]:
        """Carry the oldest open request through with ``text`` as its result."""
        item = await self.next()
        path, revision = f"/api/v1/peer/requests/{item['request_id']}", item["revision"]
        for step, body in (
            ("presented", {"turn": None}),
            ("assessment", {"assessment": "accepted"}),
            ("result", {"outcome": "resolved", "text": text}),
        ):
            answer = await self.write(f"{path}/{step}", {"revision": revision, **body})
            assert answer.is_success, answer.text
        return item


@dataclass
class World:
    """What a test of the whole product acts on."""

    lark: LarkDouble
    app: App
    chat: Chat
    gateway: GatewayProcess

    def ask(self, text: str, **how: Any) -> Message:
        """A person in the group mentions the bot."""
        return self.lark.say(self.chat, PERSON, text, mention=[self.app.app_id], **how)

    async def settled(self, count: int = 1) -> list[dict[str, Any]]:
        """The inbox's items once ``count`` of them have a settled delivery."""

        def look(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
            done = [item for item in items if item["delivery"]["status"] in FINAL]
            return items if len(done) >= count else []

        return await self.inbox_until(look)

    async def inbox_until(self, look: Callable[[list[dict[str, Any]]], T]) -> T:
        """What ``look`` makes of the inbox as soon as it is true."""
        async with asyncio.timeout(WAIT_S), self.gateway.operator() as http:
            while True:
                found = look(await self.gateway.inbox(http))
                if found:
                    return found
                await asyncio.sleep(0.05)

    async def add_peer(self, name: str, *phrases: str, audience: str = "shared") -> Peer:
        """Register a peer by command, and be it."""
        options = [part for phrase in phrases or (f"{name}'s work",) for part in ("--responsibility", phrase)]
        token = (await self.gateway.command("peers", "add", name, *options, "--audience", audience))["token"]
        http = httpx.AsyncClient(
            base_url=self.gateway.settings.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=40,
            trust_env=False,
        )
        return Peer(http)


def make_repository(folder: Path) -> Path:
    """A small git repository with one known class."""
    folder.mkdir()
    (folder / "engine.py").write_text("class Engine:\n    speed = 3\n", encoding="utf-8")
    people = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in ADA.items()}
    environment = {**os.environ, **people, "GIT_CONFIG_GLOBAL": os.devnull}
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["commit", "-q", "-m", "Add the engine\n\nBecause carts are slow."],
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True, env=environment)
    return folder


@asynccontextmanager
async def world(folder: Path, **settings: Any) -> AsyncIterator[World]:
    """Start it all; ``settings`` are fields of ``GatewaySettings``."""
    async with LarkDouble.start() as lark:
        chosen = GatewaySettings(folder, lark.url, workspace=make_repository(folder / "project"), **settings)
        app = lark.app(chosen.app_id, chosen.app_secret, chosen.encrypt_key, chosen.verification_token, name="Steward")
        chat = lark.create_chat("team", [PERSON, "mei"], [app.app_id])
        async with GatewayProcess(chosen, forked=True) as gateway:
            lark.set_webhook(app, f"{chosen.url}/lark/events")
            yield World(lark, app, chat, gateway)
