"""A message that is named for the wrong answer takes nothing from the right one, and proves no other one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from manager.decisions.operators import Found, Resend, Reveal, Verify
from returns.decisions.document import Document
from returns.ids import AppName, ChatId, MessageId
from returns.ports import (
    Accepted,
    Locator,
    Missing,
    NotPermitted,
    Reading,
    Refused,
    Route,
    Unknown,
    Unreachable,
)
from tests.support.operators import Desk, desk
from tests.support.returns import FakeProvider, Sent, locator, route, running, text, visible_of

FAR = 2**60
THREAD = route(thread="omt_1")
UNPROVED = "explicit_unverified"
WAITS = "verification_required"


class Wayward(FakeProvider):
    """Its answers may name other messages or come late, and some messages cannot be read for now."""

    names: list[Locator]
    """What its next answers name."""
    late: asyncio.Event | None
    """Its answers come when this is set; nobody counts on that."""
    unread: dict[str, asyncio.Event | NotPermitted | Unreachable]
    """What reading these messages comes to; an event: not before it is set."""

    async def send(
        self, route: Route, document: Document, key: str, may_leave: Callable[[], bool] = lambda: True
    ) -> Accepted | Refused | Unknown:
        outcome = await super().send(route, document, key, may_leave)
        if self.late is not None:
            await self.late.wait()
        return Accepted(self.names.pop(0)) if self.names and isinstance(outcome, Accepted) else outcome

    async def read(self, app: AppName, at: Locator) -> Reading | Missing | NotPermitted | Unreachable:
        hindered = self.unread.get(at.message_id)
        if isinstance(hindered, asyncio.Event):
            await self._block(hindered)
        elif hindered is not None:
            return hindered
        return await super().read(app, at)


def wayward(home: Desk) -> Wayward:
    """Let the desk's provider be one."""
    home.provider.__class__ = Wayward
    vars(home.provider).update(names=[], late=None, unread={})
    return home.provider


class Unread:
    """A message that cannot be read, until it can."""

    def __init__(self, chat: Wayward, message: Sent | Locator, how: str) -> None:
        self._chat, self._id = chat, message.message_id
        chat.unread[self._id] = asyncio.Event() if how == "hangs" else NotPermitted(1)

    def end(self) -> None:
        hindered = self._chat.unread.pop(self._id)
        if isinstance(hindered, asyncio.Event):
            hindered.set()


either_way = pytest.mark.parametrize("how", ["hangs", "is_refused"])


async def asked(home: Desk, words: str, to: Route | None = None) -> str:
    """A question whose answer was handed to the provider."""
    sent = len(home.provider.sends)
    request = await home.question()
    await home.put(words, subject=request, to=to or route(reply_to=f"om_q{request}"))
    await home.until(lambda: len(home.provider.sends) > sent, step_ms=1)
    return request


async def never_arrived(home: Desk, words: str = "one", to: Route | None = None) -> str:
    """An answer that ended without proof, and is not there."""
    home.provider.faults.append(Unknown("timeout"))
    request = await asked(home, words, to)
    assert await stands(home, request) == (UNPROVED, "no_match_found")
    return request


async def out_of_sight(home: Desk, words: str = "two", to: Route | None = None) -> tuple[str, Sent]:
    """An answer that ended without proof, and came into sight then."""
    home.provider.faults.append("lose")
    request = await asked(home, words, to)
    message = home.provider.messages[-1]
    message.hidden_until = FAR
    assert await stands(home, request) == (UNPROVED, "no_match_found")
    message.hidden_until = 0
    return request, message


async def stands(home: Desk, request: str) -> tuple[str, str | None]:
    """How it ends."""
    row = await home.settle(request)
    return row.status, row.error


async def named(home: Desk, request: str, message: Sent) -> None:
    """An operator names a message for an answer, and it is read: it is another one."""
    assert await home.outcome(await home.act(request, Found(message.message_id))) == "unproved"
    assert (await home.answer(request)).error == "provider_delivery_mismatch"


async def looked_for(home: Desk, request: str, times: int = 3) -> None:
    """The history was read so often, or the answer is settled."""
    before = home.provider.lists

    async def enough() -> bool:
        return home.provider.lists >= before + times or await home.status(request) != WAITS

    await home.until(enough)


async def under_way(home: Desk, before: int = 0) -> None:
    """One more call hangs."""
    await home.until(lambda: home.provider.blocked == before + 1, step_ms=1)


def shown(home: Desk, request: str) -> list[str]:
    """What the asker sees under the question."""
    return [visible_of([each.document]) for each in home.provider.messages if each.parent_id == f"om_q{request}"]


