"""Reported kinds of trouble with sends, through the whole product: R2, R3, R5-R8, R12, R16, A1, A3, A5, O3.

The local Lark is the judge of how often something was sent and of what is visible.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from providers.lark_double.model import Message
from tests.support.reports import QUESTION, Home, Scene, conclude, house

pytestmark = [pytest.mark.process, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

LINE = "每一行都要到达，一次，且仅一次。✅"
SPREAD = "\n".join(f"{number:05d} {LINE}" for number in range(1_100))
ALIKE = "\n\n".join("=" * 9_900 for _ in range(8))
"""Text whose parts are equal."""
AFTER = ["drop_after", "reset_after", "http_500_after", "html_502_after", "truncated", "no_message_id", "delay_after"]
"""What goes wrong once the message is there."""
BEFORE = ["reset_before", "http_500", "html_502"]
"""What goes wrong before it is, and looks the same from here."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    async with house(tmp_path_factory.mktemp("sending")) as it:
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def scene(home: Home) -> AsyncIterator[Scene]:
    yield await home.scene()
    home.lark.clear_faults()


def delivery(item: dict[str, Any]) -> tuple[str, str | None, str | None]:
    """Status, error and verification."""
    return item["delivery"]["status"], item["delivery"]["error"], item["delivery"]["verification"]


async def test_r2_r5_accepted_but_never_told(home: Home) -> None:
    """R2, R5: the message is there, the answer to the send is lost: one visible message, settled by reading."""
    scenes = [await home.scene() for _ in AFTER]
    for scene, kind in zip(scenes, AFTER, strict=True):
        scene.fault(kind, "reply", seconds=2.0)
    questions = [scene.ask() for scene in scenes]
    await scenes[0].settled(len(scenes))
    for scene, question, kind in zip(scenes, questions, AFTER, strict=True):
        assert len(scene.answers(question)) == 1, kind
        assert len(home.lark.sends(scene.chat)) == 1, kind
    for item in await scenes[0].items():
        assert delivery(item) == ("delivered", None, "reconciled")
        assert item["delivery"]["attempts"] == 1
        assert not item["needs_operator"]
    home.lark.clear_faults()


async def test_r2_the_same_words_twice_are_two_answers(scene: Scene) -> None:
    """R2: distinct questions with the same text do not fold into one, whatever their sends' keys are made of."""
    first_question = scene.ask()
    questions = [first_question, scene.ask(at=first_question.create_time + 5)]
    items = await scene.settled(2)
    assert [delivery(item) for item in items] == [("delivered", None, "direct")] * 2
    first, second = (scene.answers(question) for question in questions)
    assert first == second
    assert len(first) == 1
    assert len({entry.uuid for entry in scene.lark.sends(scene.chat)}) == 2


async def test_r3_equal_parts_are_told_each_once(home: Home, scene: Scene) -> None:
    """R3: two parts with the same words are two messages, each with a key of its own."""
    scribe = await home.peer("scribe")
    question = scene.ask("ask scribe to draw lines")
    await conclude(scribe, scene, ALIKE)
    item = await scene.one(status="delivered")
    notice, *parts = scene.answers(question)
    assert notice.startswith("Handed over to scribe")
    told = item["delivery"]
    assert len(parts) == told["parts"] == told["delivered_parts"] == told["attempts"]
    assert len(set(parts)) < len(parts), "no two parts were equal: this proves nothing"
    assert "".join(parts).count("=") == ALIKE.count("=")
    assert len({entry.uuid for entry in scene.lark.sends(scene.chat)}) == 1 + len(parts)


async def test_r6_what_was_never_sent_is_tried_again(home: Home) -> None:
    """R6: a limit and a stale token are definite: sent again under the same key until accepted."""
    kinds: dict[str, dict[str, Any]] = {"rate_limited": {"seconds": 1}, "error": {"code": 230020}, "token_expired": {}}
    scenes = [await home.scene() for _ in kinds]
    for scene, (kind, how) in zip(scenes, kinds.items(), strict=True):
        scene.fault(kind, "reply", **how)
    questions = [scene.ask() for scene in scenes]
    for item in await scenes[0].settled(len(scenes)):
        assert delivery(item) == ("delivered", None, "direct")
    for scene, question in zip(scenes, questions, strict=True):
        sends = home.lark.sends(scene.chat)
        assert len(scene.answers(question)) == 1
        assert len(sends) >= 2
        assert len({entry.uuid for entry in sends}) == 1


