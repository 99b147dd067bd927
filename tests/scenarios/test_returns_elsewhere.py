"""Several gateways that differ in their apps or credentials: what one cannot do is left to the one that can."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from returns.ids import AppName
from returns.ports import Ready, Refusal, Refused
from returns.service.speaking import Speaking
from tests.support.returns import APP, POLICY, FakeProvider, House, WatchedPump, house, route, running

NEW = AppName("new")
LEASE_MS = POLICY.lease_ms
REFUSED = ("retry_pending", "provider_rejected", True)


class Among(FakeProvider):
    """The provider as one gateway reaches it: it has the token of some apps only."""

    tokens: set[AppName]

    async def prepare(self, app: AppName) -> Ready | Refused:
        self.prepares += 1
        return Ready() if app in self.tokens else Refused(Refusal.CONFIGURATION)


@dataclass
class Gateway:
    """One of several."""

    provider: Among
    speaking: Speaking
    pump: WatchedPump


def gateway(home: House, owner: str, apps: set[AppName], tokens: set[AppName] | None = None) -> Gateway:
    """It is configured for ``apps``, and the provider takes its credentials for ``tokens``."""
    provider = Among(home.clock)
    provider.tokens = apps if tokens is None else tokens
    speaking = Speaking(home.transactions, provider, home.clock, owner, apps, LEASE_MS)
    pump = WatchedPump(home.transactions, provider, home.authority, home.clock, home.policy, owner, speaking=speaking)
    return Gateway(provider, speaking, pump)


@asynccontextmanager
async def at_work(home: House, one: Gateway) -> AsyncIterator[None]:
    """The gateway is the one that runs."""
    home.provider = one.provider
    async with running(home, one.pump):
        yield


async def shown(home: House, subject: str) -> tuple[str, str | None, bool]:
    row = await home.answer(subject)
    return row.status, row.error, bool(row.needs_operator)


async def test_an_app_that_is_not_configured_here_is_left_to_who_has_it(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        without, has = gateway(home, "without", {APP}), gateway(home, "has", {APP, NEW})
        await without.speaking.say()
        await has.speaking.say()
        theirs = await home.put("for the new app", to=route(app=NEW))
        own = await home.put("for both", to=route("oc_2"))
        async with at_work(home, without):
            await home.settle(own)
        assert (await shown(home, theirs), without.provider.prepares) == (("queued", None, False), 1)
        async with at_work(home, has):
            assert (await home.settle(theirs)).status == "delivered"


async def test_an_app_that_nobody_has_says_so_and_goes_on_with_who_has_it(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        without, has = gateway(home, "without", {APP}), gateway(home, "has", {APP, NEW})
        await without.speaking.say()
        await has.speaking.say()
        home.clock.move(LEASE_MS)  # it is gone for a lease by now
        await without.speaking.say()
        subject = await home.put("for the new app", to=route(app=NEW))
        async with at_work(home, without):
            await home.quiet()
        assert await shown(home, subject) == REFUSED
        assert (await home.parts(subject))[0].due_at > home.clock.now() + POLICY.retry_max_ms / 2
        await has.speaking.say()
        async with at_work(home, without):
            await home.quiet()
        assert without.provider.prepares == 1
        async with at_work(home, has):
            await home.quiet()  # at once
            assert len(has.provider.sends) == 1
            assert (await home.settle(subject)).status == "delivered"


async def test_what_cannot_be_read_here_is_read_by_who_can(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        without, has = gateway(home, "without", {APP}), gateway(home, "has", {APP, NEW})
        await without.speaking.say()
        await has.speaking.say()
        subject = await home.put("for the new app", to=route(app=NEW))
        async with at_work(home, has):
            await home.quiet()
        home.clock.move(POLICY.readback_delay_ms)
        async with at_work(home, without):
            await home.quiet()
        assert without.provider.reads == 0
        async with at_work(home, has):
            assert (await home.settle(subject)).status == "delivered"


async def test_a_secret_that_is_wrong_at_one_gateway_puts_nothing_off_for_the_other(tmp_path: Path) -> None:
    """Neither the part that it comes upon first, nor those after it."""
    async with house(tmp_path) as home:
        wrong, right = gateway(home, "wrong", {APP}, tokens=set()), gateway(home, "right", {APP})
        await wrong.speaking.say()
        await right.speaking.say()
        subjects = [await home.put("words", to=route(f"oc_{number}")) for number in range(3)]
        async with at_work(home, wrong):
            await home.quiet()
            asked = wrong.provider.prepares
            await home.quiet()
            assert wrong.provider.prepares == asked <= 3
        assert {await shown(home, subject) for subject in subjects} == {("queued", None, False)}
        async with at_work(home, right):
            assert {(await home.settle(subject)).status for subject in subjects} == {"delivered"}


async def test_a_secret_that_is_wrong_everywhere_is_told(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        one, two = (gateway(home, owner, {APP}, tokens=set()) for owner in ("one", "two"))
        await one.speaking.say()
        await two.speaking.say()
        subject = await home.put("words")
        for each in (one, two):
            async with at_work(home, each):
                await home.quiet()
        assert await shown(home, subject) == REFUSED


async def test_a_gateway_that_may_speak_again_goes_on_at_once(tmp_path: Path) -> None:
    """It asks for its credentials from time to time, by itself."""
    async with house(tmp_path) as home:
        alone = gateway(home, "alone", {APP}, tokens=set())
        subject = await home.put("words")
        await alone.speaking.say()
        async with at_work(home, alone):
            await home.quiet()
            assert await shown(home, subject) == REFUSED
            alone.provider.tokens = {APP}
            await alone.speaking.ask(APP)
            await home.quiet()
            assert len(alone.provider.sends) == 1
            assert (await home.settle(subject)).status == "delivered"