def in_thread(home: Desk) -> int:
    return len([each for each in home.provider.messages if each.thread_id == "omt_1"])


async def revealed(home: Desk, request: str) -> list[tuple[str | None, list[str]]]:
    """Each part's message, and what was set aside."""
    parts = (await home.act(request, Reveal())).revealed["parts"]
    return [(part["message_id"], part["disproved"]) for part in parts]


LOOKS = [Verify(), Resend("I looked: it is not there")]
each_look = pytest.mark.parametrize("look", LOOKS, ids=["verify", "resend"])


@each_look
async def test_what_an_operator_named_for_another_answer_is_found(tmp_path: Path, look: Verify | Resend) -> None:
    async with desk(tmp_path) as home:
        first = await never_arrived(home)
        second, message = await out_of_sight(home)
        await named(home, first, message)
        assert await home.outcome(await home.act(second, look)) == "proved"
        row = await home.answer(second)
        assert (row.status, row.verification) == ("delivered", "reconciled")
        assert await revealed(home, second) == [(message.message_id, [])]
        assert await stands(home, first) == (UNPROVED, "provider_delivery_mismatch")
        assert await home.locators() == [message.message_id]
        assert len(home.provider.sends) == 2


@each_look
async def test_what_the_answer_of_another_send_named_is_found(tmp_path: Path, look: Verify | Resend) -> None:
    async with desk(tmp_path) as home:
        chat = wayward(home)
        second, message = await out_of_sight(home)
        chat.names.append(locator(message))
        first = await asked(home, "one")
        assert await stands(home, first) == (UNPROVED, "provider_delivery_mismatch")
        assert await home.outcome(await home.act(second, look)) == "proved"
        assert await revealed(home, second) == [(message.message_id, [])]
        assert await stands(home, first) == (UNPROVED, "provider_delivery_mismatch")
        assert (len(chat.sends), shown(home, second)) == (2, ["two"])


@each_look
@either_way
async def test_while_the_other_answers_message_cannot_be_read_a_look_waits(
    tmp_path: Path, look: Verify | Resend, how: str
) -> None:
    """It may be the other one's: neither is it found, nor is anything concluded from not finding it."""
    async with desk(tmp_path) as home:
        chat = wayward(home)
        second, message = await out_of_sight(home)
        chat.names.append(locator(message))
        unread = Unread(chat, message, how)
        first = await asked(home, "one")
        await home.until(lambda: len(chat.messages) == 2, step_ms=1)
        carried = await home.act(second, look)
        await looked_for(home, second)
        assert (await home.status(first), await home.status(second)) == (WAITS, WAITS)
        assert await home.waiting() == 1
        unread.end()
        assert await home.outcome(carried) == "proved"
        assert await stands(home, first) == (UNPROVED, "provider_delivery_mismatch")
        assert await home.status(second) == "delivered"
        assert (len(chat.sends), shown(home, second)) == (2, ["two"])


@pytest.mark.parametrize("how", [None, "hangs", "is_refused"])
async def test_the_sends_own_answer_comes_after_an_operator_named_its_message_for_another(
    tmp_path: Path, how: str | None
) -> None:
    """The message that was named for the first answer was read, or its reading is still open."""
    async with desk(tmp_path) as home:
        chat = wayward(home)
        first = await never_arrived(home)
        answered = asyncio.Event()
        chat.faults.append(answered)
        second = await asked(home, "two")
        await under_way(home)
        (message,) = chat.messages
        unread = None if how is None else Unread(chat, message, how)
        if how is None:
            await named(home, first, message)
        else:
            await home.act(first, Found(message.message_id))
            await (under_way(home, 1) if how == "hangs" else failed_to_read(home, first))
        answered.set()
        if unread is not None:
            await home.until(lambda: chat.blocked == (1 if how == "hangs" else 0), step_ms=1)
            unread.end()
        row = await home.settle(second)
        assert row.status == "delivered"
        assert how is not None or row.verification == "direct"
        assert (await home.settle(first)).status == UNPROVED
        assert await home.locators() == [message.message_id]
        assert (len(chat.sends), shown(home, second)) == (2, ["two"])


async def failed_to_read(home: Desk, request: str) -> None:
    async def failed() -> bool:
        return (await home.answer(request)).error == "provider_verification_unavailable"

    await home.until(failed, step_ms=1)


