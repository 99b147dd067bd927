"""``resend`` looks first: a look counts for a moment, is about one part, and asks for every send of that part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from manager.decisions.operators import Found, Resend, Verify
from manager.ids import RequestId
from manager.service.operators_taking import Carried
from returns.ids import Millis
from returns.ledger.wakeups import RETURNS_SETTLED
from returns.ports import NotPermitted, Refusal, Route, Unknown, Unreachable, WindowPage
from tests.support.operators import Desk, desk
from tests.support.returns import refused, route, text, visible_of

BEHIND_MS = 20_000
LONG_MS = 60_000
SLOW_MS = 31_000
OFFLINE = refused(Refusal.OFFLINE)


def texts(home: Desk) -> list[str]:
    return [visible_of([message.document]) for message in home.provider.messages]


async def states(home: Desk, request: str) -> list[str]:
    return [part.state for part in await home.parts(request)]


async def lost(home: Desk, *words: str) -> RequestId:
    """Its message is in the chat, and Lark is behind for a while: a complete look finds nothing."""
    home.provider.faults.append("lose")
    request = await home.answered(*words)
    await home.until(lambda: home.provider.messages, step_ms=1)
    home.provider.messages[0].hidden_until = home.clock.now() + BEHIND_MS
    assert (await home.settle(request)).error == "no_match_found"
    return request


async def waits(home: Desk, request: str) -> None:
    """It is sent anew after a look, and waits, because Lark cannot be reached."""
    home.provider.prepare_faults += [OFFLINE] * 1000
    assert await home.outcome(await home.act(request, Resend("it is not there"))) == "queued"
    await home.quiet()


async def test_what_waited_looks_once_more_and_finds_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await lost(home, "one", "two")
        await waits(home, request)
        home.clock.move(LONG_MS)
        home.provider.prepare_faults.clear()
        assert (await home.settle(request)).status == "delivered"
        assert texts(home) == ["one", "two"]


async def test_what_waited_goes_out_if_it_is_still_not_there(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await lost(home, "one", "two")
        await waits(home, request)
        home.provider.messages.clear()
        home.clock.move(LONG_MS)
        looked = home.provider.lists
        home.provider.prepare_faults.clear()
        assert (await home.settle(request)).status == "delivered"
        assert (texts(home), home.provider.lists > looked) == (["one", "two"], True)


async def test_what_was_limited_looks_once_more(tmp_path: Path) -> None:
    """The look was fresh for its first attempt, which was refused."""
    async with desk(tmp_path) as home:
        request = await lost(home, "one")
        home.provider.faults.append(refused(Refusal.RATE_LIMITED, retry_after_ms=LONG_MS))
        assert await home.outcome(await home.act(request, Resend("it is not there"))) == "queued"
        assert (await home.settle(request)).status == "delivered"
        assert (texts(home), len(home.provider.sends)) == (["one"], 2)


async def test_what_was_decided_later_does_not_overtake_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await lost(home, "one")
        home.provider.messages.clear()
        await waits(home, request)
        home.clock.move(LONG_MS)
        await home.put("later", subject="r_later")
        home.provider.prepare_faults.clear()
        await home.settle("r_later")
        assert texts(home) == ["one", "later"]


@pytest.mark.parametrize("act", ["verify", "found"])
async def test_what_a_waiting_resend_repeats_can_be_looked_for(tmp_path: Path, act: str) -> None:
    async with desk(tmp_path) as home:
        request = await lost(home, "one")
        (message,) = home.provider.messages
        await waits(home, request)
        message.hidden_until = 0
        acts = {"verify": Verify(), "found": Found(message.message_id)}
        assert await home.outcome(await home.act(request, acts[act])) == "proved"
        home.provider.prepare_faults.clear()
        assert (await home.settle(request)).status == "delivered"

        async def given_up() -> bool:
            return await states(home, request) == ["delivered", "superseded"]

        await home.until(given_up)
        assert texts(home) == ["one"]
        assert await home.refused(request, Resend("again")) == "not_resendable"


async def test_a_wrong_guess_is_no_look(tmp_path: Path) -> None:
    """A message that an operator named was read, and is another one; the first send stands in the chat by now."""
    async with desk(tmp_path) as home:
        request = await lost(home, "one")
        await waits(home, request)
        wrong = home.provider.say(route(reply_to="om_else"), text("another"), ours=False)
        home.clock.move(LONG_MS)
        assert await home.outcome(await home.act(request, Found(wrong.message_id))) == "unproved"
        home.provider.prepare_faults.clear()
        assert (await home.settle(request)).status == "delivered"
        assert texts(home) == ["one", "another"]


async def test_where_nobody_can_look_an_operator_is_asked_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await lost(home, "one", "two")
        await waits(home, request)
        home.clock.move(LONG_MS)
        home.provider.list_faults += [NotPermitted(1)] * 1000
        home.provider.prepare_faults.clear()
        row = await home.settle(request)
        assert (row.status, row.error) == ("explicit_unverified", "provider_verification_unavailable")
        assert (await home.shown(request))["needs_operator"]
        assert (await states(home, request))[2:] == ["superseded", "queued"]
        assert texts(home) == ["one"]
        home.provider.list_faults.clear()
        assert await home.outcome(await home.act(request, Resend("now?"))) == "proved"
        assert (await home.settle(request)).status == "delivered"
        assert texts(home) == ["one", "two"]


async def looked_for(home: Desk, request: str) -> Carried:
    """A resend whose look is over, and that nobody has gone on with: its gateway was killed."""
    carried = await home.act(request, Resend("it is not there"))

    async def over() -> bool:
        return (await states(home, request))[0] != "verification_required"

    await home.until(over, step_ms=5)
    return carried


async def test_a_command_that_was_left_looks_once_more(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await lost(home, "one")
        carried = await looked_for(home, request)
        home.clock.move(LONG_MS)
        assert await home.outcome(carried) == "proved"
        assert texts(home) == ["one"]


async def test_a_command_is_about_the_part_that_was_not_proved(tmp_path: Path) -> None:
    """That one is found; the next one is sent for the first time, and lost, before anybody goes on with the command."""
    async with desk(tmp_path) as home:
        request = await lost(home, "one", "two")
        home.clock.move(BEHIND_MS)
        home.provider.faults.append(Unknown("reset"))
        carried = await looked_for(home, request)
        assert (await home.settle(request)).error == "no_match_found"
        assert await states(home, request) == ["delivered", "explicit_unverified"]
        assert await home.outcome(carried) == "proved"
        assert len(home.provider.sends) == 2


async def recalled_copy(home: Desk) -> RequestId:
    """Two stand in the chat, since the first one came late; the second one is recalled before it is read."""
    request = await lost(home, "one")
    assert await home.outcome(await home.act(request, Resend("it is not there"))) == "queued"
    home.provider.read_faults += [Unreachable()] * 3
    await home.until(lambda: len(home.provider.messages) == 2, step_ms=1)
    home.provider.messages[1].recalled = True
    assert (await home.settle(request)).error == "provider_message_recalled"
    home.clock.move(LONG_MS)
    return request


def slow_history(home: Desk, meanwhile: Callable[[], Awaitable[object]]) -> None:
    """A page of the history takes long, and ``meanwhile`` happens behind the first one of each reading."""
    read = home.provider.list_window

    async def list_window(route: Route, since: Millis, cursor: str | None) -> WindowPage | Unreachable | NotPermitted:
        page = await read(route, since, cursor)
        if cursor is None:
            await meanwhile()
        home.clock.move(SLOW_MS)
        return page

    home.provider.list_window = list_window


async def test_of_two_sends_the_stale_one_is_looked_for_again(tmp_path: Path) -> None:
    """One is read at once, and the history is searched for longer than a look counts."""
    async with desk(tmp_path, lease_ms=600_000) as home:
        request = await recalled_copy(home)
        home.provider.messages[0].hidden_until = 2**60
        await waits(home, request)
        home.clock.move(LONG_MS)

        settled = home.transactions.subscribe(RETURNS_SETTLED)

        async def the_other_is_read() -> None:
            while (await states(home, request))[1] != "explicit_unverified":
                await settled.wait(5)

        slow_history(home, the_other_is_read)
        looked = home.provider.lists
        home.provider.prepare_faults.clear()
        assert (await home.settle(request)).status == "delivered"
        assert (len(home.provider.sends), home.provider.lists - looked) == (3, 2)


async def test_what_comes_during_a_long_search_is_seen(tmp_path: Path) -> None:
    async with desk(tmp_path, lease_ms=600_000) as home:
        home.provider.faults.append(Unknown("reset"))
        request = await home.answered("one")
        assert (await home.settle(request)).error == "no_match_found"
        home.clock.move(LONG_MS)
        sent, document, _ = home.provider.sends[0]

        async def it_arrives() -> None:
            if not home.provider.messages:
                home.provider.say(sent, document)

        slow_history(home, it_arrives)
        assert await home.outcome(await home.act(request, Resend("it is not there"))) == "proved"
        assert texts(home) == ["one"]


@pytest.mark.parametrize("act", ["verify", "found", "resend"])
async def test_every_send_of_a_part_is_looked_for(tmp_path: Path, act: str) -> None:
    async with desk(tmp_path) as home:
        request = await recalled_copy(home)
        acts = {"verify": Verify(), "found": Found(home.provider.messages[0].message_id), "resend": Resend("again")}
        assert await home.outcome(await home.act(request, acts[act])) == "proved"
        assert (await home.settle(request)).status == "delivered"
        assert len(home.provider.messages) == 2


@pytest.mark.parametrize("act", ["verify", "resend"])
async def test_also_where_the_second_one_was_told_in_the_chat(tmp_path: Path, act: str) -> None:
    async with desk(tmp_path, recalled_question="answer_in_chat") as home:
        request = await lost(home, "one")
        home.provider.faults += [refused(Refusal.QUESTION_RECALLED), Unknown("reset")]
        assert await home.outcome(await home.act(request, Resend("it is not there"))) == "queued"
        assert (await home.settle(request)).error == "no_match_found"
        home.clock.move(LONG_MS)
        acts = {"verify": Verify(), "resend": Resend("again")}
        assert await home.outcome(await home.act(request, acts[act])) == "proved"
        assert texts(home) == ["one"]
