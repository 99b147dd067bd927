"""Reading back and reading a window: what was not said is not known."""

from __future__ import annotations

from collections.abc import AsyncIterator
from email.utils import formatdate

import httpx
import pytest

from providers.lark.answers import read_answer
from providers.lark.delivery import LarkDelivery
from returns.ids import ChatId, MessageId, Millis, ThreadId
from returns.ports import (
    Locator,
    Missing,
    NotPermitted,
    Reading,
    ReadOutcome,
    Route,
    Unreachable,
    WindowOutcome,
    WindowPage,
)
from tests.support.lark import (
    APP,
    CHAT,
    MESSAGES_URL,
    START,
    Answering,
    answering,
    message,
    ok,
    opened,
    refused,
)

LOCATOR = Locator(MessageId("om_1"), CHAT, None)
IN_CHAT = Route(APP.name, CHAT, None, MessageId("om_q"))
IN_THREAD = Route(APP.name, CHAT, ThreadId("omt_1"), MessageId("om_q"))
POST = (
    '{"title":"","content":[[{"tag":"text","text":"你好","style":[]}],'
    '[{"tag":"code_block","language":"GO","text":"x"}]]}'
)


@pytest.fixture
async def lark() -> AsyncIterator[Answering]:
    async with answering() as server:
        yield server


async def read(lark: Answering, answer: httpx.Response) -> ReadOutcome:
    lark.get(f"{MESSAGES_URL}/om_1").mock(return_value=answer)
    async with opened(lark) as client:
        return await LarkDelivery(client).read(APP.name, LOCATOR)


async def window(
    lark: Answering,
    answer: httpx.Response,
    route: Route = IN_CHAT,
    since: int = START,
    cursor: str | None = None,
) -> WindowOutcome:
    lark.get(MESSAGES_URL).mock(return_value=answer)
    async with opened(lark) as client:
        return await LarkDelivery(client).list_window(route, Millis(since), cursor)


def dated(ahead_ms: int, *items: dict[str, object]) -> httpx.Response:
    """A page as Lark gives it while our clock is so much ahead of its own."""
    date = formatdate((START - ahead_ms) / 1000, usegmt=True)
    return httpx.Response(200, json={"code": 0, "data": {"items": items, "has_more": False}}, headers={"Date": date})


