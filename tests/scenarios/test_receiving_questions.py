"""From an event to a committed decision."""

from __future__ import annotations

from pathlib import Path

from manager.ledger import tables
from manager.service.receiving import Acceptance
from tests.support.turns import message, world


async def test_a_question_is_decided_once(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running(receipts=True):
        question = message("@_user_1 where is main?")
        assert await it.accept(question) is Acceptance.NEW
        await it.until_idle(1)
        assert it.runtime.questions == ["where is main?"]
        assert await it.told() == ["answer to where is main?"]
        assert await it.turn_states() == ["done"]
        assert await it.works() == ["resolved"]
        await it.until(lambda: it.facts("receipt"))
        assert it.receipts.left == [question.message_id]
        assert [row["state"] for row in await it.rows(tables.events)] == ["accepted"]
