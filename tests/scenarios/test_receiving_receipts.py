"""Each asker sees soon that the question arrived; a receipt that fails fails alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from manager.decisions.decision import Answer, Decision, TurnInput
from manager.ledger import tables
from manager.ports import ChatFacts, Gone
from manager.service import receipts
from tests.support.turns import GROUP, World, message, policy, private, world


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "PAUSES_S", (0.0, 0.0))


async def receipt_states(it: World) -> list[str | None]:
    rows = await it.rows(tables.turns)
    return [row["receipt"] for row in sorted(rows, key=lambda row: row["event_seq"])]


async def all_settled(it: World) -> bool:
    return "wanted" not in await receipt_states(it)


async def test_a_question_that_waits_has_its_receipt(tmp_path: Path) -> None:
    async with world(tmp_path, policy=policy(max_parallel_turns=1)) as it, it.running(receipts=True):
        go_on = asyncio.Event()

        async def decide(turn: TurnInput) -> Decision:
            await go_on.wait()
            return Answer("done")

        it.runtime.decide_with = decide
        first, second, elsewhere = message(), message("@_user_1 and?"), private()
        for each in (first, second, elsewhere):
            await it.accept(each)
        await it.until(lambda: all_settled(it))
        assert sorted(it.receipts.left) == sorted(each.message_id for each in (first, second, elsewhere))
        assert await it.told() == []
        go_on.set()
        await it.until_idle(3)


async def test_a_receipt_that_cannot_be_left_is_tried_three_times_and_harms_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running(receipts=True):

        async def refuse(message_id: str) -> bool:
            return False

        it.receipts.works = refuse
        await it.accept(message())
        await it.until_idle(1)
        await it.until(lambda: all_settled(it))
        assert (it.receipts.tries, await receipt_states(it)) == (3, ["failed"])
        assert await it.facts("receipt") == [("receipt", {"left": False})]
        assert len(await it.told()) == 1


async def test_a_receipt_that_breaks_stops_no_other(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running(receipts=True):
        broken = message()

        async def breaks(message_id: str) -> bool:
            if message_id == broken.message_id:
                raise ZeroDivisionError
            return True

        it.receipts.works = breaks
        await it.accept(broken)
        await it.accept(message("@_user_1 next"))
        await it.until(lambda: all_settled(it))
        assert await receipt_states(it) == ["failed", "done"]


async def test_many_at_once_are_left_a_few_at_a_time(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        now = most = 0

        async def slow(message_id: str) -> bool:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1
            return True

        it.receipts.works = slow
        for number in range(80):
            await it.accept(message(f"@_user_1 {number}"))
        async with it.running(receipts=True):
            await it.until(lambda: all_settled(it))
        assert len(it.receipts.left) == 80
        assert 1 <= most <= receipts.AT_ONCE


async def test_a_receipt_that_was_left_is_not_left_again_after_a_restart(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        async with it.running(receipts=True):
            await it.accept(message())
            await it.until(lambda: all_settled(it))
        async with it.running(receipts=True):
            await it.accept(message("@_user_1 second"))
            await it.until(lambda: all_settled(it))
        assert it.receipts.tries == 2


@pytest.mark.parametrize(
    ("facts", "left", "state"),
    [
        (ChatFacts(external=False, gone=False), 1, "done"),
        (ChatFacts(external=True, gone=False), 0, None),
        (Gone.UNREACHABLE, 0, "failed"),
    ],
    ids=["ours", "external", "unreachable"],
)
async def test_no_reaction_where_the_chat_is_not_known_to_be_ours(
    tmp_path: Path, facts: ChatFacts | Gone, left: int, state: str | None
) -> None:
    async with world(tmp_path) as it:
        it.reader.chats[GROUP] = facts
        await it.accept(message())
        worker = receipts.ReceiptsWorker(it.transactions, it.clock, it.receipts, it.reader)
        task = asyncio.ensure_future(worker.run())
        await it.until(lambda: all_settled(it))
        task.cancel()
        assert (it.receipts.tries, await receipt_states(it)) == (left, [state])
