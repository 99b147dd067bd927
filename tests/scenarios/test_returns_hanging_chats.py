"""Chats whose messages cannot be read leave places to those whose messages can."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from returns.ids import AppName, Millis
from returns.ports import Locator, Route, Unreachable
from tests.support.returns import FakeProvider, House, house, route, running

PLACES = 8
KEPT = 2
"""A quarter of them."""


class Hangs(FakeProvider):
    """Readings of a kind have no answer in some chats until they time out."""

    kind: str
    hanging: list[asyncio.Event]
    """The readings without an answer."""

    async def read(self, app: AppName, at: Locator) -> object:
        hung = await self._hang("verify", at.chat_id)
        return Unreachable() if hung else await super().read(app, at)

    async def list_window(self, route: Route, since: Millis, cursor: str | None) -> object:
        hung = await self._hang("search", route.chat_id)
        return Unreachable() if hung else await super().list_window(route, since, cursor)

    async def _hang(self, kind: str, chat: str) -> bool:
        if kind != self.kind or not chat.startswith("oc_hangs"):
            return False
        timed_out = asyncio.Event()
        self.hanging.append(timed_out)
        await self._block(timed_out)
        return True


async def put(home: House, chat: str) -> str:
    """An answer, which is sent, and has to be read or looked for."""
    if home.provider.kind == "search":
        home.provider.faults.append("lose")
    sends = len(home.provider.sends)
    subject = await home.put("words", to=route(chat, reply_to="om_q"))
    await home.until(lambda: len(home.provider.sends) > sends, step_ms=1)
    return subject


async def time_out(home: House) -> None:
    """All that hangs, one after another."""
    hanging, home.provider.hanging = home.provider.hanging, []
    for each in hanging:
        each.set()
    await home.quiet()


async def unread(home: House, subject: str) -> bool:
    """Whether it could not be read."""
    return (await home.parts(subject))[0].error == "provider_verification_unavailable"


@pytest.mark.parametrize("kind", ["verify", "search"])
async def test_what_could_not_be_read_leaves_places_to_the_rest(tmp_path: Path, kind: str) -> None:
    async with house(tmp_path, retry_max_ms=60_000) as home:
        home.provider.__class__ = Hangs
        vars(home.provider).update(kind=kind, hanging=[])
        async with running(home, home.new_pump(parallel=PLACES)):
            hang = [await put(home, f"oc_hangs_{number}") for number in range(2 * PLACES)]
            while not all([await unread(home, each) for each in hang]):
                home.clock.move(250)
                await home.quiet()
                await time_out(home)
            home.clock.move(home.policy.retry_max_ms)  # all of them are due again
            await home.quiet()
            assert len(home.provider.hanging) == PLACES - KEPT

            others = [await put(home, f"oc_answers_{number}") for number in range(2 * KEPT)]
            for each in others:
                assert (await home.settle(each, step_ms=250)).status == "delivered"
            assert len(home.provider.hanging) == PLACES - KEPT
            await time_out(home)
            assert len(home.provider.hanging) == PLACES - KEPT, "they go on, as many at once as before"
            home.provider.kind = ""
            await time_out(home)