async def test_r6_what_may_have_been_sent_is_not(home: Home) -> None:
    """R6: after the request was written the connection is lost, or a server fails: one send, an operator is asked."""
    scenes = [await home.scene() for _ in BEFORE]
    for scene, kind in zip(scenes, BEFORE, strict=True):
        scene.fault(kind, "reply")
    questions = [scene.ask() for scene in scenes]
    for item in await scenes[0].settled(len(scenes)):
        assert delivery(item) == ("explicit_unverified", "no_match_found", None)
        assert item["delivery"]["attempts"] == 1
        assert item["needs_operator"]
    for scene, question in zip(scenes, questions, strict=True):
        assert scene.answers(question) == []
        assert len(home.lark.sends(scene.chat)) == 1


@pytest.mark.parametrize("arrived", [True, False])
async def test_r7_the_middle_of_three_parts_fails(home: Home, scene: Scene, *, arrived: bool) -> None:
    """R7: the second part's send fails. Found by reading, the third follows; not found, the third stays back."""
    scribe = await home.peer("scribe")
    question = scene.ask("ask scribe to write it all down")
    await scene.answered(question)
    scene.fault("reset_after" if arrived else "reset_before", "reply", skip=1)
    await conclude(scribe, scene, SPREAD)
    if arrived:
        item = await scene.one(status="delivered", verification="reconciled")
        _, *parts = scene.answers(question)
        assert len(parts) == item["delivery"]["parts"] == item["delivery"]["delivered_parts"] >= 3
        assert "\n".join(parts).count(LINE) == 1_100
        assert len(home.lark.sends(scene.chat)) == 1 + len(parts)
        return
    item = await scene.one(status="explicit_unverified", error="no_match_found")
    assert item["needs_operator"]
    assert (item["delivery"]["delivered_parts"], item["delivery"]["attempts"]) == (1, 2)
    assert len(scene.answers(question)) == 2, "the notice and the first part"
    other = scene.ask()
    assert len(await scene.answered(other)) == 1, "another answer of the chat goes on"
    assert len(home.lark.sends(scene.chat)) == 4


async def test_r8_no_token_is_no_attempt(home: Home, scene: Scene) -> None:
    """R8: what fails before the send, here the token, is not counted and never stays as unknown."""
    held = scene.fault("hold_before", "get")
    scene.ask()
    await home.lark.wait_held(held.fault_id)
    fault = home.lark.fault("error", "token", code=1, http_status=500, times=None)
    home.lark.expire_tokens(home.app)
    home.lark.release(held, go_on=False)
    item = await scene.one(status="retry_pending", error="provider_offline")
    struck = fault.struck
    await home.lark.wait_for(lambda: fault.struck > struck, 20, "the token is asked for again")
    assert item["delivery"]["attempts"] == 0
    assert home.lark.sends(scene.chat) == []
    home.lark.clear_faults()
    item = await scene.one(status="delivered")
    assert delivery(item) == ("delivered", None, "direct")
    assert item["delivery"]["attempts"] == len(home.lark.sends(scene.chat)) == 1


async def test_r16_every_part_keeps_its_locator(home: Home, scene: Scene) -> None:
    """R16: each of several parts is read back under its own id, and "not found" is not "could not be read"."""
    scribe = await home.peer("scribe")
    question = scene.ask("ask scribe to write it all down")
    await conclude(scribe, scene, SPREAD)
    item = await scene.one(status="delivered")
    assert delivery(item) == ("delivered", None, "direct")
    parts = home.lark.replies(question)[1:]
    read = {entry.message_id for entry in home.lark.requests("get", chat=scene.chat)}
    assert len(parts) == item["delivery"]["delivered_parts"] >= 3
    assert {part.message_id for part in parts} <= read


async def test_r16_missing_and_unreadable_are_two_states(home: Home) -> None:
    """R16: deleted before it was proved, and not readable, are told apart."""
    deleted, unread = await home.scene(), await home.scene()
    held = deleted.fault("hold_before", "get", skip=1)
    unread.fault("http_500", "get", skip=1, times=None)
    question, other = deleted.ask(), unread.ask()
    await home.lark.wait_held(held.fault_id)
    home.lark.delete(home.lark.replies(question)[0].message_id)
    home.lark.release(held)

    def look(mine: list[dict[str, Any]]) -> list[dict[str, Any]]:
        wanted = {"provider_message_missing", "provider_verification_unavailable"}
        return mine if {item["delivery"]["error"] for item in mine} == wanted else []

    found = {item["delivery"]["error"]: item for item in await deleted.until(look)}
    gone, unknown = found["provider_message_missing"], found["provider_verification_unavailable"]
    assert (gone["delivery"]["status"], gone["needs_operator"]) == ("explicit_unverified", True)
    assert (unknown["delivery"]["status"], unknown["needs_operator"]) == ("verification_required", False)
    home.lark.clear_faults()
    item = await deleted.until(lambda mine: next((i for i in mine if i["delivery"]["status"] == "delivered"), None))
    assert item["request_id"] == unknown["request_id"]
    assert len(unread.answers(other)) == 1
    assert len(home.lark.sends(unread.chat)) == 1


