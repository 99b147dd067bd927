"""What came for an app that this gateway does not speak for: left to who does, and kept where nobody does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gateway.inbox.asking import asking
from gateway.inbox.reading import show_request
from manager.ledger import tables
from manager.ports import Gone
from manager.service.concluding import WAIT_MS
from tests.support.turns import APP, GROUP, OTHER_APP, World, message, policy, private, world

HAS_BOTH = policy()
HAS_ONE = replace(HAS_BOTH, apps={OTHER_APP: HAS_BOTH.apps[OTHER_APP]})


def left_to_others(it: World) -> None:
    """This gateway does not have the first app, and another one that lives has it."""
    it.policy, it.elsewhere = HAS_ONE, lambda _connection: frozenset({APP})


async def receipts_left(it: World) -> int:
    return len(it.receipts.left)


async def test_turns_and_receipts_of_another_gateways_app_are_left_to_it(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.accept(message())
        await it.accept(private(app=OTHER_APP))
        left_to_others(it)
        async with it.running(receipts=True):
            await it.until(lambda: receipts_left(it))

            async def own_is_done() -> bool:
                return await it.turn_states() == ["queued", "done"]

            await it.until(own_is_done)
        assert (it.receipts.tries, await it.facts("turn_waits")) == (1, [])
        it.policy, it.elsewhere = HAS_BOTH, World.elsewhere
        async with it.running(receipts=True):
            await it.until_idle(2)
        assert len(await it.told()) == 2


async def said_next(it: World) -> str:
    (row,) = await it.rows(tables.requests)
    item = await it.transactions.read(lambda each: show_request(asking(each), row["request_id"]))
    return item["next"]


async def test_the_reason_for_waiting_is_the_one_of_now(tmp_path: Path) -> None:
    """First its app is missing, then, when that is there, nobody knows who reads the chat."""
    async with world(tmp_path) as it:
        it.reader.chats[GROUP] = Gone.NOT_PERMITTED
        await it.accept(message())
        for having, reason in ((HAS_ONE, "its app is not"), (HAS_BOTH, "who reads the chat could not be learnt")):
            it.policy = having
            async with it.running():

                async def says(reason: str = reason) -> bool:
                    """A clock that moves while a holder is at work ends its lease."""
                    if await it.turn_states() != ["queued"]:
                        return False
                    if reason in await said_next(it):
                        return True
                    it.clock.advance(WAIT_MS)
                    await it.wake()
                    return False

                await it.until(says)


async def test_a_turn_of_an_app_that_nobody_has_waits_and_says_why(tmp_path: Path) -> None:
    """However often it is looked at, it is neither failed nor answered."""
    async with world(tmp_path) as it:
        await it.accept(message())
        it.policy = HAS_ONE
        async with it.running():

            async def waits() -> bool:
                rows = await it.rows(tables.turns)
                return rows[0]["state"] == "queued" and rows[0]["due_at"] > it.clock.now()

            for _ in range(8):
                await it.until(waits)
                it.clock.advance(WAIT_MS)
                await it.wake()
        assert [detail for _, detail in await it.facts("turn_waits")] == [{"cause": "app_not_configured"}]
        assert "its app is not in the configuration" in await said_next(it)
        assert (await it.told(), await it.facts("turn_started")) == ([], [])
        it.policy = HAS_BOTH
        async with it.running():
            await it.until_idle(1)
        assert len(await it.told()) == 1


async def test_a_held_event_of_an_app_that_is_not_configured_stays_held(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        known, it.reader.ids[APP] = it.reader.ids[APP], None
        await it.accept(message())
        it.reader.ids[APP], it.policy = known, HAS_ONE
        async with it.running(held=True):
            await it.accept(private(app=OTHER_APP))
            await it.until_idle(1)
        assert [row["state"] for row in await it.rows(tables.events)] == ["held", "accepted"]
        it.policy = HAS_BOTH
        async with it.running(held=True):
            await it.until_idle(2)
        assert len(await it.told()) == 2
