"""One gateway with two apps before a local Lark, and a chat of its own for each test of a report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx

from providers.lark_double.model import App, Chat, Message
from providers.lark_double.pusher import Push
from providers.lark_double.server import LarkDouble
from tests.support.gateway_process import GatewayProcess, GatewaySettings, toml_pairs
from tests.support.world import FINAL, WAIT_S, Peer, World, make_repository

T = TypeVar("T")

ASKER, OWNER, STRANGER = "lin", "olga", "sam"
QUESTION = "where is the class Engine defined?"
SECOND_APP = "second"
QUICK = {"http_timeout_s": 1, "retry_first_s": 0.2, "retry_max_s": 1}


@dataclass
class TwoApps(GatewaySettings):
    """Settings with a second app beside the first, and a second workspace, for owners in private."""

    def write(self) -> Path:
        super().write()
        more = {
            "name": SECOND_APP,
            "app_id": f"{self.app_id}_second",
            "app_secret": self.app_secret,
            "encrypt_key": self.encrypt_key[::-1],
            "verification_token": self.verification_token[::-1],
            "domain": self.lark_url,
        }
        vault = self.folder / "vault"
        vault.mkdir(exist_ok=True)
        (vault / "safe.py").write_text("class Safe:\n    code = 7\n", encoding="utf-8")
        owners = {"path": str(vault), "audience": "private"}
        lines = ["", "[[apps]]", *toml_pairs(more), "", "[[steward.workspaces]]", *toml_pairs(owners), ""]
        with self.config.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines))
        return self.config


@dataclass
class Home:
    """A gateway, its Lark, and who works with it."""

    world: World
    second: App
    owner_id: str
    """The owner's id, as the first app knows it."""
    peers: dict[str, Peer] = field(default_factory=dict)
    scenes: int = 0

    @property
    def lark(self) -> LarkDouble:
        return self.world.lark

    @property
    def gateway(self) -> GatewayProcess:
        return self.world.gateway

    @property
    def app(self) -> App:
        return self.world.app

    async def peer(self, name: str, *phrases: str, audience: str = "shared") -> Peer:
        """A peer, registered when it is first asked for."""
        if name not in self.peers:
            self.peers[name] = await self.world.add_peer(name, *phrases, audience=audience)
        return self.peers[name]

    async def scene(self, *, bots: Sequence[App] = (), **how: Any) -> Scene:
        """A new chat with the first app (or ``bots``) in it; ``how`` is for ``create_chat``."""
        self.scenes += 1
        chat = self.lark.create_chat(f"chat {self.scenes}", [ASKER, "mei"], list(bots) or [self.app], **how)
        return Scene(self, chat, await self._request_ids())

    async def private_scene(self, person: str) -> Scene:
        """The private chat of somebody with the first app."""
        chat = self.lark.private_chat(person, self.app)
        return Scene(self, chat, await self._request_ids())

    async def _request_ids(self) -> frozenset[str]:
        return frozenset(item["request_id"] for item in await self.gateway.inbox())

    async def pushed(self, message: Message, app: App | None = None) -> None:
        """Wait until every push of a message was answered 200."""

        def over() -> bool:
            pushes = self.lark.pushes(app, message_id=message.message_id)
            return bool(pushes) and all(push.state == "delivered" for push in pushes)

        await self.lark.wait_for(over, 20, "200 for every push")

    def event(self, message: Message, app: App | None = None) -> Push:
        """The first push that told an app of a message."""
        return self.lark.pushes(app, event_type="im.message.receive_v1", message_id=message.message_id)[0]

    async def events(self, state: str) -> list[dict[str, Any]]:
        """The events that were set aside."""
        async with self.gateway.operator() as http:
            answer = await http.get("/api/v1/events", params={"state": state, "limit": 100})
        answer.raise_for_status()
        return answer.json()["items"]

    async def show(self, item: dict[str, Any]) -> dict[str, Any]:
        """An item with its timeline."""
        async with self.gateway.operator() as http:
            answer = await http.get(f"/api/v1/inbox/{item['request_id']}")
        answer.raise_for_status()
        return answer.json()

    async def ready(self) -> httpx.Response:
        """What /readyz says."""
        async with httpx.AsyncClient(base_url=self.gateway.settings.url, trust_env=False, timeout=10) as http:
            return await http.get("/readyz")

    async def verify(self, item: dict[str, Any], *, expect: int) -> dict[str, Any]:
        """``manager-inbox verify ID --wait``, with its exit code."""
        return await self.gateway.command("inbox", "verify", item["request_id"], "--wait=20", expect=expect)


