"""Somebody begins a thread on the question, or on the answer, before the answer is proved: it is there all the same."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.world import PERSON, World, world

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]
QUESTION = "where is the class Engine defined?"
PATIENT = {"settle_s": 1, "retry_first_s": 0.5, "retry_max_s": 1}
FOUND = {True: "reconciled", False: "direct"}

answer_lost = pytest.mark.parametrize("lost", [False, True], ids=["accepted", "answer lost"])


def ours(here: World) -> list[Any]:
    """The bot's messages at Lark, those in threads included."""
    return here.lark.visible(here.chat, by_app=True)


def outcome(item: dict[str, Any]) -> tuple[str, str | None, str | None]:
    """How the item's answer stands."""
    delivery = item["delivery"]
    return delivery["status"], delivery["error"], delivery["verification"]


@answer_lost
async def test_on_the_question_while_the_answer_is_made(tmp_path: Path, lost: bool) -> None:
    async with world(tmp_path, returns=PATIENT) as here:
        ada = await here.add_peer("ada")
        question = here.ask("ask ada to say hello")
        await ada.next()
        await here.inbox_until(lambda items: items and not items[0]["notice"] and len(ours(here)) == 1)
        here.lark.say(here.chat, "mei", "let us discuss this here", reply_to=question, in_thread=True)
        if lost:
            here.lark.fault("drop_after", "reply", times=1)
        await ada.conclude("the hello of ada")
        (item,) = await here.settled(1)
        assert outcome(item) == ("delivered", None, FOUND[lost])
        _, answer = ours(here)
        assert (answer.thread_id, answer.parent_id) == (
            here.lark.message_of(question.message_id).thread_id,
            question.message_id,
        )
        await ada.http.aclose()


async def test_on_the_question_between_two_parts(tmp_path: Path) -> None:
    async with world(tmp_path, returns=PATIENT) as here:
        ada = await here.add_peer("ada")
        question = here.ask("ask ada to say a lot")
        await ada.next()
        here.lark.fault("delay_after", "reply", times=1, seconds=1)
        words = "\n\n".join(f"paragraph {number} {'word ' * 400}" for number in range(40))
        async with asyncio.TaskGroup() as group:
            group.create_task(ada.conclude(words))
            await here.lark.wait_for(lambda: len(ours(here)) == 2, 20, "a notice and the first part")
            here.lark.say(here.chat, "mei", "so long?", reply_to=question, in_thread=True)
        (item,) = await here.settled(1)
        assert outcome(item)[:2] == ("delivered", None)
        _, first, *others = ours(here)
        assert first.thread_id is None
        assert others
        assert {each.thread_id for each in others} == {here.lark.message_of(question.message_id).thread_id}
        await ada.http.aclose()


@answer_lost
async def test_on_the_answer_before_it_is_read(tmp_path: Path, lost: bool) -> None:
    async with world(tmp_path, returns=PATIENT) as here:
        if lost:
            here.lark.fault("drop_after", "reply", times=1)
        unread = here.lark.fault("http_500", "list" if lost else "get", times=None, skip=0 if lost else 1)
        here.ask(QUESTION)
        await here.lark.wait_for(lambda: ours(here), 20, "an answer")
        here.lark.say(here.chat, "mei", "thanks!", reply_to=ours(here)[0].message_id, in_thread=True)
        await here.lark.wait_for(lambda: unread.struck, 20, "a reading that failed")
        here.lark.clear_faults()
        (item,) = await here.settled(1)
        assert outcome(item) == ("delivered", None, FOUND[lost])


@answer_lost
async def test_what_landed_in_a_thread_proves_no_answer_of_that_thread(tmp_path: Path, lost: bool) -> None:
    """The same is asked in the thread; that answer never arrives, and the first one stands where it would."""
    async with world(tmp_path, returns=PATIENT) as here:
        here.lark.fault("delay_before", "get", times=1, seconds=1)
        if lost:
            here.lark.fault("drop_after", "reply", times=1)
        question = here.ask(QUESTION)
        here.lark.say(here.chat, "mei", "good question", reply_to=question, in_thread=True)
        (first,) = await here.settled(1)
        assert outcome(first) == ("delivered", None, FOUND[lost])
        here.lark.fault("reset_before", "reply", times=1)
        here.lark.say(here.chat, PERSON, QUESTION, mention=[here.app.app_id], reply_to=question, in_thread=True)
        second, _ = await here.settled(2)
        assert outcome(second)[:2] == ("explicit_unverified", "no_match_found")
        assert len(ours(here)) == 1
