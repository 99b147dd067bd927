"""A part that waits for what it repeats to be read keeps its own answer waiting, and nobody else of its chat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from manager.decisions.operators import Resend
from returns.ids import PartId
from returns.ledger.locators import Source, learn
from returns.ports import Missing, Refusal, Refused, Unreachable
from tests.support.operators import Desk, desk
from tests.support.returns import locator, route

FAR = 2**60


async def resent(home: Desk) -> str:
    """An answer that was not found, whose resend was refused for a moment."""
    home.provider.faults += ["lose", Refused(Refusal.RATE_LIMITED, retry_after_ms=5_000)]
    request = await home.question()
    await home.put("one", subject=request, to=route(reply_to="om_q1"))
    await home.until(lambda: bool(home.provider.messages), step_ms=1)
    home.provider.messages[0].hidden_until = FAR
    assert (await home.settle(request)).error == "no_match_found"
    assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
    await home.until(lambda: len(home.provider.sends) == 2, step_ms=1)
    return request


@pytest.mark.parametrize("there", [True, False])
async def test_others_of_the_chat_go_on(tmp_path: Path, there: bool) -> None:
    async with desk(tmp_path) as home:
        request = await resent(home)
        message, real, unread = home.provider.messages[0], home.provider.read, True

        async def read(app: Any, at: Any) -> object:
            if at.message_id != message.message_id:
                return await real(app, at)
            return Unreachable() if unread else await real(app, at) if there else Missing()

        home.provider.read = read
        first: PartId = (await home.parts(request))[0].part_id
        at = locator(message)
        now = home.clock.now()
        await home.transactions.run(lambda c: learn(c, first, at, Source.DIRECT, now))  # Lark's late answer
        other = await home.question()
        await home.put("two", subject=other, to=route(reply_to="om_q2"))
        assert (await home.settle(other)).status == "delivered"
        assert len(home.provider.sends) == 3
        unread = False
        home.provider.read = read
        row = await home.settle(request)
        assert row.status == "delivered"
        await home.quiet()
        assert len(home.provider.sends) == (3 if there else 4), "sent anew only where it is not there"
