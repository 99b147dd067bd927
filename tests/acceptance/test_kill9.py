"""kill -9 at each dangerous moment of one question; the local Lark is the judge.

Afterwards each question has exactly one visible answer, or one inbox row that needs an operator; never two answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from providers.lark_double.faults import Fault
from providers.lark_double.model import Message
from tests.support.world import World, world

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

QUESTION = "where is the class Engine defined?"
LONG = "\n".join(f"{number:05d} 每一行都要到达，一次，且仅一次。✅" for number in range(1_100))


async def held(here: World, fault: Fault) -> None:
    """Wait until a request waits at the fault."""
    await here.lark.wait_held(fault.fault_id, timeout_s=20)


async def killed_at(here: World, fault: Fault, *, effect: bool) -> None:
    """Kill the gateway while a request of its waits at ``fault``, then start it again."""
    await held(here, fault)
    await here.gateway.kill()
    here.lark.release(fault, go_on=effect)
    await here.gateway.start()


def answers(here: World, question: Message) -> list[str]:
    return [seen.text for seen in here.lark.replies(question)]


def judged(here: World, question: Message, item: dict[str, Any]) -> None:
    """One visible answer, or one row that needs an operator; never two."""
    seen = answers(here, question)
    assert len(seen) == len(set(seen)), "the same words were sent twice"
    if item["delivery"]["status"] == "delivered":
        assert not item["needs_operator"]
        assert len(seen) == item["delivery"]["parts"]
    else:
        assert item["needs_operator"]
        assert len(seen) < item["delivery"]["parts"] or item["delivery"]["status"] == "explicit_unverified"


async def test_right_after_the_200(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.lark.fault("hold_before", "get", times=1)  # the turn reads the question before it decides
        question = here.ask(QUESTION)
        await here.lark.wait_for(lambda: here.lark.pushes(message_id=question.message_id, state="delivered"), 20, "200")
        await here.gateway.kill()
        here.lark.clear_faults()
        await here.gateway.start()
        (item,) = await here.settled()
        assert item["delivery"]["status"] == "delivered"
        judged(here, question, item)


async def test_during_the_turn(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        fault = here.lark.fault("hold_before", "get", times=1)
        question = here.ask(QUESTION)
        await killed_at(here, fault, effect=False)
        (item,) = await here.settled()
        assert item["delivery"]["status"] == "delivered"
        assert len(answers(here, question)) == 1
        judged(here, question, item)


async def test_between_attempt_and_send(tmp_path: Path) -> None:
    """The attempt is committed, nothing was accepted: absence proves nothing, so an operator is asked."""
    async with world(tmp_path) as here:
        fault = here.lark.fault("hold_before", "reply", times=1)
        question = here.ask(QUESTION)
        await killed_at(here, fault, effect=False)
        (item,) = await here.settled()
        assert (item["delivery"]["status"], item["delivery"]["error"]) == ("explicit_unverified", "no_match_found")
        assert answers(here, question) == []
        assert len(here.lark.sends(here.chat)) == 1
        judged(here, question, item)


async def test_after_acceptance_before_the_answer(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        fault = here.lark.fault("hold_after", "reply", times=1)
        question = here.ask(QUESTION)
        await killed_at(here, fault, effect=True)
        (item,) = await here.settled()
        assert (item["delivery"]["status"], item["delivery"]["verification"]) == ("delivered", "reconciled")
        assert len(answers(here, question)) == 1
        assert len(here.lark.sends(here.chat)) == 1
        judged(here, question, item)


async def test_before_the_readback(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        fault = here.lark.fault("hold_before", "get", times=1, skip=1)  # the first one reads the question again
        question = here.ask(QUESTION)
        await killed_at(here, fault, effect=False)
        (item,) = await here.settled()
        assert (item["delivery"]["status"], item["delivery"]["verification"]) == ("delivered", "direct")
        assert len(here.lark.sends(here.chat)) == 1
        judged(here, question, item)


@pytest.mark.parametrize("moment", ["between parts, at rest", "between parts, sending", "second part accepted"])
async def test_between_the_parts(tmp_path: Path, moment: str) -> None:
    assert len(LONG.encode()) > 60_000
    async with world(tmp_path) as here:
        peer = await here.add_peer("scribe")
        question = here.ask("ask scribe to write it all down")
        await here.lark.wait_for(lambda: was_read(here, question), 20, "the notice, read back")
        if moment == "between parts, at rest":
            fault = here.lark.fault("hold_before", "get", times=1)  # the first part's readback
        elif moment == "between parts, sending":
            fault = here.lark.fault("hold_before", "reply", times=1, skip=1)
        else:
            fault = here.lark.fault("hold_after", "reply", times=1, skip=1)
        await peer.conclude(LONG)
        await killed_at(here, fault, effect=moment == "second part accepted")
        item = await here.inbox_until(lambda items: next((i for i in items if _over(i)), None))
        notice, *parts = answers(here, question)
        assert notice
        if moment == "between parts, sending":
            assert item["needs_operator"]
            assert len(parts) == 1
            assert item["delivery"]["delivered_parts"] == 1
        else:
            assert item["delivery"]["status"] == "delivered"
            assert len(parts) == item["delivery"]["parts"] > 1
            assert "\n".join(parts).count("每一行都要到达") == 1_100
        assert len(set(parts)) == len(parts)
        await peer.http.aclose()


def was_read(here: World, question: Message) -> bool:
    """Whether the first reply was read back, so that the next reading is not its."""
    told = {reply.message_id for reply in here.lark.replies(question)}
    return any(each.operation == "get" and each.target_id in told and each.status for each in here.lark.reads())


def _over(item: dict[str, Any]) -> bool:
    return item["delivery"]["status"] in {"delivered", "explicit_unverified", "undeliverable"}


async def test_twice_pushed_across_a_kill(tmp_path: Path) -> None:
    """Lark pushes the same event again after the restart: one question, one answer."""
    async with world(tmp_path) as here:
        question = here.ask(QUESTION)
        await here.settled()
        await here.gateway.kill()
        await here.gateway.start()
        push = here.lark.pushes(message_id=question.message_id)[0]
        again = await here.lark.wait_pushed(here.lark.push_again(push), timeout_s=20)
        assert again.state == "delivered"
        assert len(await here.gateway.inbox()) == 1
        assert len(answers(here, question)) == 1