@dataclass
class Scene:
    """A chat, and the requests that are made after it was opened."""

    home: Home
    chat: Chat
    before: frozenset[str]

    @property
    def lark(self) -> LarkDouble:
        return self.home.lark

    def ask(self, text: str = QUESTION, *, who: str = ASKER, app: App | None = None, **how: Any) -> Message:
        """Somebody in the chat mentions a bot."""
        return self.lark.say(self.chat, who, text, mention=[(app or self.home.app).app_id], **how)

    def fault(self, kind: str, operations: str | Sequence[str], **how: Any) -> Any:
        """Arm a fault for this chat alone."""
        return self.lark.fault(kind, operations, chat=self.chat, **how)

    def seen(self) -> list[str]:
        """What the bots visibly said in the chat, in order."""
        return [message.text for message in self.lark.visible(self.chat, by_app=True) if not message.recalled]

    def answers(self, question: Message) -> list[str]:
        """What was visibly answered to a question."""
        return [seen.text for seen in self.lark.replies(question)]

    async def answered(self, question: Message, count: int = 1) -> list[str]:
        """The answers to a question, once there are ``count``."""
        await self.lark.wait_for(lambda: len(self.answers(question)) >= count, WAIT_S, f"{count} answers")
        return self.answers(question)

    async def items(self) -> list[dict[str, Any]]:
        """The chat's requests, oldest first."""
        return self._mine(await self.home.gateway.inbox())

    async def until(self, look: Callable[[list[dict[str, Any]]], T]) -> T:
        """What ``look`` makes of the chat's requests as soon as it is true; else it fails with how they stand."""
        try:
            return await self.home.world.inbox_until(lambda items: look(self._mine(items)))
        except TimeoutError:
            stand = [{**item, "conversation": ""} for item in await self.items()]
            raise AssertionError(f"never in {WAIT_S} s: {stand}") from None

    async def settled(self, count: int = 1) -> list[dict[str, Any]]:
        """The chat's requests, once exactly ``count`` have a settled delivery."""
        items = await self.until(
            lambda mine: mine if sum(item["delivery"]["status"] in FINAL for item in mine) >= count else []
        )
        assert len(items) == count
        return items

    async def one(self, **delivery: Any) -> dict[str, Any]:
        """The chat's only request, once its delivery has these values."""

        def look(mine: list[dict[str, Any]]) -> dict[str, Any] | None:
            assert len(mine) <= 1
            fits = mine and all(mine[0]["delivery"][name] == value for name, value in delivery.items())
            return mine[0] if fits else None

        return await self.until(look)

    def _mine(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [item for item in reversed(items) if item["request_id"] not in self.before]


async def conclude(peer: Peer, scene: Scene, text: str, **how: Any) -> dict[str, Any]:
    """Have ``peer`` carry the scene's one open request through with ``text``; the request as the peer read it."""
    item = await taken(peer, scene)
    body = {"outcome": "resolved", "text": text, **how}
    await step(peer, item, "assessment", {"assessment": "accepted"})
    await step(peer, item, "result", body)
    return item


async def taken(peer: Peer, scene: Scene) -> dict[str, Any]:
    """The scene's newest request, presented to ``peer``, as its HTTP API gives it."""
    stored = await scene.until(
        lambda mine: next((item for item in reversed(mine) if item["assignment"] == "stored"), None)
    )
    answer = await peer.http.get(f"/api/v1/peer/requests/{stored['request_id']}")
    answer.raise_for_status()
    item: dict[str, Any] = answer.json()
    await step(peer, item, "presented", {"turn": None})
    return item


async def step(peer: Peer, item: dict[str, Any], name: str, body: dict[str, Any]) -> None:
    """One write of a peer, which must succeed."""
    answer = await peer.write(
        f"/api/v1/peer/requests/{item['request_id']}/{name}",
        {"revision": item["revision"], **body},
        key=f"{item['request_id']}-{item['revision']}-{name}-{len(str(body))}",
    )
    assert answer.is_success, answer.text


@asynccontextmanager
async def house(folder: Path, *, app: dict[str, Any] | None = None, **settings: Any) -> AsyncIterator[Home]:
    """Start it all; ``app`` has keys of the first app, ``settings`` are fields of ``GatewaySettings``."""
    async with LarkDouble.start() as lark:
        lark.knobs.wall_timestamps = True
        settings["returns"] = {**QUICK, **settings.get("returns", {})}
        chosen = TwoApps(folder, lark.url, workspace=make_repository(folder / "project"), **settings)
        first = lark.app(
            chosen.app_id, chosen.app_secret, chosen.encrypt_key, chosen.verification_token, name="Steward"
        )
        second = lark.app(
            f"{chosen.app_id}_second", chosen.app_secret, chosen.encrypt_key[::-1], chosen.verification_token[::-1],
            name="Second",
        )  # fmt: skip
        lark.add_person(OWNER)
        owner_id = lark.open_id(first, OWNER)
        chosen.app = {"owners": [owner_id], **(app or {})}
        chat = lark.create_chat("lobby", [ASKER], [first])
        async with GatewayProcess(chosen, forked=True) as gateway:
            lark.set_webhook(first, f"{chosen.url}/lark/events")
            lark.set_webhook(second, f"{chosen.url}/lark/events/{SECOND_APP}")
            home = Home(World(lark, first, chat, gateway), second, owner_id)
            try:
                yield home
            finally:
                await asyncio.gather(*(peer.http.aclose() for peer in home.peers.values()))
