"""Threads that are begun on a question or an answer while its delivery is open, and how far a search goes back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import update

from returns.ledger.outbox import ReturnKind
from returns.ledger.tables import parts, return_routes
from returns.ports import NotPermitted, Refusal, Refused, Route, Unknown, Unreachable
from returns.service import reconcile
from tests.support.operators import Desk, desk
from tests.support.returns import FakeProvider, Sent, route, text

FAR = 2**60
HOUR_MS = 3_600_000
LAG_MS = 1_500
"""Less than the settle time of these tests."""
UNPROVED = "explicit_unverified"
THREAD = route(thread="omt_1", reply_to="om_q1")
QUESTION = route(reply_to="om_q1")


def asked(home: Desk, message_id: str = "om_q1", thread: str | None = None) -> Sent:
    """Somebody's question, on which a thread was begun or not."""
    message = home.provider.say(route(thread=thread, reply_to=None), text("?"), ours=False, root=thread is not None)
    message.message_id = message_id
    return message


async def stands(home: Desk, request: str) -> tuple[str, str | None, str | None]:
    """How it ends."""
    row = await home.settle(request)
    parts = await home.parts(request)
    return row.status, row.error, parts[-1].verification


async def lost_into(home: Desk, thread: str, words: str = "one") -> tuple[str, Sent]:
    """An answer that Lark put into a thread, and whose outcome is not known."""
    home.provider.faults.append("lose")
    request = await home.question()
    await home.put(words, subject=request, to=QUESTION)
    await home.until(lambda: bool(home.provider.sends), step_ms=1)
    message = home.provider.messages[-1]
    message.thread_id = thread
    return request, message


async def held_answer(home: Desk) -> tuple[str, asyncio.Event]:
    """An answer that Lark has; its own answer comes when the event is set."""
    released = asyncio.Event()
    home.provider.faults.append(released)
    request = await home.question()
    await home.put("one", subject=request, to=QUESTION)
    await home.until(lambda: home.provider.blocked == 1, step_ms=1)
    return request, released


def long_ago(home: Desk) -> int:
    """When a question was asked, after which people went on talking: a page of the history for each word."""
    home.provider.page_size = 1
    asked_at = home.clock.now()
    for _ in range(30):
        home.clock.move(HOUR_MS)
        home.provider.say(route(reply_to="om_x"), text("chatter"), ours=False)
    home.clock.move(HOUR_MS)
    return asked_at


