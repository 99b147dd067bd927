"""What the local Lark pushes, to whom, and how often."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
from aiohttp import web

from providers.lark_double.envelope import sign
from providers.lark_double.model import Message
from providers.lark_double.server import LarkDouble
from tests.support.double import (
    APP_ID,
    ENCRYPT_KEY,
    OTHER_APP_ID,
    SECRET,
    TOKEN,
    Answer,
    Received,
    Sink,
    calling,
    running,
    sink,
)


@pytest.fixture
async def double() -> AsyncGenerator[LarkDouble]:
    async with running() as it:
        yield it


@pytest.fixture
async def hook(double: LarkDouble) -> AsyncGenerator[Sink]:
    async with sink() as it:
        double.set_webhook(APP_ID, it.url)
        yield it


def answers(*statuses: int) -> Answer:
    """A webhook that answers these in turn, then 200."""
    left = list(statuses)

    async def answer(_received: Received) -> web.Response:
        return web.Response(status=left.pop(0) if left else 200)

    return answer


async def test_a_push_is_encrypted_signed_and_whole(double: LarkDouble, hook: Sink) -> None:
    said = double.say("dev", "alice", "为什么?", mention=[APP_ID])
    got = (await hook.wait(1))[0]
    assert list(json.loads(got.body)) == ["encrypt"]
    timestamp, nonce = got.headers["X-Lark-Request-Timestamp"], got.headers["X-Lark-Request-Nonce"]
    assert got.headers["X-Lark-Signature"] == sign(timestamp, nonce, ENCRYPT_KEY, got.body)
    assert abs(int(timestamp) - double.clock.now() // 1000) <= 5
    payload = got.payload()
    assert payload["schema"] == "2.0"
    header = payload["header"]
    assert (header["event_type"], header["token"], header["app_id"]) == ("im.message.receive_v1", TOKEN, APP_ID)
    assert header["create_time"] == str(said.create_time)
    sender, message = payload["event"]["sender"], payload["event"]["message"]
    assert sender["sender_type"] == "user"
    assert sender["sender_id"]["open_id"] == double.open_id(APP_ID, "alice")
    assert message["mentions"][0]["id"]["open_id"] == double.open_id(APP_ID, APP_ID)
    assert message["mentions"][0]["mentioned_type"] == "bot"
    assert (message["message_id"], message["chat_type"]) == (said.message_id, "group")
    assert json.loads(message["content"]) == {"text": "@_user_1 为什么?"}


async def test_without_a_key_events_are_plain_and_unsigned(double: LarkDouble, hook: Sink) -> None:
    double.app_of(APP_ID).encrypt_key = ""
    double.say("dev", "alice", "hello", mention=[APP_ID])
    got = (await hook.wait(1))[0]
    assert json.loads(got.body)["header"]["token"] == TOKEN
    assert not [name for name in got.headers if name.startswith("X-Lark")]


async def test_who_hears_what(double: LarkDouble) -> None:
    app, other = double.app_of(APP_ID), double.app(OTHER_APP_ID, SECRET, name="Other")
    double.add_bot("dev", OTHER_APP_ID)

    def heard(message: Message) -> set[str]:
        return {
            push.app_id for push in double.pushes(event_type="im.message.receive_v1", message_id=message.message_id)
        }

    assert heard(double.say("dev", "alice", "to nobody")) == set()
    assert heard(double.say("dev", "alice", "to one", mention=[APP_ID])) == {APP_ID}
    assert heard(double.say("dev", "alice", "to both @{" + OTHER_APP_ID + "}", mention=[APP_ID])) == {
        APP_ID,
        OTHER_APP_ID,
    }
    assert heard(double.say("dev", "alice", "to bob", mention=["bob"])) == set()
    assert heard(double.say("dev", "alice", "all", mention_all="text")) == {APP_ID, OTHER_APP_ID}
    app.hears_at_all = other.hears_at_all = False
    assert heard(double.say("dev", "alice", "all", mention_all="entry")) == set()
    assert heard(double.bot_says("dev", OTHER_APP_ID, "bot to bot", mention=[APP_ID])) == set()
    app.hears_bots = True
    assert heard(double.bot_says("dev", OTHER_APP_ID, "bot to bot", mention=[APP_ID])) == {APP_ID}
    app.hears_all_group_messages = True
    assert heard(double.say("dev", "alice", "to nobody")) == {APP_ID}
    assert heard(double.say(double.private_chat("alice", OTHER_APP_ID), "alice", "private")) == {OTHER_APP_ID}
    other.subscribed = frozenset({"im.message.recalled_v1"})
    assert heard(double.say(double.private_chat("alice", OTHER_APP_ID), "alice", "private")) == set()


async def test_at_all_has_two_shapes(double: LarkDouble, hook: Sink) -> None:
    double.say("dev", "alice", "lunch", mention_all="text")
    double.say("dev", "alice", "lunch", mention_all="entry")
    await hook.wait(2)
    by_mentions = {"mentions" in (message := got.payload()["event"]["message"]): message for got in hook.received}
    assert (
        json.loads(by_mentions[False]["content"]) == json.loads(by_mentions[True]["content"]) == {"text": "@_all lunch"}
    )
    assert by_mentions[True]["mentions"][0]["key"] == "@_all"
    assert set(by_mentions[True]["mentions"][0]["id"].values()) == {""}


async def test_threads_and_replies_in_events(double: LarkDouble, hook: Sink) -> None:
    first = double.say("dev", "alice", "one", mention=[APP_ID])
    second = double.say("dev", "alice", "two", mention=[APP_ID], reply_to=first, in_thread=True)
    await hook.wait(2)
    messages = {
        got.payload()["event"]["message"]["message_id"]: got.payload()["event"]["message"] for got in hook.received
    }
    assert "thread_id" not in messages[first.message_id]
    assert messages[second.message_id]["thread_id"] == second.thread_id == first.thread_id
    assert messages[second.message_id]["root_id"] == messages[second.message_id]["parent_id"] == first.message_id


async def test_pushed_again_after_15_s_5_min_1_h_and_6_h_and_then_no_more(double: LarkDouble, hook: Sink) -> None:
    double.set_scale(0)
    start = double.clock.now()
    hook.answer = answers(500, 404, 302, 503, 500)
    double.say("dev", "alice", "hello", mention=[APP_ID])
    push = double.pushes()[0]
    for attempts, wait_s in enumerate((15, 300, 3600, 21600), 1):
        await double.wait_for(lambda attempts=attempts: len(push.attempts) == attempts and push.next_at)
        double.advance(wait_s - 1)
        assert len(push.attempts) == attempts
        double.advance(1)
    await double.wait_for(lambda: push.state == "exhausted")
    assert [attempt.status for attempt in push.attempts] == [500, 404, 302, 503, 500]
    assert [(attempt.at - start) // 1000 for attempt in push.attempts] == [0, 15, 315, 3915, 25515]
    assert len({got.payload()["header"]["event_id"] for got in hook.received}) == 1


@pytest.mark.parametrize("fresh", [True, False])
async def test_the_timestamp_of_a_repush_is_a_knob(double: LarkDouble, hook: Sink, fresh: bool) -> None:
    double.knobs.fresh_repush = fresh
    hook.answer = answers(500)
    double.say("dev", "alice", "hello", mention=[APP_ID])
    push = double.pushes()[0]
    await double.wait_for(lambda: push.next_at)
    double.advance(15)
    first, second = await hook.wait(2)
    stamps = [int(got.headers["X-Lark-Request-Timestamp"]) for got in (first, second)]
    assert (stamps[1] - stamps[0] >= 15) == fresh
    assert (first.body != second.body) == fresh
    assert first.payload() == second.payload()


async def test_failed_events_can_be_pushed_again_at_once_without_moving_the_clock(
    double: LarkDouble, hook: Sink
) -> None:
    double.set_scale(0)
    now = double.clock.now()
    hook.answer = answers(500, 500, 500)
    double.say("dev", "alice", "one", mention=[APP_ID])
    double.say("dev", "alice", "two", mention=[APP_ID])
    assert await double.repush() == 2
    await hook.wait(4)
    assert await double.repush(APP_ID) == 1
    await double.wait_for(lambda: len(double.pushes(state="delivered")) == 2)
    assert await double.repush() == 0
    assert (len(hook.received), double.clock.now()) == (5, now)


async def test_signatures_can_carry_the_real_time(double: LarkDouble, hook: Sink) -> None:
    real = double.clock.now() // 1000
    double.advance(86_400)
    double.say("dev", "alice", "one", mention=[APP_ID])
    await hook.wait(1)
    double.knobs.wall_timestamps = True
    double.say("dev", "alice", "two", mention=[APP_ID])
    moved, wall = (int(got.headers["X-Lark-Request-Timestamp"]) for got in await hook.wait(2))
    assert moved - real >= 86_400
    assert wall - real < 60


async def test_a_push_that_is_not_answered_in_time_has_failed(double: LarkDouble, hook: Sink) -> None:
    async def never(_received: Received) -> web.Response:
        await hook.held.wait()
        return web.Response()

    hook.answer = never
    double.knobs.push_timeout_s = 0.05
    double.say("dev", "alice", "hello", mention=[APP_ID])
    push = await double.wait_pushed(double.pushes()[0])
    assert (push.attempts[0].status, push.attempts[0].error, push.state) == (None, "TimeoutError", "pending")
    assert LarkDouble("127.0.0.1", 0, 0, None).knobs.push_timeout_s == 3.0


async def test_nobody_listens_and_then_somebody_does(double: LarkDouble, hook: Sink) -> None:
    url = hook.url
    double.set_webhook(APP_ID, "http://127.0.0.1:1/lark/events")
    double.say("dev", "alice", "hello", mention=[APP_ID])
    push = await double.wait_pushed(double.pushes()[0])
    assert push.attempts[0].status is None
    double.set_webhook(APP_ID, url)
    await double.wait_for(lambda: push.next_at)
    double.advance(15)
    await double.wait_for(lambda: push.state == "delivered")


async def test_events_are_pushed_side_by_side(double: LarkDouble, hook: Sink) -> None:
    inside, together = [], asyncio.Event()

    async def wait_for_the_other(received: Received) -> web.Response:
        inside.append(received)
        if len(inside) == 2:
            together.set()
        await together.wait()
        return web.Response()

    hook.answer = wait_for_the_other
    double.say("dev", "alice", "one", mention=[APP_ID])
    double.say("dev", "alice", "two", mention=[APP_ID])
    await double.wait_for(lambda: len(double.pushes(state="delivered")) == 2)


@pytest.mark.parametrize("reverse", [False, True])
async def test_held_events_leave_one_by_one_in_or_against_their_order(
    double: LarkDouble, hook: Sink, reverse: bool
) -> None:
    double.hold_pushes(APP_ID)
    said = [double.say("dev", "alice", str(number), mention=[APP_ID]).message_id for number in range(5)]
    assert hook.received == []
    assert double.release_pushes(APP_ID, reverse=reverse) == 5
    await hook.wait(5)
    order = [got.payload()["event"]["message"]["message_id"] for got in hook.received]
    assert order == (said[::-1] if reverse else said)


async def test_duplicates_of_three_kinds(double: LarkDouble, hook: Sink) -> None:
    double.say("dev", "alice", "hello", mention=[APP_ID])
    push = double.pushes()[0]
    double.push_again(push)
    double.push_again(push, new_event=True)
    double.push_again(push, new_event=True, message_id="om_another")
    await hook.wait(4)
    await double.wait_for(lambda: len(double.pushes(state="delivered")) == 4)
    payloads = [again.payload for again in double.pushes()]
    events = [payload["header"]["event_id"] for payload in payloads]
    ids = [payload["event"]["message"]["message_id"] for payload in payloads]
    assert events[0] == events[1]
    assert len(set(events)) == 3
    assert (ids[0] == ids[1] == ids[2], ids[3]) == (True, "om_another")
    assert len({payload["event"]["message"]["create_time"] for payload in payloads}) == 1


@pytest.mark.parametrize("shape", ["none", "app", "own_id", "as_user"])
async def test_own_messages_are_echoed_in_three_shapes_or_not(double: LarkDouble, hook: Sink, shape: str) -> None:
    app = double.app_of(APP_ID)
    app.echo = type(app.echo)(shape)
    question = double.say("dev", "alice", "why?", mention=[APP_ID])
    async with calling(double) as caller:
        answer = (await caller.reply(question.message_id, "because")).json()["data"]["message_id"]
    echoes = double.pushes(message_id=answer)
    if shape == "none":
        assert echoes == []
        return
    sender = echoes[0].payload["event"]["sender"]
    own, alice = double.open_id(APP_ID, APP_ID), double.open_id(APP_ID, "alice")
    wanted = {"app": ("app", own), "own_id": ("user", own), "as_user": ("user", alice)}
    assert (sender["sender_type"], sender["sender_id"]["open_id"]) == wanted[shape]


async def test_fields_can_be_missing_or_different_and_events_lost(double: LarkDouble, hook: Sink) -> None:
    double.app_of(APP_ID).sees_user_ids = False
    double.say(
        "dev",
        "alice",
        "odd",
        mention=[APP_ID],
        drop=["event.message.mentions", "event.message.user_agent"],
        put={"event.message.chat_type": "topic_group", "event.new_field": [1]},
    )
    payload = (await hook.wait(1))[0].payload()
    assert payload["event"]["sender"]["sender_id"]["user_id"] is None
    assert not {"mentions", "user_agent"} & set(payload["event"]["message"])
    assert (payload["event"]["message"]["chat_type"], payload["event"]["new_field"]) == ("topic_group", [1])
    lost = double.say("dev", "alice", "lost", mention=[APP_ID], silent=True)
    assert double.pushes(message_id=lost.message_id) == []
    assert len(double.visible("dev")) == 2


async def test_late_unknown_and_wrongly_signed_events(double: LarkDouble, hook: Sink) -> None:
    double.say("dev", "alice", "old", mention=[APP_ID], at=double.clock.now() - 7_200_000)
    late = (await hook.wait(1))[0].payload()
    assert double.clock.now() - int(late["event"]["message"]["create_time"]) >= 7_200_000
    double.push_event(APP_ID, "im.pigeon.landed_v1", {"pigeon": 1}, event_id="e-1")
    unknown = (await hook.wait(2))[1].payload()
    assert (unknown["header"]["event_id"], unknown["event"]) == ("e-1", {"pigeon": 1})
    double.push_event(APP_ID, "x", {}, headers={"X-Lark-Request-Timestamp": "1"})
    stale = (await hook.wait(3))[2]
    assert stale.headers["X-Lark-Request-Timestamp"] == "1"


async def test_what_happens_to_chats_and_messages_is_told(double: LarkDouble, hook: Sink) -> None:
    said = double.say("dev", "alice", "hello", mention=[APP_ID])
    reaction = double.react(said, "alice", "OK")
    double.unreact(reaction.reaction_id)
    double.recall(said, "group_owner")
    double.remove_bot("dev", APP_ID)
    double.say("dev", "alice", "unheard", mention=[APP_ID])
    double.add_bot("dev", APP_ID)
    double.dissolve("dev")
    await hook.wait(7)
    events = {got.payload()["header"]["event_type"]: got.payload()["event"] for got in hook.received}
    assert set(events) == {
        "im.message.receive_v1",
        "im.message.reaction.created_v1",
        "im.message.reaction.deleted_v1",
        "im.message.recalled_v1",
        "im.chat.member.bot.deleted_v1",
        "im.chat.member.bot.added_v1",
        "im.chat.disbanded_v1",
    }
    assert events["im.message.recalled_v1"]["recall_type"] == "group_owner"
    assert "chat_id" not in events["im.message.reaction.created_v1"]
    assert events["im.chat.disbanded_v1"]["operator_id"]["open_id"] == double.open_id(APP_ID, "alice")


async def test_a_dissolved_chat_that_keeps_its_history_tells_nothing(double: LarkDouble) -> None:
    double.dissolve("dev", keep_history=True)
    assert double.pushes() == []


async def test_the_challenge_is_unsigned_and_must_come_back_in_time(double: LarkDouble, hook: Sink) -> None:
    async def echo(received: Received) -> web.Response:
        return web.json_response({"challenge": received.payload()["challenge"]})

    async def never(_received: Received) -> web.Response:
        await hook.held.wait()
        return web.Response()

    hook.answer = echo
    verified = await double.challenge(APP_ID, 'with "quotes"')
    assert (verified.ok, verified.status) == (True, 200)
    got = hook.received[0]
    assert got.payload() == {"challenge": 'with "quotes"', "token": TOKEN, "type": "url_verification"}
    assert not [name for name in got.headers if name.startswith("X-Lark")]
    hook.answer = answers(200)
    assert not (await double.challenge(APP_ID)).ok
    hook.answer = never
    assert double.knobs.challenge_timeout_s == 1.0
    double.knobs.challenge_timeout_s = 0.05
    assert (await double.challenge(APP_ID)).error == "TimeoutError"
