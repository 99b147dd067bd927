"""A question that is taken back is not answered, whenever it is taken back; others are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from manager.decisions.decision import Answer, Decision, TurnInput
from manager.ledger import tables
from manager.ports import Gone
from manager.service.receiving import Acceptance
from returns.ledger import tables as returned
from tests.support.turns import APP, STEWARD, envelope, message, policy, recall, world


async def test_recalled_while_it_waits(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        first, second = message("@_user_1 one"), message("@_user_1 two")
        await it.accept(first)
        await it.accept(second)
        back = recall(first)
        assert await it.accept(back) is Acceptance.NEW
        assert await it.accept(back) is Acceptance.DUPLICATE
        assert await it.accept(recall(first)) is Acceptance.DUPLICATE
        async with it.running(receipts=True):
            await it.until_idle(2)
            await it.until(lambda: it.facts("receipt"))
        assert await it.told() == ["answer to two"]
        assert await it.works() == ["cancelled", "resolved"]
        assert it.receipts.left == [second.message_id]


async def test_recalled_before_it_arrives(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        question = message("@_user_1 one")
        assert await it.accept(recall(question)) is Acceptance.NEW
        assert await it.accept(question) is Acceptance.NEW
        assert await it.accept(message("@_user_1 two")) is Acceptance.NEW
        await it.until_idle(1)
        assert await it.told() == ["answer to two"]
        assert await it.works() == ["cancelled", "resolved"]


async def test_recalled_while_it_is_held(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        it.reader.ids[APP] = None
        question = message()
        assert await it.accept(question) is Acceptance.HELD
        await it.accept(recall(question))
        it.reader.ids[APP] = STEWARD
        async with it.running(held=True):
            await it.until(it.works)
            await it.until_idle()
        assert await it.told() == []
        assert await it.works() == ["cancelled"]


async def test_recalled_in_the_middle_of_its_turn(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        started, go_on = asyncio.Event(), asyncio.Event()

        async def decide(turn: TurnInput) -> Decision:
            started.set()
            await go_on.wait()
            return Answer("too late")

        it.runtime.decide_with = decide
        question = message()
        await it.accept(question)
        await started.wait()
        await it.accept(recall(question))
        go_on.set()
        await it.until_idle(1)
        await it.until(lambda: _no_turn_runs(it.runtime))
        assert (await it.turn_states(), await it.told(), await it.works()) == (["cancelled"], [], ["cancelled"])


@pytest.mark.parametrize(
    ("wish", "state", "work"),
    [("say_nothing", "superseded", "cancelled"), ("answer_in_chat", "queued", "resolved")],
)
async def test_recalled_after_it_was_decided(tmp_path: Path, wish: str, state: str, work: str) -> None:
    async with world(tmp_path, policy=policy(recalled_question=wish)) as it, it.running():
        question = message()
        await it.accept(question)
        await it.until_idle(1)
        await it.accept(recall(question))
        assert [row["state"] for row in await it.rows(returned.parts)] == [state]
        assert await it.works() == [work]


@pytest.mark.parametrize("wish", ["say_nothing", "answer_in_chat"])
async def test_recalled_before_it_is_decided_is_cancelled_whatever_the_wish(tmp_path: Path, wish: str) -> None:
    async with world(tmp_path, policy=policy(recalled_question=wish)) as it:
        question = message()
        await it.accept(question)
        await it.accept(recall(question))
        assert (await it.turn_states(), await it.works()) == (["cancelled"], ["cancelled"])


async def _no_turn_runs(runtime: object) -> bool:
    return getattr(runtime, "running", None) == 0


async def test_found_recalled_when_its_turn_comes(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        question = message()
        it.reader.messages[question.message_id] = Gone.RECALLED
        await it.accept(question)
        await it.until_idle(1)
        assert (await it.turn_states(), await it.works()) == (["cancelled"], ["cancelled"])
        assert it.runtime.seen == []


async def test_what_cannot_be_read_again_is_answered_as_received(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        for gone in (Gone.MISSING, Gone.NOT_PERMITTED, Gone.UNREACHABLE):
            question = message(f"@_user_1 {gone.value}")
            it.reader.messages[question.message_id] = gone
            await it.accept(question)
        await it.until_idle(3)
        assert sorted(it.runtime.questions) == ["missing", "not_permitted", "unreachable"]


async def test_a_recall_of_something_else_changes_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        question = message()
        other = replace(message("not for us"), envelope=envelope("im.message.receive_v1"))
        await it.accept(question)
        await it.accept(recall(other))
        await it.until_idle(1)
        assert await it.turn_states() == ["done"]
        assert len(await it.rows(tables.requests)) == 1
