"""``returns.ports.DeliveryProvider`` of one life over the simulated world."""

from __future__ import annotations

import asyncio

from returns.decisions.document import Document
from returns.decisions.fingerprint import visible
from returns.ids import AppName, Millis
from returns.ports import (
    Locator,
    MayLeave,
    ReadOutcome,
    Ready,
    Refusal,
    Refused,
    Route,
    SendOutcome,
    WindowOutcome,
)
from tests.simulation.database import Point
from tests.simulation.loop import Life
from tests.simulation.world import World

LIMIT_BYTES = 30_000


class Watch:
    """Hears what a life does at the provider, at the instant in which it happens. This one does not care."""

    def sends(self, life: Life, route: Route, document: Document, key: str) -> None:
        """The first byte leaves now."""

    def heard(self, life: Life, key: str, outcome: SendOutcome) -> None:
        """The life has the answer."""

    def reads(self, life: Life, locator: Locator) -> None:
        """A message is read now."""

    def was_read(self, life: Life, locator: Locator, outcome: ReadOutcome, deed: str) -> None:
        """This was shown."""

    def was_listed(
        self, life: Life, route: Route, since: int, cursor: str | None, outcome: WindowOutcome, deed: str
    ) -> None:
        """This was shown."""


class SimProvider:
    """Every method is a scheduling point before and after its effect."""

    def __init__(self, world: World, life: Life, point: Point, watch: Watch | None = None) -> None:
        self._world = world
        self._life = life
        self._point = point
        self._watch = watch or Watch()

    @property
    def limit_bytes(self) -> int:
        """As the real one: a small multiple of what histories send."""
        return LIMIT_BYTES

    def measure(self, document: Document) -> int:
        """Bytes of what is visible, and something around it."""
        return 200 + len(visible(document).encode())

    async def prepare(self, app: AppName) -> Ready | Refused:
        """A token, which is mostly at hand."""
        await self._point("prepare.before")
        deed, _, argument = self._world.script.prepare().partition(":")
        match deed:
            case "offline":
                answer: Ready | Refused = Refused(Refusal.OFFLINE)
            case "limit":
                answer = Refused(Refusal.RATE_LIMITED, None, int(argument))
            case "refuse":
                answer = Refused(Refusal(argument))
            case _:
                offline = self._world.now < self._world.offline_until
                answer = Refused(Refusal.OFFLINE) if offline else Ready()
        await self._point("prepare.after")
        return answer

    async def send(self, route: Route, document: Document, key: str, may_leave: MayLeave = lambda: True) -> SendOutcome:
        """One request."""
        await self._point("send.before")
        if not may_leave():
            return Refused(Refusal.OFFLINE)
        self._watch.sends(self._life, route, document, key)
        outcome = await self._world.send(route, document, key)
        await self._point("send.after")
        self._watch.heard(self._life, key, outcome)
        return outcome

    async def read(self, app: AppName, locator: Locator) -> ReadOutcome:
        """One message as it is when the request arrives."""
        await self._point("look.before")
        self._watch.reads(self._life, locator)
        outcome, deed = self._world.read(locator.message_id)
        self._watch.was_read(self._life, locator, outcome, deed)
        await self._on_the_way()
        await self._point("look.after")
        return outcome

    async def list_window(self, route: Route, since: Millis, cursor: str | None) -> WindowOutcome:
        """One page as it is when the request arrives."""
        await self._point("list.before")
        outcome, deed = self._world.page(route, since, cursor)
        self._watch.was_listed(self._life, route, since, cursor, outcome, deed)
        await self._on_the_way()
        await self._point("list.after")
        return outcome

    async def _on_the_way(self) -> None:
        ms = self._world.script.latency_ms()
        if ms:
            await asyncio.sleep(ms / 1000)
        self._life.check()