async def test_it_is_found_in_the_thread_that_the_history_shows(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        asked(home, thread="omt_1")
        request, _ = await lost_into(home, "omt_1")
        assert await stands(home, request) == ("delivered", None, "reconciled")


@pytest.mark.parametrize("trouble", [None, Unreachable(), NotPermitted(1)], ids=["readable", "away", "forbidden"])
async def test_a_question_that_the_history_does_not_show_is_read(tmp_path: Path, trouble: object) -> None:
    async with desk(tmp_path) as home:
        question = asked(home, thread="omt_1")
        question.hidden_until = FAR
        request, _ = await lost_into(home, "omt_1")
        if trouble is not None:
            home.provider.read_faults.append(trouble)
        assert await stands(home, request) == ("delivered", None, "reconciled")


async def test_nothing_is_concluded_without_the_thread(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        asked(home, thread="omt_1")
        request, message = await lost_into(home, "omt_1")
        message.deleted = True
        real = home.provider.list_window

        async def unread(*call: object) -> object:
            return Unreachable() if call[0].thread_id else await real(*call)

        home.provider.list_window = unread
        status, error, _ = await stands(home, request)
        assert (status, error) == (UNPROVED, "provider_verification_unavailable")
        home.provider.list_window = real


@pytest.mark.parametrize("shows", ["its own", "another", "none"])
async def test_a_thread_proves_nothing_that_the_question_does_not_stand_in(tmp_path: Path, shows: str) -> None:
    """Lark's answer named the message; reading shows it in a thread."""
    async with desk(tmp_path) as home:
        asked(home, thread={"its own": "omt_1", "another": "omt_2", "none": None}[shows])
        request, released = await held_answer(home)
        home.provider.messages[-1].thread_id = "omt_1"
        released.set()
        proved, not_so = ("delivered", None, "direct"), (UNPROVED, "provider_delivery_mismatch", None)
        assert await stands(home, request) == (proved if shows == "its own" else not_so)


@pytest.mark.parametrize("root", [True, False], ids=["in the chat too", "only there"])
async def test_a_thread_on_the_answer_leaves_it_in_the_chat(tmp_path: Path, root: bool) -> None:
    async with desk(tmp_path) as home:
        asked(home)
        request = await home.question()
        await home.put("one", subject=request, to=QUESTION)
        await home.until(lambda: bool(home.provider.messages[1:]), step_ms=1)
        answer = home.provider.messages[-1]
        answer.thread_id, answer.root = "omt_on_it", root
        status, error, _ = await stands(home, request)
        assert (status, error) == (("delivered", None) if root else (UNPROVED, "provider_delivery_mismatch"))


@pytest.mark.parametrize("first", ["the chat", "the thread"])
async def test_equal_answers_inside_and_outside_are_not_told_apart(tmp_path: Path, first: str) -> None:
    """Of the one that is there nobody knows; the one that never came is not proved by it."""
    places = [QUESTION, THREAD] if first == "the chat" else [THREAD, QUESTION]
    async with desk(tmp_path) as home:
        asked(home, thread="omt_1")
        home.provider.faults.append("lose")
        one = await home.question()
        await home.put("same", subject=one, to=places[0])
        await home.until(lambda: bool(home.provider.sends), step_ms=1)
        message = home.provider.messages[-1]
        message.thread_id, message.hidden_until = "omt_1", FAR
        assert (await home.settle(one)).error == "no_match_found"
        message.hidden_until = 0
        home.provider.faults.append(Unknown("timeout"))
        other = await home.question()
        await home.put("same", subject=other, to=places[1])
        row = await home.settle(other)
        assert (row.status, row.error) == (UNPROVED, "ambiguous_match")


async def test_a_question_of_long_ago_costs_its_answer_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        asked_at = long_ago(home)
        home.provider.faults.append("lose")
        request = await home.question()
        await home.put("one", subject=request, to=QUESTION, asked_at=asked_at)
        assert await stands(home, request) == ("delivered", None, "reconciled")
        assert home.provider.lists < 5


async def test_what_is_not_there_is_looked_for_so_far_back_and_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "MOST_EARLIER_PAGES", 10)
    async with desk(tmp_path) as home:
        asked_at = long_ago(home)
        home.provider.faults.append(Unknown("timeout"))
        request = await home.question()
        await home.put("one", subject=request, to=QUESTION, asked_at=asked_at)
        assert await stands(home, request) == (UNPROVED, "no_match_found", None)
        assert 10 < home.provider.lists < 20


async def test_earlier_pages_that_cannot_be_read_conclude_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        asked_at = home.clock.now()
        home.clock.move(3_600_000)
        real, earlier = home.provider.list_window, []

        async def listed(*call: object) -> object:
            if call[1] <= asked_at:
                earlier.append(call)
                return Unreachable() if len(earlier) < 3 else await real(*call)
            return await real(*call)

        home.provider.list_window = listed
        home.provider.faults.append(Unknown("timeout"))
        request = await home.question()
        await home.put("one", subject=request, to=QUESTION, asked_at=asked_at)
        assert await stands(home, request) == (UNPROVED, "no_match_found", None)
        assert len(earlier) == 3


@pytest.mark.parametrize("located", [True, False], ids=["named by Lark", "looked for"])
async def test_a_question_that_is_deleted_takes_no_proof_away(tmp_path: Path, located: bool) -> None:
    """Its answer stands in the thread that was begun on it. Where Lark named it, its parent says so."""
    async with desk(tmp_path) as home:
        question = asked(home, thread="omt_1")
        if located:
            request, released = await held_answer(home)
            home.provider.messages[-1].thread_id = "omt_1"
            released.set()
        else:
            request, _ = await lost_into(home, "omt_1")
        question.deleted = True
        unavailable = (UNPROVED, "provider_verification_unavailable", None)
        assert await stands(home, request) == (("delivered", None, "direct") if located else unavailable)


async def test_a_question_that_is_deleted_hides_nothing_in_the_chat(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        question = asked(home)
        home.provider.faults.append("lose")
        request = await home.question()
        await home.put("one", "two", subject=request, to=QUESTION)
        await home.until(lambda: bool(home.provider.sends), step_ms=1)
        question.deleted = True
        home.provider.faults.append(Unknown("timeout"))
        row = await home.settle(request)
        assert (row.status, row.delivered_parts, row.error) == (UNPROVED, 1, "provider_verification_unavailable")


async def test_a_history_that_lags_behind_says_nothing_yet(tmp_path: Path) -> None:
    """Somebody begins a thread on the answer at once; the chat's history shows it only later."""
    async with desk(tmp_path) as home:
        asked(home)
        request, released = await held_answer(home)
        answer = home.provider.messages[-1]
        answer.thread_id, answer.root, answer.hidden_until = "omt_on_it", True, home.clock.now() + LAG_MS
        released.set()
        assert await stands(home, request) == ("delivered", None, "direct")


@pytest.mark.parametrize("recalled", [True, False])
async def test_a_recalled_answer_is_recalled_also_with_a_thread_on_it(tmp_path: Path, recalled: bool) -> None:
    async with desk(tmp_path) as home:
        asked(home)
        request, released = await held_answer(home)
        answer = home.provider.messages[-1]
        answer.thread_id, answer.root, answer.recalled = "omt_on_it", True, recalled
        released.set()
        ended = (UNPROVED, "provider_message_recalled", None) if recalled else ("delivered", None, "direct")
        assert await stands(home, request) == ended


async def test_an_equal_message_of_another_part_hides_no_thread(tmp_path: Path) -> None:
    """The first of two equal parts stands in the chat, the second in the thread that was begun in between."""
    async with desk(tmp_path) as home:
        question = asked(home)
        asked_at = home.clock.now()
        home.clock.move(HOUR_MS)
        request = await home.question()
        home.provider.faults += [None, "lose"]
        await home.put("same", "same", subject=request, to=QUESTION, asked_at=asked_at)
        await home.until(lambda: len(home.provider.sends) == 2, step_ms=100)
        home.provider.messages[-1].thread_id = "omt_1"
        question.thread_id, question.root = "omt_1", True
        assert (await home.settle(request)).status == "delivered"
        assert [part.verification for part in await home.parts(request)] == ["direct", "reconciled"]


async def test_an_equal_message_of_another_part_hides_nothing_earlier(tmp_path: Path) -> None:
    """Our clock was an hour ahead when the second attempt was noted."""
    async with desk(tmp_path) as home:
        asked(home)
        asked_at = home.clock.now()
        request = await home.question()
        home.provider.faults += [None, "lose"]
        await home.put("same", "same", subject=request, to=QUESTION, asked_at=asked_at)
        await home.until(lambda: len(home.provider.sends) == 2, step_ms=100)
        one = home.provider.messages[-2]
        one.sent_at = asked_at + HOUR_MS
        second = update(parts).where(parts.c.position == 1)
        noted = (await home.parts(request))[1].last_attempt_at
        await home.transactions.run(lambda c: c.execute(second.values(last_attempt_at=asked_at + HOUR_MS)))
        assert (await home.settle(request)).status == "delivered"
        await home.transactions.run(lambda c: c.execute(second.values(last_attempt_at=noted)))


async def test_a_question_that_is_deleted_ends_no_look_too_soon(tmp_path: Path) -> None:
    """What was sent a moment ago is not given up together with what is looked for long enough."""
    async with desk(tmp_path) as home:
        question = asked(home)
        old, _ = await lost_into(home, "omt_gone")
        home.clock.move(LAG_MS)
        home.provider.faults.append("lose")
        new = await home.question()
        await home.put("two", subject=new, to=QUESTION)
        await home.until(lambda: len(home.provider.sends) == 2, step_ms=1)
        late = home.provider.messages[-1]
        late.hidden_until, question.deleted = home.clock.now() + LAG_MS, True
        assert (await home.settle(old)).error == "provider_verification_unavailable"
        assert (await home.settle(new)).status == "delivered"


async def test_an_equal_message_before_the_window_hides_no_thread(tmp_path: Path) -> None:
    """As above, and the second part had to wait: what proves the first stands before the window of the second."""
    async with desk(tmp_path) as home:
        question = asked(home)
        home.clock.move(HOUR_MS)
        request = await home.question()
        home.provider.faults += [None, Refused(Refusal.RATE_LIMITED, retry_after_ms=200_000), "lose"]
        await home.put("same", "same", subject=request, to=QUESTION, asked_at=question.sent_at + 1)
        await home.until(lambda: len(home.provider.sends) == 2, step_ms=100)
        question.thread_id, question.root = "omt_1", True
        await home.until(lambda: len(home.provider.sends) == 3)
        home.provider.messages[-1].thread_id = "omt_1"
        assert (await home.settle(request)).status == "delivered"


class HidesThePast(FakeProvider):
    """What lies before a moment cannot be listed in a chat."""

    earliest: int

    async def list_window(self, at: Route, since: int, cursor: str | None) -> object:
        if at.thread_id is None and since < self.earliest:
            return Unreachable()
        return await super().list_window(at, since, cursor)


async def test_another_answer_in_the_thread_does_not_stand_for_what_could_not_be_read(tmp_path: Path) -> None:
    """The attempt was noted by a clock that was ahead; the message stands where the history cannot be read for now."""
    async with desk(tmp_path, give_up_after_ms=24 * HOUR_MS) as home:
        question = asked(home)
        request, message = await lost_into(home, "")
        message.thread_id, message.hidden_until = None, home.clock.now() + 1_000
        message.sent_at -= HOUR_MS
        question.sent_at -= HOUR_MS + 60_000
        await home.transactions.run(lambda c: c.execute(update(return_routes).values(asked_at=question.sent_at)))
        question.thread_id, question.root = "omt_q", True
        other = await home.question()
        await home.put("one", subject=other, to=QUESTION, kind=ReturnKind.NOTICE)
        await home.until(lambda: len(home.provider.messages) == 3, step_ms=1)
        home.provider.messages[-1].thread_id = "omt_q"
        home.provider.__class__ = HidesThePast
        home.provider.earliest = message.sent_at + HOUR_MS // 2
        for _ in range(40):
            await home.quiet()
            home.clock.move(1_000)
        row = await home.answer(request)
        assert (row.status, row.error) == ("verification_required", "provider_verification_unavailable")
        home.provider.__class__ = FakeProvider
        assert await stands(home, request) == ("delivered", None, "reconciled")
