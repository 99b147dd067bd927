"""Chats as the steward reads them, and the receipt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from manager.ports import ChatFacts, ChatMessage, ChatRead, Gone
from providers.lark.events import parse_event
from providers.lark.reader import LarkReader
from providers.lark.receipts import LarkReceipts
from returns.ids import AppName, ChatId, MessageId
from tests.support.lark import (
    APP,
    DOMAIN,
    MESSAGES_URL,
    START,
    TOKEN_URL,
    Answering,
    HangUp,
    answering,
    message,
    ok,
    opened,
    refused,
    token_answer,
)

CHAT_URL = f"{DOMAIN}/open-apis/im/v1/chats/oc_1"
PUBLIC = "http://open.lark.test"
BOT_URL = f"{DOMAIN}/open-apis/bot/v3/info"
REACTIONS_URL = f"{MESSAGES_URL}/om_1/reactions"
PERSON = {"id": "ou_1", "id_type": "open_id", "sender_type": "user"}


@pytest.fixture
async def lark() -> AsyncIterator[Answering]:
    async with answering() as server:
        yield server


async def message_of(lark: Answering, answer: httpx.Response) -> ChatRead:
    lark.get(f"{MESSAGES_URL}/om_1").mock(return_value=answer)
    async with opened(lark) as client:
        return await LarkReader(client).message(APP.name, MessageId("om_1"))


async def chat_of(lark: Answering, answer: httpx.Response) -> ChatFacts | Gone:
    return await _chat_at(lark, PUBLIC, answer)


async def _chat_at(lark: Answering, domain: str, answer: httpx.Response) -> ChatFacts | Gone:
    lark.post(TOKEN_URL.replace(DOMAIN, domain)).mock(return_value=token_answer())
    lark.get(CHAT_URL.replace(DOMAIN, domain)).mock(return_value=answer)
    async with opened(lark, None, replace(APP, domain=domain)) as client:
        return await LarkReader(client).chat(APP.name, ChatId("oc_1"))


async def test_a_message_with_its_names(lark: Answering) -> None:
    mentions = [{"key": "@_user_1", "id": "ou_2", "id_type": "open_id", "name": "Tom"}]
    got = await message_of(lark, ok(items=[message(text="@_user_1 hi", mentions=mentions, sender=PERSON)]))
    assert isinstance(got, ChatMessage)
    assert (got.text, got.author, got.sent_at, got.edited_at) == ("@Tom hi", "asker", START, None)


async def test_an_edited_message_says_when(lark: Answering) -> None:
    got = await message_of(lark, ok(items=[message(updated=True, update_time=str(START + 5))]))
    assert isinstance(got, ChatMessage)
    assert got.edited_at == START + 5


@pytest.mark.parametrize(
    ("sender", "author"),
    [
        (PERSON, "asker"),
        ({"id": "cli_own", "sender_type": "app"}, "steward"),
        ({"id": "cli_x", "sender_type": "app"}, "bot"),
        ({"id": "cli_own", "sender_type": "bot"}, "bot"),
    ],
)
async def test_who_wrote_it(lark: Answering, sender: object, author: str) -> None:
    got = await message_of(lark, ok(items=[message(sender=sender)]))
    assert isinstance(got, ChatMessage)
    assert got.author == author


@pytest.mark.parametrize(
    ("event_content", "rest_content", "kind"),
    [
        ('{"text":"@_user_1 hi"}', '{ "text" : "@_user_1 hi" }', "text"),
        (
            '{"title":"","content":[[{"tag":"text","text":"hi"}]]}',
            '{"content":[[{"style":[],"tag":"text","text":"hi"}]],"title":""}',
            "post",
        ),
    ],
)
async def test_the_digest_is_the_events(lark: Answering, event_content: str, rest_content: str, kind: str) -> None:
    told = {
        "schema": "2.0",
        "header": {"event_id": "e", "event_type": "im.message.receive_v1"},
        "event": {
            "message": {
                "message_id": "om_1",
                "chat_id": "oc_1",
                "chat_type": "group",
                "message_type": kind,
                "content": event_content,
            }
        },
    }
    got = await message_of(lark, ok(items=[message(msg_type=kind, body={"content": rest_content})]))
    assert isinstance(got, ChatMessage)
    assert got.content_digest == parse_event(AppName("default"), told).content_digest


async def test_what_was_forwarded_is_read_too(lark: Answering) -> None:
    items = [
        message(msg_type="merge_forward", body={"content": '{"content":"Merged and Forwarded Message"}'}),
        message("om_2", text="first", upper_message_id="om_1"),
        message("om_3", msg_type="post", body={"content": "broken"}, upper_message_id="om_1"),
    ]
    got = await message_of(lark, ok(items=items))
    assert isinstance(got, ChatMessage)
    assert got.text == "[forwarded messages]\nfirst\n[post]"


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        (ok(items=[message(deleted=True)]), Gone.RECALLED),
        (refused(230011), Gone.RECALLED),
        (refused(230110), Gone.RECALLED),
        (refused(99992354), Gone.MISSING),
        (refused(230002), Gone.NOT_PERMITTED),
        (httpx.Response(502, text="<html>"), Gone.UNREACHABLE),
        (ok(items=[]), Gone.UNREACHABLE),
        (ok(items=[message(create_time=None)]), Gone.UNREACHABLE),
    ],
)
async def test_why_there_is_nothing_to_read(lark: Answering, answer: httpx.Response, gone: Gone) -> None:
    assert await message_of(lark, answer) is gone


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        (ok(external=False, chat_status="normal", user_count="2"), ChatFacts(external=False, gone=False)),
        (ok(external=True, user_count="2"), ChatFacts(external=True, gone=False)),
        (ok(chat_mode="group", user_count="2"), ChatFacts(external=True, gone=False)),
        (ok(chat_mode="p2p"), ChatFacts(external=False, gone=False)),
        (ok(external=False, chat_status="dissolved"), ChatFacts(external=False, gone=True)),
        (ok(external=False, chat_status="dissolved_save"), ChatFacts(external=False, gone=True)),
        (refused(232009), ChatFacts(external=True, gone=True)),
        (refused(232011), ChatFacts(external=True, gone=True)),
        (refused(230002), ChatFacts(external=True, gone=True)),
        (refused(232006), Gone.MISSING),
        (refused(99991672), Gone.NOT_PERMITTED),
        (httpx.Response(500), Gone.UNREACHABLE),
    ],
)
async def test_what_is_known_of_a_chat(lark: Answering, answer: httpx.Response, facts: ChatFacts | Gone) -> None:
    assert await chat_of(lark, answer) == facts


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        (httpx.Response(404, text="404: Not Found"), ChatFacts(external=False, gone=False)),
        (refused(99991201, status=404), ChatFacts(external=False, gone=False)),
        (ok(chat_mode="group", user_count="2"), ChatFacts(external=False, gone=False)),
        (ok(external=True, user_count="2"), ChatFacts(external=True, gone=False)),
        (refused(99991672), Gone.NOT_PERMITTED),
        (httpx.Response(500), Gone.UNREACHABLE),
    ],
)
async def test_a_local_lark_may_know_nothing_of_chats(
    lark: Answering, answer: httpx.Response, facts: ChatFacts | Gone
) -> None:
    """There are no other tenants' people on this machine; a refusal and a failure still say nothing."""
    assert await _chat_at(lark, "http://lark.localhost:9", answer) == facts


