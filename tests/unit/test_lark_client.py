"""HTTP towards Lark: a send goes out once, a read again where it helps, nothing is followed, logged or unbounded."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator

import httpx
import pytest

from providers.lark import http as http_module
from providers.lark.client import LarkClient
from providers.lark.config import LarkApp, LarkAppInvalid
from providers.lark.delivery import LarkDelivery
from returns.decisions.document import Text
from returns.ids import AppName, IdempotencyKey, MessageId
from returns.ports import Accepted, Ready, Refusal, Refused, Route, Unknown
from tests.support.lark import (
    APP,
    CHAT,
    DOMAIN,
    MESSAGES_URL,
    TOKEN_URL,
    Answering,
    HangUp,
    MovedClock,
    answering,
    no_sleep,
    ok,
    opened,
    refused,
    token_answer,
)

ROUTE = Route(APP.name, CHAT, None, MessageId("om_question"))
REPLY_URL = f"{MESSAGES_URL}/om_question/reply"
DOCUMENT = ((Text("hello"),),)
KEY = IdempotencyKey("key-1")


@pytest.fixture
async def lark() -> AsyncIterator[Answering]:
    async with answering() as server:
        yield server


async def test_a_reply_is_sent_with_token_key_and_no_thread(lark: Answering) -> None:
    sent = lark.post(REPLY_URL).mock(return_value=ok(message_id="om_9", chat_id=CHAT))
    async with opened(lark) as client:
        outcome = await LarkDelivery(client).send(ROUTE, DOCUMENT, KEY)
    assert isinstance(outcome, Accepted)
    assert (outcome.locator.message_id, outcome.log_id) == ("om_9", "log-1")
    request = sent.calls.last.request
    body = json.loads(request.content)
    assert request.headers["authorization"] == "Bearer t-1"
    assert request.headers["content-type"] == "application/json; charset=utf-8"
    assert (body["uuid"], body["reply_in_thread"], body["msg_type"]) == ("key-1", False, "post")
    assert json.loads(body["content"])["zh_cn"]["content"] == [[{"tag": "text", "text": "hello"}]]


async def test_a_plain_message_goes_to_the_chat(lark: Answering) -> None:
    sent = lark.post(MESSAGES_URL, params={"receive_id_type": "chat_id"}).mock(return_value=ok(message_id="om_9"))
    async with opened(lark) as client:
        outcome = await LarkDelivery(client).send(Route(APP.name, CHAT, None, None), DOCUMENT, KEY)
    assert isinstance(outcome, Accepted)
    body = json.loads(sent.calls.last.request.content)
    assert body["receive_id"] == CHAT
    assert "reply_in_thread" not in body


@pytest.mark.parametrize(
    "answer",
    [
        HangUp,
        httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=iter([b"no gzip"])),
        httpx.Response(502, text="<html>"),
        refused(99991663),
        refused(230020),
        refused(99991400, 429),
        httpx.Response(302, headers={"Location": f"{DOMAIN}/elsewhere"}),
        ok(),
    ],
)
async def test_a_send_is_never_repeated(lark: Answering, answer: httpx.Response | type[Exception]) -> None:
    sent = lark.post(REPLY_URL)
    if isinstance(answer, type):
        sent.mock(side_effect=answer)
    else:
        sent.mock(return_value=answer)
    async with opened(lark) as client:
        outcome = await LarkDelivery(client).send(ROUTE, DOCUMENT, KEY)
    assert sent.call_count == 1
    assert not isinstance(outcome, Accepted)


async def test_a_stale_token_is_dropped_and_the_next_send_has_a_fresh_one(lark: Answering) -> None:
    tokens = lark.post(TOKEN_URL).mock(side_effect=[token_answer("t-1"), token_answer("t-2")])
    sent = lark.post(REPLY_URL).mock(side_effect=[refused(99991663, 400), ok(message_id="om_1")])
    async with opened(lark) as client:
        delivery = LarkDelivery(client)
        first = await delivery.send(ROUTE, DOCUMENT, KEY)
        assert await delivery.prepare(APP.name) == Ready()
        second = await delivery.send(ROUTE, DOCUMENT, KEY)
    assert first == Refused(Refusal.STALE_TOKEN, 99991663)
    assert isinstance(second, Accepted)
    assert [call.request.headers["authorization"] for call in sent.calls] == ["Bearer t-1", "Bearer t-2"]
    assert tokens.call_count == 2


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (HangUp, Refused(Refusal.OFFLINE)),
        (refused(10014, 200), Refused(Refusal.CONFIGURATION, 10014)),
        (refused(99991400, 429, **{"x-ogw-ratelimit-reset": "2"}), Refused(Refusal.RATE_LIMITED, 99991400, 2_000)),
    ],
)
async def test_without_a_token_nothing_is_sent(
    lark: Answering, answer: httpx.Response | type[Exception], expected: Refused
) -> None:
    if isinstance(answer, type):
        lark.post(TOKEN_URL).mock(side_effect=answer)
    else:
        lark.post(TOKEN_URL).mock(return_value=answer)
    sent = lark.post(REPLY_URL).mock(return_value=ok(message_id="om_1"))
    async with opened(lark) as client:
        delivery = LarkDelivery(client)
        assert await delivery.prepare(APP.name) == expected
        assert await delivery.send(ROUTE, DOCUMENT, KEY) == expected
    assert sent.call_count == 0


async def test_an_app_that_is_not_configured_is_refused() -> None:
    async with opened() as client:
        delivery = LarkDelivery(client)
        unknown = Route(AppName("gone"), CHAT, None, None)
        assert await delivery.prepare(unknown.app) == Refused(Refusal.CONFIGURATION)
        assert await delivery.send(unknown, DOCUMENT, KEY) == Refused(Refusal.CONFIGURATION)


async def test_a_read_is_repeated_where_it_helps(lark: Answering) -> None:
    answers = [httpx.Response(502, text="<html>"), HangUp, ok(items=[])]
    read = lark.get(f"{MESSAGES_URL}/om_1").mock(side_effect=answers)
    async with opened(lark) as client:
        await client.read(APP.name, "/open-apis/im/v1/messages/om_1")
    assert read.call_count == 3


async def test_a_read_with_a_stale_token_reads_again_with_a_fresh_one(lark: Answering) -> None:
    lark.post(TOKEN_URL).mock(side_effect=[token_answer("t-1"), token_answer("t-2")])
    read = lark.get(f"{MESSAGES_URL}/om_1").mock(side_effect=[refused(99991663), ok(items=[])])
    async with opened(lark) as client:
        await client.read(APP.name, "/open-apis/im/v1/messages/om_1")
    assert [call.request.headers["authorization"] for call in read.calls] == ["Bearer t-1", "Bearer t-2"]


async def test_an_answer_without_end_is_not_read_to_its_end(lark: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "MAX_BODY", 1_000)
    given: list[int] = []

    async def endless() -> object:
        while True:
            given.append(1)
            yield b"x" * 100_000

    lark.post(REPLY_URL).mock(return_value=httpx.Response(200, content=endless()))
    async with opened(lark) as client:
        outcome = await LarkDelivery(client).send(ROUTE, DOCUMENT, KEY)
    assert outcome == Unknown("no answer: AnswerTooLarge")
    assert len(given) < 1_000  # the sockets hold some


async def test_cancelling_passes_through(lark: Answering) -> None:
    entered = asyncio.Event()

    async def hang(_request: httpx.Request) -> httpx.Response:
        entered.set()
        await asyncio.Event().wait()
        return ok()

    lark.post(REPLY_URL).mock(side_effect=hang)
    async with opened(lark) as client:
        sending = asyncio.create_task(LarkDelivery(client).send(ROUTE, DOCUMENT, KEY))
        await entered.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending


async def test_ids_cannot_leave_their_place_in_the_path(lark: Answering) -> None:
    everything = lark.route().mock(return_value=ok(message_id="om_1"))
    async with opened(lark) as client:
        await LarkDelivery(client).send(Route(APP.name, CHAT, None, MessageId("../../x?y=1")), DOCUMENT, KEY)
    paths = [call.request.url.raw_path for call in everything.calls]
    assert paths == [b"/open-apis/im/v1/messages/..%2F..%2Fx%3Fy%3D1/reply"]


async def test_nothing_private_is_logged(lark: Answering, caplog: pytest.LogCaptureFixture) -> None:
    lark.post(REPLY_URL).mock(return_value=ok(message_id="om_secret", chat_id=CHAT))
    caplog.set_level(logging.DEBUG)
    async with opened(lark) as client:
        await LarkDelivery(client).send(ROUTE, DOCUMENT, KEY)
        shown = caplog.text + repr(APP)
    for private in ("om_question", "om_secret", "t-1", APP.app_secret, "hello", CHAT):
        assert private not in shown


@pytest.mark.parametrize(
    "domain",
    [
        "",
        "open.feishu.cn",
        "ftp://x",
        "https://",
        "https://x/open-apis",
        "https://x?y",
        "https://me:pw@x",
        "https://x#y",
    ],
)
def test_a_domain_is_scheme_and_host(domain: str) -> None:
    with pytest.raises(LarkAppInvalid):
        LarkApp(AppName("default"), "cli_x", "s3cret", domain)


def test_an_app_needs_its_credentials_and_never_shows_them() -> None:
    with pytest.raises(LarkAppInvalid) as caught:
        LarkApp(AppName("default"), "", "s3cret")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("domain", "local"),
    [
        ("http://127.0.0.1:80", True),
        ("http://[::1]:80", True),
        ("http://localhost:1", True),
        ("https://open.feishu.cn", False),
        ("http://10.0.0.1", False),
        ("http://localhost.evil.test", False),
    ],
)
def test_what_is_this_machine(domain: str, local: bool) -> None:
    assert LarkApp(AppName("a"), "cli_x", "s", domain).is_local is local


async def test_a_proxy_of_the_environment_is_honoured_except_towards_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks4://127.0.0.1:9")
    near = LarkApp(AppName("near"), "cli_x", "s", "http://127.0.0.1:1")
    async with LarkClient((near,), MovedClock(), sleep=no_sleep):
        pass
    far = LarkApp(AppName("far"), "cli_x", "s", "https://lark.test")
    with pytest.raises(LarkAppInvalid, match="ALL_PROXY"):
        async with LarkClient((near, far), MovedClock(), sleep=no_sleep):
            pass


async def test_two_apps_have_tokens_of_their_own(lark: Answering) -> None:
    def token_of(request: httpx.Request) -> httpx.Response:
        return token_answer(f"t-{json.loads(request.content)['app_id']}")

    lark.post(TOKEN_URL).mock(side_effect=token_of)
    read = lark.get(f"{DOMAIN}/x").mock(return_value=ok())
    other = LarkApp(AppName("other"), "cli_other", "s", DOMAIN)
    async with opened(lark, None, APP, other) as client:
        await client.read(APP.name, "/x")
        await client.read(other.name, "/x")
    assert [call.request.headers["authorization"] for call in read.calls] == ["Bearer t-cli_own", "Bearer t-cli_other"]
