"""A local Lark with a few chats, and a gateway that is started and killed many times."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from providers.lark_double.model import App, Chat, Message, UuidRepeat
from providers.lark_double.server import LarkDouble
from tests.soak.counts import Counts
from tests.soak.questions import CLASSES, Kind, Question, make_workspace, words
from tests.support.gateway_process import GatewayProcess, GatewaySettings

REPUSH_AFTER_S = (2.0, 3.0, 5.0, *(8.0,) * 20)
"""Lark's four re-pushes come after 15 s, 5 min, 1 h and 6 h; here they are shorter, and more, because here the gateway
is gone for most of the time."""

QUICK = {
    "readback_delay_s": 0.05,
    "settle_s": 2,
    "lease_s": 2,
    "http_timeout_s": 1,
    "retry_first_s": 0.1,
    "retry_max_s": 0.5,
}
STEWARD = {"lease_s": 2}
START_WITHIN_S = 150.0
PEOPLE = ("lin", "mei", "noor", "ola")


@dataclass
class Place:
    """A conversation: a chat, or a thread in it."""

    chat: Chat
    root: Message | None


@dataclass
class Town:
    """Everything that a run acts on."""

    lark: LarkDouble
    app: App
    gateway: GatewayProcess
    dice: random.Random
    counts: Counts
    places: list[Place]
    asked: list[Question] = field(default_factory=list)

    def ask(self, kind: Kind, *, place: Place | None = None, number: int | None = None, but: str = "") -> Question:
        """Somebody (not ``but``) asks somewhere; two questions with one number have the same words."""
        where = place or self.dice.choice(self.places)
        number = len(self.asked) % CLASSES if number is None else number
        message = self.lark.say(
            where.chat,
            self.dice.choice([person for person in PEOPLE if person != but]),
            words(kind, number),
            mention=[self.app.app_id],
            reply_to=where.root,
            in_thread=where.root is not None,
        )
        question = Question(number, kind, message)
        self.asked.append(question)
        return question

    def acknowledged(self, question: Question) -> bool:
        """Whether Lark has read a 200 for the question's event."""
        return any(push.state == "delivered" for push in self.lark.pushes(message_id=question.message_id))

    async def ready(self, within_s: float) -> bool:
        """Wait for the gateway's own word; False when it did not come in time."""
        try:
            async with asyncio.timeout(within_s):
                while True:
                    with suppress(TimeoutError):
                        await self.gateway.ready()
                        return True
        except TimeoutError:
            return False

    async def start(self) -> None:
        """Start the gateway, on a machine that may be very busy."""
        await self.gateway.begin()
        if not await self.ready(START_WITHIN_S):
            raise AssertionError(f"the gateway is not ready after {START_WITHIN_S} s:\n{self.gateway.output()}")

    async def items(self) -> dict[str, dict[str, Any]]:
        """The whole inbox, page by page, by request."""
        found: dict[str, dict[str, Any]] = {}
        async with self.gateway.operator() as http:
            cursor: str | None = None
            while True:
                params: dict[str, str | int] = {"limit": 100} | ({"cursor": cursor} if cursor else {})
                answer = await http.get("/api/v1/inbox", params=params)
                answer.raise_for_status()
                page = answer.json()
                found |= {item["request_id"]: item for item in page["items"]}
                cursor = page["next_cursor"]
                if cursor is None:
                    return found

    async def peer(self, name: str) -> httpx.AsyncClient:
        """Register a peer and be it."""
        arguments = ("peers", "add", name, "--responsibility", "telling stories", "--audience", "shared")
        token = (await self.gateway.command(*arguments))["token"]
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.AsyncClient(base_url=self.gateway.settings.url, headers=headers, timeout=10, trust_env=False)


@asynccontextmanager
async def town(folder: Path, counts: Counts, database_url: str = "", **returns: object) -> AsyncIterator[Town]:
    """Start it all; the gateway is not started yet."""
    dice = random.Random(counts.seed)
    async with LarkDouble.start() as lark:
        lark.knobs.repush_after_s = REPUSH_AFTER_S
        lark.knobs.uuid_repeat = UuidRepeat.IGNORED  # Lark forgives nothing: sent twice is seen twice
        settings = GatewaySettings(
            folder,
            lark.url,
            workspace=make_workspace(folder / "project"),
            port=quiet_port(dice),
            returns={**QUICK, **returns},
            steward=STEWARD,
            gateway={"database_url": database_url} if database_url else {},
        )
        settings.write()
        app = lark.app(settings.app_id, settings.app_secret, settings.encrypt_key, settings.verification_token)
        lark.set_webhook(app, f"{settings.url}/lark/events")
        places = [Place(lark.create_chat(f"chat {number}", PEOPLE, [app]), None) for number in range(4)]
        places += [Place(place.chat, lark.say(place.chat, "lin", "a topic")) for place in places[:2]]
        gateway = GatewayProcess(settings)
        try:
            yield Town(lark, app, gateway, dice, counts, places)
        finally:
            if gateway._process is not None:
                await gateway.kill()


def quiet_port(dice: random.Random) -> int:
    """A loopback port that no outgoing connection takes while the gateway is down."""
    start = time.monotonic_ns() % 10_000 + dice.randrange(1_000)
    for offset in range(1_000):
        port = 20_000 + (start + offset) % 11_000
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no free port")


async def pause(seconds: float, until: float) -> bool:
    """Wait, but not beyond ``until`` on the monotonic clock; False when that is reached."""
    left = until - time.monotonic()
    await asyncio.sleep(max(0.0, min(seconds, left)))
    return seconds < left