async def test_an_equal_answer_is_not_proved_by_that_of_which_an_operators_guess_cannot_be_read(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as home:
        chat = wayward(home)
        first, _ = await out_of_sight(home, "same", THREAD)
        wrong = chat.say(Route(THREAD.app, ChatId("oc_other"), None, None), text("hello"))
        chat.unread[wrong.message_id] = NotPermitted(1)
        await home.act(first, Found(wrong.message_id))
        await failed_to_read(home, first)
        chat.faults.append(Unknown("timeout"))
        second = await asked(home, "same", THREAD)
        await looked_for(home, second)
        assert (await home.status(first), await home.status(second)) == (WAITS, WAITS)
        assert await stands(home, first) == (UNPROVED, "provider_verification_unavailable")
        assert await stands(home, second) == (UNPROVED, "ambiguous_match")
        assert (in_thread(home), len(chat.sends)) == (1, 2)


@either_way
async def test_an_equal_answer_is_not_proved_by_that_of_which_a_wrong_message_is_being_read(
    tmp_path: Path, how: str
) -> None:
    async with desk(tmp_path) as home:
        chat = wayward(home)
        wrong = Locator(MessageId("om_wrong"), ChatId("oc_other"), None)
        chat.names.append(wrong)
        unread = Unread(chat, wrong, how)
        first = await asked(home, "same", THREAD)
        chat.faults.append(Unknown("timeout"))
        second = await asked(home, "same", THREAD)
        other = chat.say(Route(THREAD.app, wrong.chat_id, None, None), text("hello"))
        other.message_id = wrong.message_id
        await looked_for(home, second)
        assert (await home.status(first), await home.status(second)) == (WAITS, WAITS)
        unread.end()
        assert await stands(home, first) == (UNPROVED, "provider_delivery_mismatch")
        assert await stands(home, second) == (UNPROVED, "ambiguous_match")
        assert (in_thread(home), len(chat.sends)) == (1, 2)


@either_way
async def test_an_equal_answer_that_was_lost_is_found_once_the_other_one_is_proved(tmp_path: Path, how: str) -> None:
    async with desk(tmp_path) as home:
        chat = wayward(home)
        unread = Unread(chat, Locator(MessageId("om_0"), ChatId("oc_1"), None), how)
        first = await asked(home, "same", THREAD)
        chat.faults.append("lose")
        second = await asked(home, "same", THREAD)
        await looked_for(home, second)
        assert (await home.status(first), await home.status(second)) == (WAITS, WAITS)
        unread.end()
        assert (await home.settle(first)).verification == "direct"
        assert (await home.settle(second)).verification == "reconciled"
        assert await home.status(second) == "delivered"
        assert (await revealed(home, first), await revealed(home, second)) == ([("om_0", [])], [("om_1", [])])
        assert (in_thread(home), len(chat.sends)) == (2, 2)


async def _forever(_seconds: float) -> None:
    await asyncio.Event().wait()


async def true(what: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a fact of a gateway that the desk does not watch; the clock stands still."""
    async with asyncio.timeout(10):
        held = await what()
        while not held:
            await asyncio.sleep(0.005)
            held = await what()


@pytest.mark.parametrize("readable", [True, False], ids=["read", "cannot_be_read"])
async def test_the_sends_own_late_answer_takes_the_place_of_an_operators_guess(tmp_path: Path, readable: bool) -> None:
    """Another gateway settled it when its own one lost its hold, and an operator named a wrong message."""
    async with desk(tmp_path) as home:
        chat = wayward(home)
        chat.late = asyncio.Event()
        object.__setattr__(home.pump._tools, "sleep", _forever)  # nor does it renew its lease
        request = await home.answered("one")

        async def sent() -> bool:
            return bool(chat.messages)

        async def answered() -> bool:
            return "accepted" in [name for name, _ in await home.facts(request)]

        async def delivered() -> bool:
            return await home.status(request) == "delivered"

        await true(sent)
        message = chat.messages[0]
        message.hidden_until = FAR
        home.clock.move(home.policy.lease_ms + 1)
        async with running(home, home.new_pump("two")):
            assert await stands(home, request) == (UNPROVED, "no_match_found")
            message.hidden_until = 0
            wrong = chat.say(replace(THREAD, thread_id=None, reply_to=MessageId("om_else")), text("another"))
            if readable:
                await named(home, request, wrong)
            else:
                chat.unread[wrong.message_id] = NotPermitted(1)
                await home.act(request, Found(wrong.message_id))
                await failed_to_read(home, request)
            chat.late.set()
            await true(answered)
            await home.until(delivered, steps=200)
        assert (await home.answer(request)).verification == "direct"
        assert await revealed(home, request) == [(message.message_id, [wrong.message_id])]
        assert (len(chat.sends), shown(home, request)) == (1, ["one"])