async def test_elsewhere_an_unknown_address_says_nothing(lark: Answering) -> None:
    assert await chat_of(lark, httpx.Response(404, text="404: Not Found")) in set(Gone)


@pytest.mark.parametrize(
    ("answer", "gone"),
    [(ok(is_in_chat=False), True), (refused(232011), True), (ok(is_in_chat=True), False), (httpx.Response(500), False)],
)
async def test_a_bot_that_sees_little_asks_whether_it_is_inside(
    lark: Answering, answer: httpx.Response, gone: bool
) -> None:
    lark.get(f"{CHAT_URL}/members/is_in_chat".replace(DOMAIN, PUBLIC)).mock(return_value=answer)
    assert await chat_of(lark, ok(external=False, chat_mode="group")) == ChatFacts(external=False, gone=gone)


async def test_the_own_id_is_asked_for_once(lark: Answering) -> None:
    info = lark.get(BOT_URL).mock(return_value=httpx.Response(200, json={"code": 0, "bot": {"open_id": "ou_bot"}}))
    async with opened(lark) as client:
        reader = LarkReader(client)
        ids = await asyncio.gather(*(reader.own_id(APP.name) for _ in range(20)))
        assert {*ids, await reader.own_id(APP.name)} == {"ou_bot"}
    assert info.call_count == 1


@pytest.mark.parametrize("answer", [httpx.Response(500), refused(99991672), httpx.Response(200, json={"code": 0})])
async def test_an_own_id_that_cannot_be_learnt_is_asked_for_again(lark: Answering, answer: httpx.Response) -> None:
    info = lark.get(BOT_URL).mock(return_value=answer)
    async with opened(lark) as client:
        reader = LarkReader(client)
        assert await reader.own_id(APP.name) is None
        info.mock(return_value=httpx.Response(200, json={"code": 0, "bot": {"open_id": "ou_bot"}}))
        assert await reader.own_id(APP.name) == "ou_bot"


async def test_the_receipt_is_a_reaction(lark: Answering) -> None:
    react = lark.post(REACTIONS_URL).mock(return_value=ok(reaction_id="r"))
    async with opened(lark) as client:
        assert await LarkReceipts(client).acknowledge(APP.name, MessageId("om_1")) is True
    assert json.loads(react.calls.last.request.content) == {"reaction_type": {"emoji_type": "OnIt"}}


async def test_a_receipt_outlives_its_token(lark: Answering) -> None:
    react = lark.post(REACTIONS_URL).mock(side_effect=[refused(99991663), ok(reaction_id="r")])
    async with opened(lark) as client:
        assert await LarkReceipts(client).acknowledge(APP.name, MessageId("om_1")) is True
    assert react.call_count == 2


@pytest.mark.parametrize(
    "answer",
    [
        refused(231001),
        refused(231003),
        refused(99991400, 429),
        httpx.Response(502),
        HangUp,
    ],
)
async def test_a_receipt_that_fails_is_only_that(lark: Answering, answer: httpx.Response | type[Exception]) -> None:
    react = lark.post(REACTIONS_URL)
    if isinstance(answer, type):
        react.mock(side_effect=answer)
    else:
        react.mock(return_value=answer)
    async with opened(lark) as client:
        assert await LarkReceipts(client).acknowledge(APP.name, MessageId("om_1")) is False
        assert await LarkReceipts(client).acknowledge(APP.name, MessageId("not an id")) is False
    assert react.call_count == 1


async def test_a_receipt_does_not_wait_for_long(lark: Answering) -> None:
    async def hang(_request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        return ok()

    lark.post(REACTIONS_URL).mock(side_effect=hang)
    async with opened(lark) as client:
        assert await LarkReceipts(client, timeout_s=0.01).acknowledge(APP.name, MessageId("om_1")) is False
