"""A clock that was wrong hides no message, and an app whose calls hang keeps no place from another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from returns.ids import AppName, Millis
from returns.ports import Locator, Route, Unreachable
from tests.support.operators import Desk, desk
from tests.support.returns import FakeProvider, House, ManualClock, house, route, running

HOUR_MS = 3_600_000
PLACES = 3

each_jump = pytest.mark.parametrize("ahead_ms", [185_000, HOUR_MS])


def clocks(home: Desk) -> Callable[[int], None]:
    """Give the provider a clock of its own; what moves ours alone."""
    theirs, ours = ManualClock(home.clock.now()), home.clock.move

    def move(ms: int) -> None:
        ours(ms)
        theirs.move(ms)

    home.clock.move, home.provider.clock = move, theirs
    return ours


async def found(home: Desk, request: str) -> None:
    """It is delivered, and was sent once."""
    row = await home.settle(request)
    assert (row.status, row.verification) == ("delivered", "reconciled")
    assert (len(home.provider.sends), len(home.provider.messages)) == (1, 1)


@pytest.mark.parametrize("seen", [True, False], ids=["seen_while_it_is_sent", "seen_later"])
@each_jump
async def test_a_clock_that_goes_back_during_a_send_hides_no_message(tmp_path: Path, ahead_ms: int, seen: bool) -> None:
    """By our clock the attempt lies ahead of the message, whose answer is lost."""
    async with desk(tmp_path) as home:
        ours = clocks(home)
        answered = home.provider.gates["oc_1"] = asyncio.Event()
        home.provider.faults.append("lose")
        ours(ahead_ms)
        await home.quiet()
        request = await home.answered("one")
        await home.until(lambda: home.provider.blocked == 1, step_ms=1)
        ours(-ahead_ms)
        if seen:
            await home.quiet()
        answered.set()
        await found(home, request)


@each_jump
async def test_a_clock_that_is_ahead_for_an_instant_hides_no_message(tmp_path: Path, ahead_ms: int) -> None:
    """The attempt is committed by it, and hardly a pass of the pump sees it."""
    async with desk(tmp_path) as home:
        ours, prepare, send = clocks(home), home.provider.prepare, home.provider.send

        async def prepared(app: AppName) -> object:
            ours(ahead_ms)
            return await prepare(app)

        async def sent(*call: object) -> object:
            ours(-ahead_ms)
            return await send(*call)

        home.provider.prepare, home.provider.send = prepared, sent
        home.provider.faults.append("lose")
        await found(home, await home.answered("one"))


class Hangs(FakeProvider):
    """One app's calls of a kind have no answer until they time out."""

    kind: str
    hanging: list[asyncio.Event]
    """Its calls without an answer."""
    began: list[str]
    """The apps of the calls of that kind."""

    async def send(self, route: Route, *others: object) -> object:
        await self._hang("send", route.app)
        return await super().send(route, *others)

    async def read(self, app: AppName, at: Locator) -> object:
        return Unreachable() if await self._hang("verify", app) else await super().read(app, at)

    async def list_window(self, route: Route, since: Millis, cursor: str | None) -> object:
        hung = await self._hang("search", route.app)
        return Unreachable() if hung else await super().list_window(route, since, cursor)

    async def _hang(self, kind: str, app: str) -> bool:
        """Whether it hung."""
        if kind != self.kind:
            return False
        self.began.append(app)
        if app != "mmm":
            return False
        timed_out = asyncio.Event()
        self.hanging.append(timed_out)
        await self._block(timed_out)
        return True


async def put(home: House, app: str, chats: int) -> None:
    for number in range(chats):
        if home.provider.kind == "search":
            home.provider.faults.append("lose")
        await home.put("words", to=route(f"oc_{app}_{number}", app=AppName(app)))


async def due(home: House, sends: int) -> None:
    """All was sent, where sending does not hang, and is to be read."""
    if home.provider.kind != "send":
        await home.until(lambda: len(home.provider.sends) == sends, step_ms=1)
        home.clock.move(1_000)
    await home.quiet()


@pytest.mark.parametrize("kind", ["send", "verify", "search"])
async def test_an_app_whose_calls_hang_leaves_the_next_place_to_another_one(tmp_path: Path, kind: str) -> None:
    async with house(tmp_path) as home:
        home.provider.__class__ = Hangs
        vars(home.provider).update(kind=kind, hanging=[], began=[])
        async with running(home, home.new_pump(parallel=PLACES)):
            await put(home, "mmm", 3 * PLACES)
            await due(home, 3 * PLACES)
            assert home.provider.began == ["mmm"] * PLACES
            await put(home, "zzz", 1)
            await due(home, 3 * PLACES + 1)
            assert home.provider.began == ["mmm"] * PLACES
            home.provider.hanging[0].set()
            await home.until(lambda: len(home.provider.began) > PLACES, step_ms=1)
            assert home.provider.began[PLACES] == "zzz"
            for hanging in home.provider.hanging:
                hanging.set()


async def test_a_gateway_with_a_shorter_lease_leaves_anothers_send_alone(tmp_path: Path) -> None:
    """It is started while the other one waits for the provider's answer."""
    async with house(tmp_path) as home:
        answered = home.provider.gates["oc_1"] = asyncio.Event()
        subject = await home.put("words")
        async with running(home):
            await home.until(lambda: home.provider.blocked == 1, step_ms=1)
            first = home.pump
            home.policy = replace(home.policy, lease_ms=1_000, retry_max_ms=1_000, settle_ms=1_000)
            async with running(home, home.new_pump("two")):
                await home.quiet()
                home.clock.move(100)
                await home.quiet()
                assert await home.status(subject) == "sending"
                answered.set()
                await home.until(lambda: not first._sending, step_ms=1)
                row = await home.settle(subject, step_ms=100)
        assert (row.status, row.verification, len(home.provider.sends)) == ("delivered", "direct", 1)
        assert "unknown" not in [fact for fact, _ in await home.facts(subject)]
