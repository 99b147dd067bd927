"""R12: that a question is gone may be known only by a refusal: who owns it is told, whatever its event did."""

from __future__ import annotations

from pathlib import Path

import pytest

from returns.ledger.untold import is_untold
from returns.ports import Refusal, Verdict
from tests.support.returns import House, house, refused, running


@pytest.mark.parametrize("policy", ["say_nothing", "answer_in_chat"])
async def test_by_the_refusal_of_a_reply(tmp_path: Path, policy: str) -> None:
    async with house(tmp_path, recalled_question=policy) as home, running(home):
        home.provider.faults = [refused(Refusal.QUESTION_RECALLED, code=230011)]
        subject = await home.put("x")
        await home.settle(subject)
        assert home.authority.recalled == [(subject, 1)]


@pytest.mark.parametrize("attempted", [False, True])
async def test_by_the_verdict_before_a_send(tmp_path: Path, attempted: bool) -> None:
    async with house(tmp_path) as home, running(home):
        if attempted:
            home.provider.faults = [refused(Refusal.OFFLINE)]
            subject = await home.put("x")

            async def waits() -> bool:
                return await home.status(subject) == "retry_pending"

            await home.until(waits, step_ms=10)
            home.authority.verdicts[subject] = Verdict.QUESTION_RECALLED
        else:
            home.authority.verdicts["r"] = Verdict.QUESTION_RECALLED
            subject = await home.put("x", subject="r")
        await home.settle(subject)
        assert home.authority.recalled == [(subject, 1)]


async def untold(home: House, subject: str, revision: int = 1) -> bool:
    return await home.transactions.read(lambda c: is_untold(c, subject, revision))


async def test_what_was_told_to_nobody(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [refused(Refusal.NOT_ALLOWED)]
        refused_one = await home.put("x")
        await home.settle(refused_one)
        told = await home.put("y")
        await home.settle(told)
        home.provider.faults = ["lose"]
        unsure = await home.put("z")
        await home.settle(unsure)
        assert await untold(home, refused_one)
        assert not await untold(home, told)
        assert not await untold(home, unsure)
        assert not await untold(home, refused_one, revision=2), "there is no answer to it"
