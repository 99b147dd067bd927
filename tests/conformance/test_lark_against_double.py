"""Lark's side of this project against a local Lark, over real sockets: what is sent is there, once, and reads back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from manager.decisions.inbound import MessageReceived
from manager.ports import ChatFacts, ChatMessage, Gone
from providers.lark.client import LarkClient
from providers.lark.config import LarkApp
from providers.lark.delivery import LarkDelivery
from providers.lark.events import parse_event
from providers.lark.reader import LarkReader
from providers.lark.receipts import LarkReceipts
from providers.lark_double.model import Chat, Message
from providers.lark_double.server import LarkDouble
from returns.decisions.document import Code, Document, Link, Rule, Text
from returns.decisions.fingerprint import fingerprint, visible
from returns.ids import AppName, ChatId, IdempotencyKey, MessageId, Millis, ThreadId
from returns.ports import (
    Accepted,
    Locator,
    Missing,
    NotPermitted,
    Reading,
    Ready,
    Refusal,
    Refused,
    Route,
    Unknown,
    Unreachable,
    WindowPage,
)
from tests.support.double import APP_ID, SECRET, running
from tests.support.lark import MovedClock, no_sleep

APP = AppName("default")
HELLO: Document = ((Text("hello"),),)

DOCUMENTS: dict[str, Document] = {
    "chinese": ((Text("你好，世界。配置在 gateway/settings.py:12@abc1234"),), (Text("第二段"),)),
    "emoji": ((Text("done ✅ ⚠ a@b.com 🀄👨‍👩‍👧 e\u0301"),),),
    "rtl": ((Text("مرحبا \u202bעולם\u202c ok"),),),
    "code": ((Text("see"),), (Code("python", "print('```')\n\n# a\n"),), (Rule(),), (Code("", "````\n```"),)),
    "mail": ((Text("write to name@host.example or <name@host.example>"),),),
    "markup": (
        (Text('<at user_id="all">everyone</at> **bold** _it_ [x](y) <b>b</b> &amp; @_all @_user_1'),),
        (Text("# title\n> quote\n- item\n| a | b |"),),
    ),
    "links": ((Text("at "), Link("docs", "https://a.example/x?y=1#z"), Text(" and "), Link("mail", "mailto:a@b.c")),),
    "addresses": ((Link("https://a.example/路径", "https://a.example/路径"), Link("bad", "javascript:alert(1)")),),
    "empty lines": ((Text("a"),), (), (Text(""),), (Text("b  "),)),
    "controls": ((Text("a\x00b\x1b[31m\r\nc\td"),),),
    "escapes": ((Text('"\\ \\n \\u0041 {"a":[1]}'),),),
}


@dataclass
class Scene:
    """A local Lark with a chat and a question in it, and all that this project has towards it."""

    double: LarkDouble
    client: LarkClient
    chat: Chat
    question: Message

    @property
    def delivery(self) -> LarkDelivery:
        return LarkDelivery(self.client)

    @property
    def route(self) -> Route:
        thread = None if self.question.thread_id is None else ThreadId(self.question.thread_id)
        return Route(APP, ChatId(self.chat.chat_id), thread, MessageId(self.question.message_id))

    async def sent(self, document: Document = HELLO, key: str = "key-1", route: Route | None = None) -> Locator:
        outcome = await self.delivery.send(route or self.route, document, IdempotencyKey(key))
        assert isinstance(outcome, Accepted), outcome
        assert outcome.log_id
        return outcome.locator

    async def read(self, locator: Locator) -> Reading:
        reading = await self.delivery.read(APP, locator)
        assert isinstance(reading, Reading), reading
        return reading

    async def window(self, route: Route | None = None, since_ms: int = 120_000) -> list[Reading]:
        since = Millis(self.double.clock.now() - since_ms)
        found: list[Reading] = []
        cursor: str | None = None
        while True:
            page = await self.delivery.list_window(route or self.route, since, cursor)
            assert isinstance(page, WindowPage), page
            found.extend(page.readings)
            cursor = page.next_cursor
            if cursor is None:
                return found

    def shown(self) -> list[str]:
        return [seen.text for seen in self.double.visible(self.chat, by_app=True)]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        double = await stack.enter_async_context(running())
        app = LarkApp(APP, APP_ID, SECRET, double.url)
        client = await stack.enter_async_context(LarkClient((app,), double.clock, 1.0, sleep=no_sleep))
        chat = next(iter(double.world.chats.values()))
        yield Scene(double, client, chat, double.say(chat, "alice", "where is it?", mention=[APP_ID]))


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_what_is_sent_reads_back_the_same(scene: Scene, name: str) -> None:
    document = DOCUMENTS[name]
    locator = await scene.sent(document)
    reading = await scene.read(locator)
    assert fingerprint(reading.visible) == fingerprint(visible(document))
    assert (reading.locator, reading.parent_id) == (locator, scene.question.message_id)
    assert (reading.ours, reading.recalled) == (True, False)
    listed = [one for one in await scene.window() if one.locator.message_id == locator.message_id]
    assert [fingerprint(one.visible) for one in listed] == [fingerprint(visible(document))]


async def test_nobody_is_called_by_markup(scene: Scene) -> None:
    locator = await scene.sent(DOCUMENTS["markup"])
    assert scene.double.world.messages[locator.message_id].mentions == ()


async def test_a_reply_opens_no_thread(scene: Scene) -> None:
    assert (await scene.sent()).thread_id is None
    assert scene.question.thread_id is None


async def test_a_reply_in_a_thread_stays_there(scene: Scene) -> None:
    root = scene.double.say(scene.chat, "alice", "root")
    scene.question = scene.double.say(scene.chat, "alice", "in thread", reply_to=root, in_thread=True)
    locator = await scene.sent()
    assert locator.thread_id == scene.question.thread_id is not None
    assert (await scene.read(locator)).locator == locator


async def test_a_plain_message(scene: Scene) -> None:
    locator = await scene.sent(route=Route(APP, ChatId(scene.chat.chat_id), None, None))
    reading = await scene.read(locator)
    assert (reading.parent_id, reading.visible) == (None, "hello")


async def test_the_same_key_is_one_message(scene: Scene) -> None:
    assert await scene.sent() == await scene.sent()
    assert scene.shown() == ["hello"]


@pytest.mark.parametrize(
    "fault", ["drop_after", "reset_after", "http_500_after", "html_502_after", "truncated", "no_message_id"]
)
async def test_accepted_without_an_answer_is_unknown_and_found_by_reading(scene: Scene, fault: str) -> None:
    scene.double.fault(fault, "reply")
    outcome = await scene.delivery.send(scene.route, HELLO, IdempotencyKey("key-1"))
    assert isinstance(outcome, Unknown)
    ours = [one for one in await scene.window() if one.ours]
    assert [(one.visible, one.parent_id) for one in ours] == [("hello", scene.question.message_id)]
    assert scene.shown() == ["hello"]
    assert len(scene.double.journal.of(frozenset({"reply"}))) == 1


async def test_an_answer_that_does_not_come_in_time_is_unknown(scene: Scene) -> None:
    fault = scene.double.fault("hold_after", "reply")
    outcome = await scene.delivery.send(scene.route, HELLO, IdempotencyKey("key-1"))
    assert outcome == Unknown("no answer: SocketTimeoutError")
    scene.double.release(fault)


@pytest.mark.parametrize("fault", ["reset_before", "http_500", "html_502"])
async def test_a_broken_server_is_unknown(scene: Scene, fault: str) -> None:
    scene.double.fault(fault, "reply")
    assert isinstance(await scene.delivery.send(scene.route, HELLO, IdempotencyKey("k")), Unknown)
    assert [one for one in await scene.window() if one.ours] == []


async def test_the_same_send_twice_at_once_is_unknown_for_one(scene: Scene) -> None:
    fault = scene.double.fault("hold_before", "reply")
    first = asyncio.create_task(scene.delivery.send(scene.route, HELLO, IdempotencyKey("key-1")))
    await scene.double.wait_for(lambda: fault.held or None, 5.0, "the first send")
    second = await scene.delivery.send(scene.route, HELLO, IdempotencyKey("key-1"))
    assert isinstance(second, Unknown)
    assert second.code == 230049
    scene.double.release(fault)
    assert isinstance(await first, Accepted)


async def test_a_message_id_of_another_chat_shows_when_it_is_read(scene: Scene) -> None:
    elsewhere = scene.double.create_chat("other", ["bob"], [APP_ID])
    foreign = scene.double.bot_says(elsewhere, APP_ID, "hello")
    scene.double.fault("other_chat", "reply", message_id=foreign.message_id)
    reading = await scene.read(await scene.sent())
    assert reading.locator.chat_id == elsewhere.chat_id != scene.route.chat_id


async def test_offline_nothing_is_sent(scene: Scene) -> None:
    assert await scene.delivery.prepare(APP) == Ready()
    await scene.double.go_offline()
    # the read takes the connection out of the pool that was open before: a send on that one would be unknown
    assert await scene.delivery.read(APP, Locator(MessageId("om_1"), scene.route.chat_id, None)) == Unreachable()
    assert await scene.delivery.send(scene.route, HELLO, IdempotencyKey("k")) == Refused(Refusal.OFFLINE)
    await scene.double.go_online()
    await scene.sent()


async def test_offline_without_a_token(scene: Scene) -> None:
    await scene.double.go_offline()
    assert await scene.delivery.prepare(APP) == Refused(Refusal.OFFLINE)


@pytest.mark.parametrize(("bare", "code"), [(False, 99991400), (True, None)])
async def test_a_rate_limit_with_and_without_json(scene: Scene, bare: bool, code: int | None) -> None:
    scene.double.world.knobs.bare_429 = bare
    scene.double.fault("rate_limited", "reply", seconds=7)
    outcome = await scene.delivery.send(scene.route, HELLO, IdempotencyKey("k"))
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.code, outcome.retry_after_ms) == (Refusal.RATE_LIMITED, code, 7_000)


async def test_a_token_that_ended_is_refused_once_and_renewed(scene: Scene) -> None:
    await scene.sent(key="k-0")
    scene.double.expire_tokens(APP_ID)
    outcome = await scene.delivery.send(scene.route, HELLO, IdempotencyKey("k-1"))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.STALE_TOKEN
    assert await scene.delivery.prepare(APP) == Ready()
    await scene.sent(key="k-1")
    assert len(scene.double.journal.of(frozenset({"token"}))) == 2


async def test_a_read_renews_the_token_by_itself(scene: Scene) -> None:
    locator = await scene.sent()
    scene.double.expire_tokens(APP_ID)
    assert (await scene.read(locator)).visible == "hello"


async def test_a_day_passes_and_no_token_is_ever_refused(scene: Scene) -> None:
    for hour in range(24):
        await scene.sent(key=f"k-{hour}")
        scene.double.advance(3_600)
    assert {entry.code for entry in scene.double.journal.of(frozenset({"reply"}))} == {0}


async def test_wrong_credentials_are_configuration(scene: Scene) -> None:
    wrong = LarkApp(AppName("wrong"), APP_ID, "not-the-secret", scene.double.url)
    async with LarkClient((wrong,), scene.double.clock, 1.0, sleep=no_sleep) as client:
        outcome = await LarkDelivery(client).prepare(wrong.name)
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.code) == (Refusal.CONFIGURATION, 10015)


async def test_refusals_by_what_happened_in_the_chat(scene: Scene) -> None:
    async def refusal() -> Refusal:
        outcome = await scene.delivery.send(scene.route, HELLO, IdempotencyKey("k"))
        assert isinstance(outcome, Refused), outcome
        return outcome.refusal

    scene.double.mute(scene.chat)
    assert await refusal() is Refusal.NOT_ALLOWED
    scene.double.mute(scene.chat, muted=False)
    scene.double.disable(APP_ID)
    assert await refusal() is Refusal.CONFIGURATION
    scene.double.disable(APP_ID, disabled=False)
    scene.double.remove_bot(scene.chat, APP_ID)
    assert await refusal() is Refusal.ROUTE_GONE
    scene.double.add_bot(scene.chat, APP_ID)
    scene.double.recall(scene.question)
    assert await refusal() is Refusal.QUESTION_RECALLED
    scene.double.dissolve(scene.chat)
    plain = Route(APP, scene.route.chat_id, None, None)
    outcome = await scene.delivery.send(plain, HELLO, IdempotencyKey("k"))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.ROUTE_GONE
    assert scene.shown() == []


async def test_what_fits_is_taken_and_what_does_not_is_refused(scene: Scene) -> None:
    def of(count: int) -> Document:
        return ((Text('猫"' * count),),)

    most = max(count for count in range(1, 8_000) if scene.delivery.measure(of(count)) <= scene.delivery.limit_bytes)
    await scene.sent(of(most))
    outcome = await scene.delivery.send(scene.route, of(most + 200), IdempotencyKey("k-2"))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.CONTENT


async def test_recalled_deleted_hidden_and_forbidden_are_four_things(scene: Scene) -> None:
    recalled, deleted, hidden = [await scene.sent(key=f"k-{number}") for number in range(3)]
    scene.double.recall(recalled.message_id)
    scene.double.delete(deleted.message_id)
    reading = await scene.read(recalled)
    assert (reading.recalled, reading.visible, reading.ours) == (True, "", True)
    assert await scene.delivery.read(APP, deleted) == Missing()
    scene.double.remove_bot(scene.chat, APP_ID)
    assert await scene.delivery.read(APP, hidden) == NotPermitted(230002)
    scene.double.add_bot(scene.chat, APP_ID)
    scene.double.forbid_history(app=APP_ID)
    since = Millis(scene.double.clock.now() - 1_000)
    assert await scene.delivery.list_window(scene.route, since, None) == NotPermitted(230027)


async def test_a_long_chat_is_read_page_by_page_from_the_moment_on(scene: Scene) -> None:
    now = scene.double.clock.now()
    for number in range(120):
        scene.double.say(scene.chat, "alice", f"m{number}", at=now - 60_000 + number)
    scene.double.say(scene.chat, "alice", "old", at=now - 300_000)
    locator = await scene.sent()
    texts = [one.visible for one in await scene.window()]
    assert [text for text in texts if text.startswith("m")] == [f"m{number}" for number in range(120)]
    assert "old" not in texts
    assert [one.locator for one in await scene.window() if one.ours] == [locator]


async def test_a_long_thread_is_read_newest_first_until_older(scene: Scene) -> None:
    now = scene.double.clock.now()
    root = scene.double.say(scene.chat, "alice", "root", at=now - 900_000)
    for number in range(130):
        at = now - (800_000 if number < 70 else 60_000) + number
        scene.question = scene.double.say(scene.chat, "alice", f"m{number}", reply_to=root, in_thread=True, at=at)
    locator = await scene.sent()
    before = len(scene.double.journal.of(frozenset({"list"})))
    found = await scene.window()
    assert [one.locator for one in found if one.ours] == [locator]
    assert [one.visible for one in found if not one.ours] == [f"m{number}" for number in range(129, 69, -1)]
    assert len(scene.double.journal.of(frozenset({"list"}))) - before == 2


async def test_the_receipt_is_seen(scene: Scene) -> None:
    receipts = LarkReceipts(scene.client)
    assert await receipts.acknowledge(APP, MessageId(scene.question.message_id))
    assert [one.emoji_type for one in scene.double.world.reactions.values()] == ["OnIt"]
    scene.double.fault("hold_before", "react")
    assert not await LarkReceipts(scene.client, 0.05).acknowledge(APP, MessageId(scene.question.message_id))
    await scene.double.go_offline()
    assert not await receipts.acknowledge(APP, MessageId(scene.question.message_id))


async def test_the_reader_sees_the_question_as_the_event_told_it(scene: Scene) -> None:
    asked = scene.double.say(scene.chat, "alice", "@{bob} 看看 `x`?", mention=[APP_ID])
    push = scene.double.push_message(APP_ID, asked)
    event = parse_event(APP, push.payload)
    assert isinstance(event, MessageReceived)
    reader = LarkReader(scene.client)
    own = await reader.own_id(APP)
    assert own == scene.double.open_id(APP_ID, APP_ID)
    assert [one.open_id for one in event.mentions] == [own, scene.double.open_id(APP_ID, "bob")]
    read = await reader.message(APP, event.message_id)
    assert isinstance(read, ChatMessage)
    assert (read.content_digest, read.edited_at, read.author) == (event.content_digest, None, "asker")
    assert read.sent_at == event.created_at
    assert read.text == "@Steward @bob 看看 `x`?"
    scene.double.edit(asked, "something else")
    edited = await reader.message(APP, event.message_id)
    assert isinstance(edited, ChatMessage)
    assert edited.edited_at is not None
    assert edited.content_digest != event.content_digest
    scene.double.recall(asked)
    assert await reader.message(APP, event.message_id) is Gone.RECALLED


async def test_the_reader_knows_chats(scene: Scene) -> None:
    reader, chat_id = LarkReader(scene.client), ChatId(scene.chat.chat_id)
    assert await reader.chat(APP, chat_id) == ChatFacts(external=False, gone=False)
    private = scene.double.private_chat("alice", APP_ID)
    assert await reader.chat(APP, ChatId(private.chat_id)) == ChatFacts(external=False, gone=False)
    outside = scene.double.create_chat("outside", ["carol"], [APP_ID], external=True)
    assert await reader.chat(APP, ChatId(outside.chat_id)) == ChatFacts(external=True, gone=False)
    scene.double.remove_bot(scene.chat, APP_ID)
    left = await reader.chat(APP, chat_id)
    assert isinstance(left, ChatFacts)
    assert left.gone
    scene.double.dissolve(outside)
    ended = await reader.chat(APP, ChatId(outside.chat_id))
    assert isinstance(ended, ChatFacts)
    assert ended.gone


async def test_twenty_sends_share_the_pool_and_one_token(scene: Scene) -> None:
    scene.double.world.knobs.chat_per_second = 1_000
    keys = [f"k-{number}" for number in range(20)]
    async with asyncio.TaskGroup() as group:
        sending = [group.create_task(scene.sent(((Text(key),),), key)) for key in keys]
    assert len({one.result().message_id for one in sending}) == 20
    assert sorted(scene.shown()) == sorted(keys)
    assert len(scene.double.journal.of(frozenset({"token"}))) == 1


async def test_a_server_without_a_valid_certificate_is_offline() -> None:
    async def plain(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"this is not TLS\r\n")
        await ended(writer)
        served.set()

    served = asyncio.Event()
    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    app = LarkApp(APP, APP_ID, SECRET, f"https://127.0.0.1:{port}")
    async with server, LarkClient((app,), MovedClock(), 1.0, sleep=no_sleep) as client:
        assert await LarkDelivery(client).prepare(APP) == Refused(Refusal.OFFLINE)
        await served.wait()


async def ended(writer: asyncio.StreamWriter) -> None:
    """Close a server's side of a connection and wait until it is."""
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def test_an_answer_that_trickles_for_ever_is_unknown() -> None:
    token = b'{"code":0,"tenant_access_token":"t-1","expire":7200}'

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"tenant_access_token" in head:
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(token), token))
            await ended(writer)
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await asyncio.sleep(0.01)
        await ended(writer)
        served.set()

    served = asyncio.Event()
    server = await asyncio.start_server(trickle, "127.0.0.1", 0)
    app = LarkApp(APP, APP_ID, SECRET, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with server, LarkClient((app,), MovedClock(), 0.3, sleep=no_sleep) as client:
        route = Route(APP, ChatId("oc_1"), None, None)
        outcome = await LarkDelivery(client).send(route, HELLO, IdempotencyKey("k"))
        await served.wait()
    assert outcome == Unknown("no answer: TimeoutError")
