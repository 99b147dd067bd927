"""Reported kinds of trouble with repeated, late and crossing events, through the whole product: D1-D10, S1, S2.

The local Lark pushes signed events over HTTP; what people then see in the chat, and the inbox, must be right.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.reports import QUESTION, SECOND_APP, Home, Scene, house

pytestmark = [pytest.mark.process, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
PLACE = "engine.py:1@"
"""In every answer to the usual question."""
MOST_MS = 3_000
"""Lark waits for 200 no longer than this."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    async with house(tmp_path_factory.mktemp("duplicates")) as it:
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def scene(home: Home) -> AsyncIterator[Scene]:
    yield await home.scene()
    home.lark.clear_faults()


async def answered_once(scene: Scene) -> None:
    """One request, one visible answer, one send."""
    item = await scene.one(status="delivered")
    assert (item["delivery"]["verification"], item["delivery"]["attempts"]) == ("direct", 1)
    assert len(scene.seen()) == 1
    assert len(scene.lark.sends(scene.chat)) == 1


async def test_d1_d4_copies_across_restarts_and_hours(tmp_path: Path) -> None:
    """D1, D4: ten copies at once, then again after a kill and a restart, and six hours later: one answer."""
    async with house(tmp_path) as home:
        scene = await home.scene()
        question = scene.ask(silent=True)
        copies = [home.lark.push_message(home.app, question) for _ in range(10)]
        await home.pushed(question)
        await answered_once(scene)
        await home.gateway.kill()
        await home.gateway.start()
        await home.lark.wait_pushed(home.lark.push_again(copies[0]))
        await home.lark.wait_pushed(home.lark.push_again(copies[0], new_event=True))
        home.lark.advance(6 * 3600)
        await home.lark.wait_pushed(home.lark.push_again(copies[0], new_event=True))
        await home.pushed(question)
        await answered_once(scene)


