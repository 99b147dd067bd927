"""A part that was put back behind another one goes on as soon as that one has left its place, however it left."""

from __future__ import annotations

import asyncio
from pathlib import Path

from returns.ports import Refusal, Refused
from tests.support.returns import house, route, running


async def test_behind_one_that_was_under_way_and_is_refused(tmp_path: Path) -> None:
    """The second part of an answer becomes the first of its chat while a later answer is being sent."""
    async with house(tmp_path) as home:
        gate, chat = asyncio.Event(), route("oc_1")
        first = await home.put("one", "two", to=chat)
        async with running(home):

            async def sent() -> bool:
                return (await home.parts(first))[0].state == "verification_required"

            await home.until(sent, step_ms=1)
            second = await home.put("three", to=chat)
            home.provider.gates["oc_1"] = gate
            home.provider.faults = [Refused(Refusal.RATE_LIMITED, chat_only=True, retry_after_ms=1000)]
            await home.until(lambda: home.provider.blocked == 1, step_ms=1)

            async def put_back() -> bool:
                return (await home.parts(first))[0].state == "delivered"

            await home.until(put_back, step_ms=50)
            await home.quiet()
            assert (await home.parts(first))[1].due_at > home.clock.now()
            del home.provider.gates["oc_1"]
            gate.set()
            begun = home.clock.now()

            async def done() -> bool:
                return {await home.status(first), await home.status(second)} == {"delivered"}

            await home.until(done, step_ms=250)
            assert home.clock.now() - begun < 15_000
