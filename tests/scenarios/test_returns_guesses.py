"""Operators name messages for answers whose words others have as well: a guess never comes before what Lark says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from manager.decisions.operators import Found
from returns.ports import Missing, Unknown
from tests.support.operators import Desk, desk
from tests.support.returns import FakeProvider, Sent, route, running

SAME = route(thread="omt_1")
UNPROVED = "explicit_unverified"


async def never_arrived(home: Desk) -> str:
    """An answer that is looked for in vain."""
    home.provider.faults.append(Unknown("timeout"))
    request = await home.question()
    await home.put("same", subject=request, to=SAME)
    assert (await home.settle(request)).error == "no_match_found"
    return request


async def under_way(home: Desk) -> tuple[str, Sent, asyncio.Event]:
    """An answer that Lark has, and of which nothing was heard yet: it is when the event is set."""
    answered = asyncio.Event()
    home.provider.faults.append(answered)
    request = await home.question()
    await home.put("same", subject=request, to=SAME)
    await home.until(lambda: home.provider.blocked == 1, step_ms=1)
    return request, home.provider.messages[-1], answered


@pytest.mark.parametrize("others", [0, 1, 2])
async def test_a_guess_waits_for_a_send_whose_message_it_could_be(tmp_path: Path, others: int) -> None:
    """However many equal answers are unproved besides."""
    async with desk(tmp_path) as home:
        first = await never_arrived(home)
        for _ in range(others):
            await never_arrived(home)
        second, message, answered = await under_way(home)
        reads = home.provider.reads
        await home.act(first, Found(message.message_id))
        await home.until(lambda: home.provider.reads > reads, step_ms=100)
        await home.quiet()
        assert (await home.answer(first)).status == "verification_required"
        answered.set()
        assert (await home.settle(second)).status == "delivered"
        row = await home.settle(first)
        assert (row.status, row.error) == (UNPROVED, "provider_delivery_mismatch")


async def test_two_guesses_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        requests = []
        for _ in range(2):
            home.provider.faults.append("lose")
            request = await home.question()
            await home.put("same", subject=request, to=SAME)
            requests.append(request)
        for request in requests:
            assert (await home.settle(request)).error == "ambiguous_match"
        for request, message in zip(requests, home.provider.messages, strict=True):
            await home.act(request, Found(message.message_id))
        for request in requests:
            assert (await home.settle(request)).status == "delivered"


class Hides(FakeProvider):
    """Its messages cannot be read yet."""

    async def read(self, app: object, at: object) -> object:
        return Missing()


async def test_what_could_not_be_proved_is_read_again_when_lark_confirms_it(tmp_path: Path) -> None:
    """An operator names the message of a send that stands still, before it can be read; then the send goes on."""
    async with desk(tmp_path) as home:
        request, message, answered = await under_way(home)
        message.hidden_until = 2**60
        first = home.pump
        async with running(home, home.new_pump("two")):
            assert (await home.settle(request)).error == "no_match_found"
            home.provider.__class__ = Hides
            await home.act(request, Found(message.message_id))
            assert (await home.settle(request)).error == "provider_message_missing"
            home.provider.__class__ = FakeProvider
            answered.set()
            await home.until(lambda: not first._sending, step_ms=1)
            row = await home.settle(request)
        assert (row.status, row.verification) == ("delivered", "direct")
        located = [detail["source"] for fact, detail in await home.facts(request) if fact == "located"]
        assert located == ["operator", "direct"]