async def test_d1_the_200_is_lost_and_lark_pushes_again(home: Home, scene: Scene) -> None:
    """D1: no 200 came while the database was locked, so Lark pushes again: committed once, answered once."""
    database = sqlite3.connect(home.gateway.settings.data_dir / "steward.db", isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        question = scene.ask()
        push = home.event(question)
        await home.lark.wait_pushed(push, attempts=1)
        assert push.attempts[0].status == 503, "never a 200 without the row"
        assert push.attempts[0].latency_ms < MOST_MS
    finally:
        database.rollback()
        database.close()
    assert await scene.items() == []
    assert await home.lark.repush(home.app) == 1
    await home.pushed(question)
    await answered_once(scene)


async def test_d2_a_second_message_before_the_first_is_answered(home: Home, scene: Scene) -> None:
    """D2: 200 at once although the first turn is still at work; then one answer each."""
    held = scene.fault("hold_before", "get")
    first = scene.ask()
    await home.lark.wait_held(held.fault_id)
    second = scene.ask("why was the last commit made?", at=first.create_time + 22_000)
    await home.pushed(first)
    await home.pushed(second)
    assert all(push.attempts[0].latency_ms < MOST_MS for push in home.lark.pushes(home.app))
    assert scene.seen() == []
    home.lark.release(held)
    await scene.settled(2)
    assert [len(scene.answers(question)) for question in (first, second)] == [1, 1]
    assert len(home.lark.sends(scene.chat)) == 2


async def test_d3_the_same_message_four_times(home: Home, scene: Scene) -> None:
    """D3: one message id pushed four times under four event ids: one answer."""
    question = scene.ask()
    await answered_once(scene)
    push = home.event(question)
    for _ in range(3):
        again = await home.lark.wait_pushed(home.lark.push_again(push, new_event=True))
        assert again.state == "delivered"
    await answered_once(scene)


async def test_d4_copies_at_the_same_moment(home: Home, scene: Scene) -> None:
    """D4: the same event twenty times side by side: the claim is atomic."""
    question = scene.ask(silent=True)
    first = home.lark.push_message(home.app, question, event_id="d4-the-same-event")
    for _ in range(19):
        home.lark.push_again(first)
    await home.pushed(question)
    await answered_once(scene)


async def test_d6_two_bots_in_one_message(home: Home) -> None:
    """D6: a message that names two bots has one message id; each bot answers it, as itself, once."""
    scene = await home.scene(bots=[home.app, home.second])
    question = home.lark.say(scene.chat, "lin", QUESTION, mention=[home.app.app_id, home.second.app_id])
    await scene.settled(2)
    senders = [seen.sender for seen in home.lark.replies(question)]
    assert sorted(senders) == [home.app.app_id, home.second.app_id]
    for app in (home.app, home.second):
        push = home.event(question, app)
        await home.lark.wait_pushed(home.lark.push_again(push, new_event=True))
    assert len(await scene.items()) == 2
    assert len(scene.seen()) == 2


async def test_d8_again_under_a_new_message_id(home: Home, scene: Scene) -> None:
    """D8: redelivered with another message id and its first create_time: the same message."""
    question = scene.ask()
    await answered_once(scene)
    push = home.event(question)
    again = home.lark.push_again(push, new_event=True, message_id="om_redelivered_as_another")
    assert (await home.lark.wait_pushed(again)).state == "delivered"
    await answered_once(scene)


async def test_d8_the_earlier_message_arrives_after_the_later_one(home: Home, scene: Scene) -> None:
    """D8: A is lost on the way, B is answered, then A arrives: answered too, and said to be late where it is."""
    now = home.lark.clock.now()
    first = scene.ask("where is the class Engine defined, A?", silent=True, at=now - 20 * MINUTE_MS)
    second = scene.ask("where is the class Engine defined, B?")
    await scene.settled(1)
    home.lark.push_message(home.app, first)
    later, earlier = await scene.settled(2)
    assert (later["late"], earlier["late"]) == (False, True)
    assert later["asked_at"] > earlier["asked_at"]
    (said,) = scene.answers(first)
    assert said.startswith("(Your question reached me late, so this comes late too.)")
    assert PLACE in said
    assert len(scene.answers(second)) == 1


async def test_d9_a_restart_that_comes_hours_late(home: Home, scene: Scene) -> None:
    """D9: "restart", written while the gateway was down, expires when it arrives; it is listed, not obeyed or told."""
    before = len(await home.events("late"))
    question = scene.ask("restart", at=home.lark.clock.now() - 2 * HOUR_MS)
    await home.pushed(question)
    listed = await home.events("late")
    assert len(listed) == before + 1
    assert (listed[0]["state"], listed[0]["reason"]) == ("late", "late_control_expired")
    assert listed[0]["request_id"] is None
    assert await scene.items() == []
    assert scene.seen() == []


async def test_d10_seven_hours_late_and_never_seen(home: Home, scene: Scene) -> None:
    """D10: written at 11:41, delivered at 18:46: answered, said to be late, and listed."""
    question = scene.ask(at=home.lark.clock.now() - 7 * HOUR_MS)
    item = await scene.one(status="delivered")
    assert item["late"] is True
    (said,) = scene.answers(question)
    assert said.startswith("(Your question reached me late, so this comes late too.)")
    assert PLACE in said
    listed = await home.gateway.command("inbox", "events", "--state", "late")
    (event,) = [event for event in listed["items"] if event["request_id"] == item["request_id"]]
    assert event["reason"] == "answered_late"


async def test_s1_rapid_messages_are_all_answered(home: Home, scene: Scene) -> None:
    """S1: six messages in a row: six answers, in their order."""
    now = home.lark.clock.now()
    questions = [scene.ask(f"{QUESTION} {number}", at=now + number) for number in range(6)]
    await scene.settled(6)
    assert [seen.parent_id for seen in home.lark.visible(scene.chat, by_app=True)] == [
        question.message_id for question in questions
    ]


async def test_s2_a_second_message_does_not_end_the_first(home: Home, scene: Scene) -> None:
    """S2: the second message comes in the middle of the first one's turn; both have their receipt and their answer."""
    held = scene.fault("hold_before", "get")
    first = scene.ask()
    await home.lark.wait_held(held.fault_id)
    second = scene.ask("why was the last commit made?", at=first.create_time + 1)
    await home.lark.wait_for(lambda: home.lark.reactions(second, app=home.app), 10, "the second one's receipt")
    assert home.lark.reactions(first, app=home.app)
    home.lark.release(held)
    items = await scene.settled(2)
    assert [item["work"] for item in items] == ["resolved", "resolved"]
    assert PLACE in scene.answers(first)[0]
    assert "Because carts are slow" in scene.answers(second)[0]


async def test_other_conversations_do_not_wait(home: Home, scene: Scene) -> None:
    """S3: while one chat's turn hangs, another chat is answered."""
    held = scene.fault("hold_before", "get")
    scene.ask()
    await home.lark.wait_held(held.fault_id)
    other = await home.scene()
    started = time.monotonic()
    await other.answered(other.ask())
    assert scene.seen() == [], f"held, {time.monotonic() - started:.1f} s later"
    home.lark.release(held)
    await scene.until(lambda mine: all(item["delivery"]["status"] == "delivered" for item in mine))


async def test_the_second_apps_door_is_its_own(home: Home) -> None:
    """M5, D6: an event of one app at the other's address is not authentic, and nobody answers."""
    scene = await home.scene(bots=[home.second])
    home.lark.set_webhook(home.second, f"{home.gateway.settings.url}/lark/events")
    try:
        question = scene.ask(app=home.second)
        push = home.event(question)
        await home.lark.wait_pushed(push)
        assert push.attempts[0].status == 401
    finally:
        home.lark.set_webhook(home.second, f"{home.gateway.settings.url}/lark/events/{SECOND_APP}")
    assert await scene.items() == []
    await home.lark.repush(home.second)
    await scene.one(status="delivered")
