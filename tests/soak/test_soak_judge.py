"""The judge sees what it is there to see: each broken promise, staged at the local Lark without any gateway."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from providers.lark_double.model import UuidRepeat
from tests.soak.counts import Counts
from tests.soak.judge import judge
from tests.soak.ledger import Part, Turn
from tests.soak.questions import Kind
from tests.soak.town import Place, Town
from tests.support.double import APP_ID, Caller, calling, running
from tests.support.gateway_process import GatewayProcess


@dataclass
class Staged:
    """Two questions of one chat, each answered once, and a ledger and an inbox that say so."""

    town: Town
    caller: Caller
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: dict[str, str] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    def judged(self) -> Counts:
        """What the judge finds."""
        judge(self.town, self.items, self.requests, self.parts, self.turns)
        return self.town.counts

    async def answer(self, number: int, *, key: str | None = None, text: str | None = None) -> str:
        """Reply to a question; the id of the message."""
        question = self.town.asked[number]
        words = text or f"Engine{question.number:04d} is here"
        answered = await self.caller.reply(question.message_id, words, uuid=key or f"key-{number}")
        return answered.json()["data"]["message_id"] if answered.is_success else ""


@asynccontextmanager
async def staged() -> AsyncIterator[Staged]:
    """Everything as it should be."""
    async with running() as double, calling(double) as caller:
        double.knobs.uuid_repeat = UuidRepeat.IGNORED
        app = double.app_of(APP_ID)
        chat = next(iter(double.world.chats.values()))
        nobody = cast("GatewayProcess", None)
        town = Town(double, app, nobody, random.Random(1), Counts("none", 1, 0), [Place(chat, None)])
        here = Staged(town, caller)
        for number in range(2):
            question = town.ask(Kind.OWN)
            for push in double.pushes(message_id=question.message_id):
                push.state = "delivered"
            message = await here.answer(number)
            request, at = f"r_{number}", number * 10_000
            here.requests[question.message_id] = request
            here.items[request] = _item("delivered")
            here.parts.append(
                Part(
                    f"p_{number}", request, f"t_{number}", number, 0, "answer", chat.chat_id, question.message_id,
                    "delivered", None, f"key-{number}", message,
                )
            )  # fmt: skip
            here.turns.append(
                Turn(request, "c", at, (number, at), (10 + number, at + 5_000), (20 + number, at + 6_000))
            )
        yield here


def _item(status: str, **changes: Any) -> dict[str, Any]:
    delivery = {"status": status, "error": None, "parts": 1, "delivered_parts": 1}
    return {"delivery": delivery, "needs_operator": False, "assignment": "unassigned", "work": "resolved", **changes}


async def test_everything_as_it_should_be() -> None:
    async with staged() as here:
        counts = here.judged()
        assert counts.wrong == []
        assert (counts.asked, counts.acknowledged, counts.answered) == (2, 2, 2)
        assert (counts.duplicated, counts.lost, counts.messages) == (0, 0, 2)


async def test_sent_twice() -> None:
    async with staged() as here:
        await here.answer(0)
        counts = here.judged()
        assert counts.duplicated == 1
        assert "a part was sent again although it may have been accepted" in counts.wrong


async def test_sent_twice_under_another_key() -> None:
    async with staged() as here:
        await here.answer(0, key="another")
        counts = here.judged()
        assert counts.duplicated == 1
        assert "a message of ours that no part owns: another" in counts.wrong


async def test_sent_again_after_a_500_that_left_nothing() -> None:
    """Nothing is seen twice, but nobody could know that."""
    async with staged() as here:
        question = here.town.ask(Kind.OWN)
        here.requests[question.message_id] = "r_2"
        here.items["r_2"] = _item("delivered")
        here.town.lark.fault("http_500", "reply")
        await here.answer(2)
        message = await here.answer(2)
        part = replace(here.parts[1], part_id="p_2", request_id="r_2", return_id="t_2", return_seq=2, key="key-2")
        here.parts.append(replace(part, reply_to=question.message_id, message_id=message))
        assert here.judged().wrong == ["a part was sent again although it may have been accepted"]


async def test_sent_again_after_a_refusal() -> None:
    """That is allowed."""
    async with staged() as here:
        question = here.town.ask(Kind.OWN)
        here.requests[question.message_id] = "r_2"
        here.items["r_2"] = _item("delivered")
        here.town.lark.fault("rate_limited", "reply", seconds=1)
        await here.answer(2)
        message = await here.answer(2)
        part = replace(here.parts[1], part_id="p_2", request_id="r_2", return_id="t_2", return_seq=2, key="key-2")
        here.parts.append(replace(part, reply_to=question.message_id, message_id=message))
        assert here.judged().wrong == []


async def test_lost() -> None:
    async with staged() as here:
        here.requests.popitem()
        counts = here.judged()
        assert counts.lost == 1
        assert "question 1 was acknowledged and is in no ledger" in counts.wrong


async def test_never_taken_is_not_lost() -> None:
    async with staged() as here:
        here.town.ask(Kind.OWN)
        counts = here.judged()
        assert (counts.never_taken, counts.lost) == (1, 0)
        assert counts.wrong == []


@pytest.mark.parametrize("status", ["absent", "queued", "verification_required"])
async def test_nobody_answers_and_nobody_is_told(status: str) -> None:
    async with staged() as here:
        here.items["r_1"] = _item(status)
        assert here.judged().lost == 1


async def test_waiting_for_an_operator() -> None:
    async with staged() as here:
        delivery = {"status": "explicit_unverified", "error": "no_match_found", "parts": 1, "delivered_parts": 0}
        here.items["r_1"] = _item("", delivery=delivery, needs_operator=True)
        here.parts[1] = replace(here.parts[1], state="explicit_unverified", error="no_match_found", message_id=None)
        counts = here.judged()
        assert counts.waiting == {"explicit_unverified/no_match_found": 1}
        assert counts.wrong == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"message_id": "om_other"}, "is called delivered, and its message is not that one"),
        ({"state": "undeliverable"}, "is undeliverable, and Lark has it"),
        ({"state": "queued"}, "is queued, and Lark has it"),
        ({"state": "sending"}, "is still sending"),
        ({"key": "key-9"}, "is called delivered, and Lark has not exactly its parts"),
    ],
)
async def test_the_ledger_says_what_is_not_so(change: dict[str, Any], said: str) -> None:
    async with staged() as here:
        here.parts[1] = replace(here.parts[1], **change)
        assert any(said in wrong for wrong in here.judged().wrong)


async def test_anothers_answer() -> None:
    async with staged() as here:
        question = here.town.ask(Kind.OWN)
        message = await here.answer(2, text="Engine0000 is here")
        here.requests[question.message_id] = "r_2"
        here.items["r_2"] = _item("delivered")
        part = replace(here.parts[1], request_id="r_2", return_id="t_2", return_seq=2, key="key-2", message_id=message)
        here.parts.append(replace(part, reply_to=question.message_id))
        assert "question 2 was answered with another one's answer" in here.judged().wrong


async def test_answers_out_of_order() -> None:
    async with staged() as here:
        here.parts = [replace(part, return_seq=9 - part.return_seq) for part in here.parts]
        assert "answers of a chat are out of order" in here.judged().wrong


async def test_parts_out_of_order() -> None:
    async with staged() as here:
        here.parts = [replace(part, return_id="t_0", position=1 - number) for number, part in enumerate(here.parts)]
        assert "parts of an answer are out of order" in here.judged().wrong


async def test_turns_out_of_order() -> None:
    async with staged() as here:
        first, second = here.turns
        here.turns = [replace(first, decided=(30, 99_999)), second]
        assert "two questions of a conversation were decided against their order" in here.judged().wrong