async def test_a1_a_token_that_ended_is_replaced_once(home: Home, scene: Scene) -> None:
    """A1: 99991663 is definite: a fresh token is fetched and the same message goes out once."""
    tokens = len(home.lark.requests("token"))
    held = scene.fault("hold_before", "get")
    question = scene.ask()
    await home.lark.wait_held(held.fault_id)
    scene.fault("token_expired", "reply")
    home.lark.release(held)
    item = await scene.one(status="delivered")
    assert (item["delivery"]["attempts"], item["delivery"]["verification"]) == (2, "direct")
    refused, accepted = home.lark.sends(scene.chat)
    assert (refused.code, accepted.code, refused.uuid) == (99991663, 0, accepted.uuid)
    assert len(scene.answers(question)) == 1
    assert len(home.lark.requests("token")) == tokens + 1


async def asked_in_turn(home: Home, scene: Scene, count: int) -> list[Message]:
    """Questions one after the other: of pushes that are under way together any may arrive first."""
    questions: list[Message] = []
    for number in range(count):
        questions.append(scene.ask(f"{QUESTION} ({number})"))
        (push,) = home.lark.pushes(message_id=questions[-1].message_id)
        await home.lark.wait_pushed(push)
    return questions


async def test_a3_twenty_answers_into_one_chat(home: Home, scene: Scene) -> None:
    """A3: twenty answers at once keep the chat's pace: none is refused, all arrive, in order."""
    questions = await asked_in_turn(home, scene, 20)
    items = await scene.settled(20)
    assert {delivery(item) for item in items} == {("delivered", None, "direct")}
    assert [entry.code for entry in home.lark.sends(scene.chat)] == [0] * 20
    asked = [question.message_id for question in questions]
    assert [seen.parent_id for seen in home.lark.visible(scene.chat, by_app=True)] == asked


async def test_a3_a_limit_that_is_met_all_the_same(home: Home, scene: Scene) -> None:
    """A3: others use up the chat's limit (230020, 429): waited for, and the order is kept."""
    scene.fault("error", "reply", code=230020, skip=1, times=3)
    scene.fault("rate_limited", "reply", seconds=1, skip=5)
    questions = await asked_in_turn(home, scene, 6)
    items = await scene.settled(6)
    assert {delivery(item) for item in items} == {("delivered", None, "direct")}
    assert sum(item["delivery"]["attempts"] for item in items) == 6 + 4
    asked = [question.message_id for question in questions]
    assert [seen.parent_id for seen in home.lark.visible(scene.chat, by_app=True)] == asked


async def test_a5_being_sent_is_not_a_failure(home: Home, scene: Scene) -> None:
    """A5: 230049, "the message is being sent", is an unknown outcome: read, never sent again."""
    scene.fault("error", "reply", code=230049)
    question = scene.ask()
    item = await scene.one(status="explicit_unverified")
    assert delivery(item) == ("explicit_unverified", "no_match_found", None)
    assert scene.answers(question) == []
    assert len(home.lark.sends(scene.chat)) == 1
    assert home.lark.requests("list", chat=scene.chat), "nobody looked for it"


async def test_a5_the_wait_that_lark_asks_for_is_kept(home: Home, scene: Scene) -> None:
    """A5: ``x-ogw-ratelimit-reset`` is honoured."""
    scene.fault("rate_limited", "reply", seconds=1)
    scene.ask()
    await scene.one(status="delivered")
    refused, accepted = home.lark.sends(scene.chat)
    assert accepted.at - refused.at >= 1_000


async def test_o3_delivered_is_never_overwritten(home: Home, scene: Scene) -> None:
    """O3: proved, then recalled and asked for again: it was delivered, and stays so."""
    question = scene.ask()
    item = await scene.one(status="delivered")
    reads = len(home.lark.reads(scene.chat))
    home.lark.recall(home.lark.replies(question)[0].message_id)
    again = await home.verify(item, expect=0)
    assert again["delivery"] == item["delivery"]
    assert (await scene.items())[0]["delivery"] == item["delivery"]
    assert len(home.lark.reads(scene.chat)) == reads
    assert len(home.lark.sends(scene.chat)) == 1
