"""uuid, limits and faults of the local Lark: what an honest sender has to live with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import httpx
import pytest

from providers.lark_double.changes import NotSeen
from providers.lark_double.server import LarkDouble
from tests.support.double import APP_ID, OTHER_APP_ID, SECRET, Caller, calling, running


@pytest.fixture
async def double() -> AsyncGenerator[LarkDouble]:
    async with running() as it:
        it.set_scale(0)
        yield it


@pytest.fixture
async def caller(double: LarkDouble) -> AsyncGenerator[Caller]:
    async with calling(double) as it:
        await it.login()
        yield it


def code(response: httpx.Response) -> int:
    return response.json()["code"]


def dev(double: LarkDouble) -> str:
    return double.chat_of("dev").chat_id


# --- uuid


async def test_a_second_send_with_a_uuid_gives_the_first_message(double: LarkDouble, caller: Caller) -> None:
    first = await caller.send(dev(double), "once", uuid="u-1")
    second = await caller.send(dev(double), "other words", uuid="u-1")
    assert first.json()["data"] == second.json()["data"]
    assert len(double.visible("dev")) == 1
    assert [(entry.committed, entry.repeated) for entry in double.sends()] == [(True, False), (False, True)]


async def test_a_uuid_is_good_for_an_hour(double: LarkDouble, caller: Caller) -> None:
    await caller.send(dev(double), uuid="u-1")
    double.advance(3599)
    await caller.send(dev(double), uuid="u-1")
    assert len(double.visible("dev")) == 1
    double.advance(1)
    await caller.send(dev(double), uuid="u-1")
    assert len(double.visible("dev")) == 2


async def test_send_and_reply_share_uuids_and_apps_do_not(double: LarkDouble, caller: Caller) -> None:
    double.app(OTHER_APP_ID, SECRET)
    double.add_bot("dev", OTHER_APP_ID)
    sent = (await caller.send(dev(double), uuid="u-1")).json()["data"]
    replied = (await caller.reply(sent["message_id"], uuid="u-1")).json()["data"]
    assert replied["message_id"] == sent["message_id"]
    async with calling(double, OTHER_APP_ID) as other:
        await other.send(dev(double), uuid="u-1")
    assert len(double.visible("dev")) == 2


async def test_a_failed_attempt_leaves_the_uuid_unused(double: LarkDouble, caller: Caller) -> None:
    assert code(await caller.send(dev(double), "", uuid="u-1")) == 230001
    double.fault("error", "send", code=230020)
    assert code(await caller.send(dev(double), uuid="u-1")) == 230020
    assert code(await caller.send(dev(double), uuid="u-1")) == 0
    assert len(double.visible("dev")) == 1


async def test_a_uuid_has_fifty_characters_at_most(double: LarkDouble, caller: Caller) -> None:
    assert code(await caller.send(dev(double), uuid="u" * 50)) == 0
    assert code(await caller.send(dev(double), uuid="u" * 51)) == 230001


async def test_a_send_with_the_uuid_of_one_under_way_is_told_so(double: LarkDouble, caller: Caller) -> None:
    fault = double.fault("hold_before", "send")
    first = asyncio.create_task(caller.send(dev(double), uuid="u-1"))
    await double.wait_held(fault.fault_id)
    assert code(await caller.send(dev(double), uuid="u-1")) == 230049
    assert double.visible("dev") == []
    double.release(fault)
    assert code(await first) == 0
    assert code(await caller.send(dev(double), uuid="u-1")) == 0
    assert len(double.visible("dev")) == 1


@pytest.mark.parametrize(("knob", "wanted", "messages"), [("refused", 230001, 1), ("ignored", 0, 2)])
async def test_what_a_second_send_gives_is_a_knob(
    double: LarkDouble, caller: Caller, knob: str, wanted: int, messages: int
) -> None:
    double.knobs.uuid_repeat = type(double.knobs.uuid_repeat)(knob)
    await caller.send(dev(double), uuid="u-1")
    assert code(await caller.send(dev(double), uuid="u-1")) == wanted
    assert len(double.visible("dev")) == messages


# --- limits


async def test_five_messages_a_second_into_a_chat_from_all_bots_together(double: LarkDouble, caller: Caller) -> None:
    double.app(OTHER_APP_ID, SECRET)
    double.add_bot("dev", OTHER_APP_ID)
    elsewhere = double.create_chat("elsewhere", ["alice"], [APP_ID])
    async with calling(double, OTHER_APP_ID) as other:
        codes = [code(await who.send(dev(double))) for who in (caller, other, caller, other, caller, other)]
    assert codes == [0, 0, 0, 0, 0, 230020]
    assert code(await caller.send(elsewhere.chat_id)) == 0
    double.advance(1)
    assert code(await caller.send(dev(double))) == 0


async def test_calls_of_an_api_are_counted_by_second_and_by_minute(double: LarkDouble, caller: Caller) -> None:
    double.knobs.app_per_second, double.knobs.app_per_minute = 2, 6
    path = "/bot/v3/info"
    for second in range(3):
        assert [code(await caller.call("GET", path)) for _ in range(2)] == [0, 0]
        if second == 0:
            limited = await caller.call("GET", path)
            assert (limited.status_code, code(limited)) == (429, 99991400)
            assert (limited.headers["x-ogw-ratelimit-limit"], limited.headers["x-ogw-ratelimit-reset"]) == ("2", "1")
        double.advance(1)
    limited = await caller.call("GET", path)
    assert (limited.headers["x-ogw-ratelimit-limit"], limited.headers["x-ogw-ratelimit-reset"]) == ("6", "57")
    assert code(await caller.call("GET", "/im/v1/chats")) == 0
    double.knobs.bare_429 = True
    assert (await caller.call("GET", path)).content == b""
    double.advance(57)
    assert code(await caller.call("GET", path)) == 0


async def test_limits_can_be_switched_off(double: LarkDouble, caller: Caller) -> None:
    double.knobs.limits = False
    assert {code(await caller.send(dev(double))) for _ in range(60)} == {0}


# --- faults


@pytest.mark.parametrize("kind", ["drop_after", "reset_after"])
async def test_accepted_and_never_answered(double: LarkDouble, caller: Caller, kind: str) -> None:
    double.fault(kind, "send")
    with pytest.raises(httpx.TransportError):
        await caller.send(dev(double), "lost answer", uuid="u-1")
    assert [seen.text for seen in double.visible("dev")] == ["lost answer"]
    entry = double.sends()[0]
    assert (entry.status, entry.committed, entry.faults) == (0, True, (kind,))
    assert code(await caller.send(dev(double), uuid="u-1")) == 0
    assert len(double.visible("dev")) == 1


async def test_reset_before_anything_was_done(double: LarkDouble, caller: Caller) -> None:
    double.fault("reset_before", "send")
    with pytest.raises(httpx.TransportError):
        await caller.send(dev(double))
    assert double.visible("dev") == []


@pytest.mark.parametrize(
    ("kind", "wanted", "before"),
    [("http_500", 500, True), ("html_502", 502, True), ("http_500_after", 500, False), ("html_502_after", 502, False)],
)
async def test_broken_servers_and_proxies(
    double: LarkDouble, caller: Caller, kind: str, wanted: int, before: bool
) -> None:
    double.fault(kind, "send")
    response = await caller.send(dev(double))
    assert response.status_code == wanted
    with pytest.raises(ValueError, match="Expecting value"):
        response.json()
    assert len(double.visible("dev")) == (0 if before else 1)


async def test_truncated_json(double: LarkDouble, caller: Caller) -> None:
    double.fault("truncated", "send")
    response = await caller.send(dev(double))
    assert response.status_code == 200
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        response.json()
    assert len(double.visible("dev")) == 1


async def test_success_without_an_id_and_with_one_of_another_chat(double: LarkDouble, caller: Caller) -> None:
    elsewhere = double.create_chat("elsewhere", ["alice"], [APP_ID])
    foreign = double.say(elsewhere, "alice", "hello")
    double.fault("no_message_id", "send")
    without = (await caller.send(dev(double))).json()
    assert without["code"] == 0
    assert "message_id" not in without["data"]
    double.fault("other_chat", "send")
    other = (await caller.send(dev(double))).json()["data"]
    assert other["message_id"] == foreign.message_id
    assert len(double.visible("dev")) == 2


async def test_faults_count_match_and_skip(double: LarkDouble, caller: Caller) -> None:
    elsewhere = double.create_chat("elsewhere", ["alice"], [APP_ID])
    question = double.say("dev", "alice", "why?")
    double.fault("error", ("send", "reply"), chat="dev", times=2, skip=1, code=230022)
    codes = [
        code(await caller.send(elsewhere.chat_id)),
        code(await caller.send(dev(double))),
        code(await caller.get(question.message_id)),
        code(await caller.reply(question.message_id)),
        code(await caller.send(dev(double))),
        code(await caller.send(dev(double))),
    ]
    assert codes == [0, 0, 0, 230022, 230022, 0]


async def test_faults_last_until_cleared_and_meet_in_one_request(double: LarkDouble, caller: Caller) -> None:
    double.fault("error", times=None, code=230006)
    for _ in range(3):
        assert code(await caller.send(dev(double))) == 230006
    double.clear_faults()
    double.fault("recall_after", "send")
    double.fault("drop_after", "send")
    with pytest.raises(httpx.TransportError):
        await caller.send(dev(double))
    assert [seen.recalled for seen in double.visible("dev")] == [True]


async def test_token_expiry_in_the_middle(double: LarkDouble, caller: Caller) -> None:
    double.fault("token_expired", "send")
    assert code(await caller.send(dev(double))) == 99991663
    assert code(await caller.send(dev(double))) == 99991663
    await caller.login()
    assert code(await caller.send(dev(double))) == 0


async def test_faults_strike_the_token_too(double: LarkDouble, caller: Caller) -> None:
    double.fault("http_500", "token")
    with pytest.raises(ValueError, match="Expecting value"):
        await caller.login()
    double.fault("error", "token", code=10014)
    assert await caller.login() == {"code": 10014, "msg": "app id not exists", "data": {}}


async def test_held_after_commit_the_client_may_die_and_the_message_is_there(
    double: LarkDouble, caller: Caller
) -> None:
    fault = double.fault("hold_after", "send")
    sending = asyncio.create_task(caller.send(dev(double)))
    await double.wait_held(fault.fault_id)
    assert len(double.visible("dev")) == 1
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert double.release(fault) == 1
    await double.wait_request("send")
    assert len(double.visible("dev")) == 1


async def test_held_before_commit_it_is_written_once_released_even_to_a_dead_client(
    double: LarkDouble, caller: Caller
) -> None:
    fault = double.fault("hold_before", "send", times=2)
    for go_on, messages in ((True, 1), (False, 1)):
        sending = asyncio.create_task(caller.send(dev(double)))
        await double.wait_held(fault.fault_id)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        double.release(fault, go_on=go_on)
        await double.wait_request("send", 1 if go_on else 2)
        assert len(double.visible("dev")) == messages


@pytest.mark.parametrize("kind", ["delay_before", "delay_after"])
async def test_delays_are_real_time(double: LarkDouble, caller: Caller, kind: str) -> None:
    double.fault(kind, "send", seconds=0.2)
    started = time.monotonic()
    assert code(await caller.send(dev(double))) == 0
    assert time.monotonic() - started >= 0.2


async def test_hidden_messages_appear_in_time(double: LarkDouble, caller: Caller) -> None:
    double.fault("hide", "send", seconds=30)
    sent = (await caller.send(dev(double))).json()["data"]["message_id"]
    assert code(await caller.get(sent)) == 99992354
    assert (await caller.list(dev(double))).json()["data"]["items"] == []
    assert len(double.visible("dev")) == 1
    double.advance(30)
    assert code(await caller.get(sent)) == 0
    double.hide(sent)
    assert code(await caller.get(sent)) == 99992354
    double.reveal()
    assert len((await caller.list(dev(double))).json()["data"]["items"]) == 1


async def test_offline_refuses_connections_and_online_is_the_same_address(double: LarkDouble, caller: Caller) -> None:
    url = double.url
    await double.go_offline()
    async with httpx.AsyncClient(trust_env=False) as fresh:
        with pytest.raises(httpx.ConnectError):
            await fresh.get(f"{url}/open-apis/bot/v3/info")
        assert (await fresh.get(f"{double.control_url}/_control/settings")).status_code == 200
        assert (await fresh.get(f"{double.control_url}/open-apis/bot/v3/info")).status_code == 404
    await double.go_online()
    assert double.url == url
    assert code(await caller.send(dev(double))) == 0


async def test_a_rate_limit_says_how_long_to_wait(double: LarkDouble, caller: Caller) -> None:
    double.fault("rate_limited", "send", seconds=7)
    limited = await caller.send(dev(double))
    assert (limited.status_code, limited.headers["x-ogw-ratelimit-reset"]) == (429, "7")
    assert double.visible("dev") == []


async def test_the_journal_knows_what_each_request_was_about(double: LarkDouble, caller: Caller) -> None:
    question = double.say("dev", "alice", "why?")
    answer = (await caller.reply(question.message_id, uuid="u-1")).json()["data"]["message_id"]
    await caller.get(answer)
    await caller.list(dev(double))
    await caller.call("GET", "/nowhere")
    kept = [(entry.operation, entry.app_id, entry.chat_id, entry.code) for entry in double.requests()]
    chat = dev(double)
    assert kept == [
        ("token", APP_ID, None, 0),
        ("reply", APP_ID, chat, 0),
        ("get", APP_ID, chat, 0),
        ("list", APP_ID, chat, 0),
        ("unknown", None, None, 99991201),
    ]
    reply = double.requests("reply", message_id=question.message_id)[0]
    assert (reply.target_id, reply.message_id, reply.uuid) == (question.message_id, answer, "u-1")
    assert [entry.operation for entry in double.reads("dev")] == ["get", "list"]
    assert [seen.message_id for seen in double.replies(question)] == [answer]


async def test_waiting_in_vain_says_for_what(double: LarkDouble) -> None:
    with pytest.raises(NotSeen, match="1 messages"):
        await double.wait_visible("dev", timeout_s=0.01)