async def test_a_window_begins_earlier_once_our_clock_was_seen_ahead(lark: Answering) -> None:
    old = message(create_time=str(START - 3_600_000))
    route = lark.get(MESSAGES_URL).mock(return_value=dated(3_600_000, old))
    async with opened(lark) as client:
        delivery = LarkDelivery(client)
        assert await delivery.list_window(IN_CHAT, START, None) == Unreachable()  # it began too late
        assert client.skew_ms() == 3_600_000
        page = await delivery.list_window(IN_CHAT, START, None)
        assert isinstance(page, WindowPage)
        assert ([each.sent_at for each in page.readings], page.ahead_ms) == ([START - 3_600_000], 3_600_000)
        route.mock(return_value=dated(0))  # the clock was set right: what was noted before is still by the other one
        assert await delivery.list_window(IN_CHAT, START, None) == WindowPage((), None, 3_600_000)
        assert client.skew_ms() == 0
    starts = [call.request.url.params["start_time"] for call in route.calls]
    assert starts == [str(START // 1000), *[str((START - 3_600_000) // 1000)] * 2]


async def test_a_window_begins_a_day_earlier_at_most(lark: Answering) -> None:
    route = lark.get(MESSAGES_URL).mock(return_value=dated(5 * 86_400_000))
    async with opened(lark) as client:
        assert await LarkDelivery(client).list_window(IN_CHAT, START, None) == Unreachable()
        assert await LarkDelivery(client).list_window(IN_CHAT, START, None) == WindowPage((), None, 86_400_000)
    assert route.calls.last.request.url.params["start_time"] == str((START - 86_400_000) // 1000)


@pytest.mark.parametrize("ahead_ms", [-3_600_000, 0, 60_000, 30 * 86_400_000])
async def test_a_date_that_says_little_moves_no_window(lark: Answering, ahead_ms: int) -> None:
    route = lark.get(MESSAGES_URL).mock(return_value=dated(ahead_ms))
    async with opened(lark) as client:
        for _ in range(2):
            assert await LarkDelivery(client).list_window(IN_CHAT, START, None) == WindowPage((), None)
    assert {call.request.url.params["start_time"] for call in route.calls} == {str(START // 1000)}


@pytest.mark.parametrize("date", [None, "", "yesterday", "Mon, 99 Nov 2026 00:00:00 GMT"])
async def test_a_date_that_cannot_be_read_says_nothing(date: str | None) -> None:
    assert read_answer(200, {} if date is None else {"date": date}, b"{}").dated is None


def changed(**changes: object) -> httpx.Response:
    return ok(items=[message(**changes)])


async def test_a_message_is_read(lark: Answering) -> None:
    answer = changed(msg_type="post", body={"content": POST}, thread_id="omt_1", parent_id="om_q", root_id="om_r")
    assert await read(lark, answer) == Reading(
        Locator(MessageId("om_1"), CHAT, ThreadId("omt_1")), MessageId("om_q"), True, False, START, "你好\nx"
    )


async def test_where_it_really_is_counts(lark: Answering) -> None:
    reading = await read(lark, changed(chat_id="oc_other"))
    assert isinstance(reading, Reading)
    assert reading.locator.chat_id == "oc_other"


@pytest.mark.parametrize(
    ("sender", "ours"),
    [
        ({"id": "cli_own", "sender_type": "app"}, True),
        ({"id": "cli_other", "sender_type": "app"}, False),
        ({"id": "cli_own", "sender_type": "user"}, False),
        ({"id": "ou_1", "sender_type": "user"}, False),
        ({}, False),
        (None, False),
    ],
)
async def test_whose_it_is(lark: Answering, sender: object, ours: bool) -> None:
    reading = await read(lark, changed(sender=sender))
    assert isinstance(reading, Reading)
    assert reading.ours is ours


async def test_recalled_has_no_words(lark: Answering) -> None:
    reading = await read(lark, changed(deleted=True, body={"content": "This message was recalled"}))
    assert isinstance(reading, Reading)
    assert (reading.recalled, reading.visible) == (True, "")


@pytest.mark.parametrize(
    ("kind", "content", "visible"),
    [
        ("text", '{"text":"@_user_1 hi"}', "@Tom hi"),
        ("interactive", '{"title":"x","elements":[]}', "[interactive]"),
        ("post", "not json", "[post]"),
        ("text", "", "[text]"),
    ],
)
async def test_what_is_visible(lark: Answering, kind: str, content: str, visible: str) -> None:
    mentions = [{"key": "@_user_1", "id": "ou_1", "id_type": "open_id", "name": "Tom"}, "stray", {"key": None}]
    reading = await read(lark, changed(msg_type=kind, body={"content": content}, mentions=mentions))
    assert isinstance(reading, Reading)
    assert reading.visible == visible


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (refused(230110), Missing()),
        (refused(99992354), Missing()),
        (refused(230002), NotPermitted(230002)),
        (refused(99991672), NotPermitted(99991672)),
        (refused(2200, 500), Unreachable()),
        (refused(99991400, 429, **{"x-ogw-ratelimit-reset": "5"}), Unreachable(5_000)),
        (httpx.Response(200, text="<html>"), Unreachable()),
        (httpx.Response(404, text="<html>"), Unreachable()),
        (ok(), Unreachable()),
        (ok(items=[]), Unreachable()),
        (ok(items=["x"]), Unreachable()),
        (changed(message_id="om_other"), Unreachable()),
        (changed(chat_id=None), Unreachable()),
        (changed(create_time="never"), Unreachable()),
    ],
)
async def test_reading_that_told_nothing(lark: Answering, answer: httpx.Response, outcome: ReadOutcome) -> None:
    assert await read(lark, answer) == outcome


async def test_what_cannot_be_an_id_is_not_asked_for(lark: Answering) -> None:
    async with opened(lark) as client:
        locator = Locator(MessageId("no such thing\n"), CHAT, None)
        assert await LarkDelivery(client).read(APP.name, locator) == Missing()
    assert not lark.calls


async def test_a_chat_is_asked_for_in_seconds_oldest_first(lark: Answering) -> None:
    page = await window(lark, ok(items=[message()], has_more=True, page_token="p2"), since=START - 1)
    assert isinstance(page, WindowPage)
    assert (len(page.readings), page.next_cursor) == (1, "p2")
    assert dict(lark.calls.last.request.url.params) == {
        "container_id_type": "chat",
        "container_id": CHAT,
        "sort_type": "ByCreateTimeAsc",
        "start_time": str(START // 1000 - 1),
        "page_size": "50",
    }


async def test_the_cursor_is_lark_s_own(lark: Answering) -> None:
    page = await window(lark, ok(items=[], has_more=False), cursor="p2")
    assert page == WindowPage((), None)
    assert lark.calls.last.request.url.params["page_token"] == "p2"


async def test_what_is_older_is_left_out(lark: Answering) -> None:
    items = [message("om_1", create_time=str(START - 1)), message("om_2", create_time=str(START))]
    page = await window(lark, ok(items=items, has_more=False))
    assert isinstance(page, WindowPage)
    assert [read.locator.message_id for read in page.readings] == ["om_2"]


async def test_a_thread_is_asked_for_newest_first_without_a_window(lark: Answering) -> None:
    page = await window(lark, ok(items=[message(thread_id="omt_1")], has_more=True, page_token="p2"), IN_THREAD)
    assert isinstance(page, WindowPage)
    assert page.next_cursor == "p2"
    assert dict(lark.calls.last.request.url.params) == {
        "container_id_type": "thread",
        "container_id": "omt_1",
        "sort_type": "ByCreateTimeDesc",
        "page_size": "50",
    }


async def test_a_thread_is_read_until_older(lark: Answering) -> None:
    items = [message("om_2"), message("om_1", create_time=str(START - 1))]
    page = await window(lark, ok(items=items, has_more=True, page_token="p2"), IN_THREAD)
    assert isinstance(page, WindowPage)
    assert ([read.locator.message_id for read in page.readings], page.next_cursor) == (["om_2"], None)


@pytest.mark.parametrize(
    "answer",
    [
        ok(items=[]),
        ok(items=[], has_more="false"),
        ok(items=[], has_more=True),
        ok(items=[], has_more=True, page_token=""),
        ok(items=[], has_more=True, page_token=7),
        ok(items=[], has_more=True, page_token="same"),
        ok(items=[message(), {"message_id": "om_2"}], has_more=False),
        ok(items=["x"], has_more=False),
        ok(has_more=False),
        refused(230110),
        refused(2200, 500),
    ],
)
async def test_a_page_that_may_have_left_something_out_is_no_page(lark: Answering, answer: httpx.Response) -> None:
    assert await window(lark, answer, cursor="same") == Unreachable()


@pytest.mark.parametrize(
    "sender",
    [{"sender_type": "user", "id": "ou_1"}, {"sender_type": "app", "id": "cli_other"}],
)
async def test_what_others_sent_need_not_be_readable(lark: Answering, sender: dict[str, str]) -> None:
    items = [{"message_id": "om_2", "sender": sender}, message("om_3")]
    page = await window(lark, ok(items=items, has_more=False))
    assert isinstance(page, WindowPage)
    assert [read.locator.message_id for read in page.readings] == ["om_3"]


@pytest.mark.parametrize(
    "sender",
    [
        None,
        {},
        {"sender_type": "app"},
        {"sender_type": "app", "id": "cli_own"},
        {"sender_type": "user"},
        {"id": "ou_1"},
    ],
)
async def test_what_may_be_ours_must_be_readable(lark: Answering, sender: object) -> None:
    items = [{"message_id": "om_2", "sender": sender}, message("om_3")]
    assert await window(lark, ok(items=items, has_more=False)) == Unreachable()


@pytest.mark.parametrize("code", [230002, 230073, 231203, 232009, 99991672])
async def test_history_that_is_forbidden(lark: Answering, code: int) -> None:
    assert await window(lark, refused(code)) == NotPermitted(code)


async def test_a_message_of_another_chat_is_shown_as_it_is(lark: Answering) -> None:
    page = await window(lark, ok(items=[message(chat_id="oc_x", sender=None)], has_more=False))
    assert isinstance(page, WindowPage)
    assert (page.readings[0].locator.chat_id, page.readings[0].ours) == (ChatId("oc_x"), False)
