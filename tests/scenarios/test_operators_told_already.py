"""What was sent anew and lost keeps nothing unproved once the first message was proved: the asker has the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from manager.decisions.operators import Found, Resend, Verify
from returns.ids import ChatId, MessageId, PartId
from returns.ledger.locators import Source, learn
from returns.ports import Locator, NotPermitted, Refusal, Unknown
from tests.support.operators import Desk, desk
from tests.support.returns import refused, route, text, visible_of

LOST = Unknown("timeout")
UNPROVED = "explicit_unverified"


async def unproved(home: Desk, *words: str) -> str:
    """An answer whose first part was lost, and after a resend lost again."""
    home.provider.faults.append(LOST)
    request = await home.answered(*words)
    assert (await home.settle(request)).error == "no_match_found"
    await lost_again(home, request)
    return request


async def lost_again(home: Desk, request: str) -> None:
    home.provider.faults.append(LOST)
    await sent_anew(home, request)
    assert (await home.settle(request)).error == "no_match_found"


async def sent_anew(home: Desk, request: str) -> None:
    assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"


async def turns_up(home: Desk, request: str, words: str, part: str) -> str:
    """The part's message is there, and its send's own answer comes at last."""
    message = home.provider.say(route(reply_to=f"om_q{request}"), text(words))
    where = Locator(MessageId(message.message_id), ChatId(message.chat_id), None)
    await home.transactions.run(lambda c: learn(c, PartId(part), where, Source.DIRECT, home.clock.now()))
    return message.message_id


async def first(home: Desk, request: str) -> str:
    return (await home.parts(request))[0].part_id


async def states(home: Desk, request: str) -> list[str]:
    return [part.state for part in await home.parts(request)]


async def summary(home: Desk, request: str) -> tuple[object, ...]:
    row = await home.answer(request)
    return row.status, row.error, row.verification, row.attempts, row.delivered_at, row.needs_operator


def shown(home: Desk) -> list[str]:
    return [visible_of([message.document]) for message in home.provider.messages]


async def delivered(home: Desk, request: str, parts: int = 1) -> None:
    """The item says so, and everything that an operator may ask agrees."""
    await home.until(lambda: _is_delivered(home, request))
    row = await home.answer(request)
    assert (row.status, row.error, row.parts, row.delivered_parts) == ("delivered", None, parts, parts)
    assert (row.needs_operator, row.delivered_at is not None) == (False, True)
    item = await home.shown(request)
    assert (item["delivery"]["status"], item["needs_operator"]) == ("delivered", False)
    sends = len(home.provider.sends)
    assert (await home.act(request, Verify())).outcome.value == "proved"
    assert await home.refused(request, Found("om_another")) == "nothing_open"
    assert await home.refused(request, Resend("again")) == "not_resendable"
    assert len(home.provider.sends) == sends


async def _is_delivered(home: Desk, request: str) -> bool:
    return (await home.answer(request)).status == "delivered"


async def test_the_first_turned_up_after_the_second_was_lost(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        await turns_up(home, request, "one", await first(home, request))
        await delivered(home, request)
        assert (await states(home, request), shown(home)) == (["delivered", UNPROVED], ["one"])


async def test_the_first_turned_up_while_the_second_is_looked_for(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append(LOST)
        request = await home.answered("one", "two")
        assert (await home.settle(request)).error == "no_match_found"
        home.provider.faults.append(LOST)
        await sent_anew(home, request)
        home.provider.list_faults += [NotPermitted(1)] * 99
        await home.until(lambda: _looked_for(home, request), step_ms=1)
        await turns_up(home, request, "one", await first(home, request))
        await delivered(home, request, 2)
        assert (await states(home, request))[2] == "verification_required", "it is still looked for, by itself"
        before = await summary(home, request)
        home.provider.list_faults.clear()
        await home.until(lambda: _ended(home, request))
        assert await summary(home, request) == before, "delivered is never overwritten"
        assert (await states(home, request), shown(home)) == (
            ["delivered", "superseded", UNPROVED, "delivered"],
            ["one", "two"],
        )


async def _looked_for(home: Desk, request: str) -> bool:
    return (await states(home, request))[2] == "verification_required"


async def _ended(home: Desk, request: str) -> bool:
    return (await states(home, request))[2] == UNPROVED


async def test_the_rest_that_waited_for_it_goes_out(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one", "two", "three")
        assert (await home.shown(request))["next"].startswith("Look into the chat.")
        await turns_up(home, request, "one", await first(home, request))
        await delivered(home, request, 3)
        assert shown(home) == ["one", "two", "three"]
        assert await states(home, request) == [
            *("delivered", "superseded", "superseded"),
            *(UNPROVED, "delivered", "delivered"),
        ]


async def test_the_rest_is_sent_anew_by_itself(tmp_path: Path) -> None:
    """The first one is there, the second was lost with the return that repeats both: only that goes out once more."""
    async with desk(tmp_path) as home:
        request = await unproved(home, "one", "two")
        home.provider.faults.append(LOST)
        await turns_up(home, request, "one", await first(home, request))
        await home.until(lambda: _second_ended(home, request))
        row = await home.answer(request)
        assert (row.status, row.error, row.delivered_parts, row.needs_operator) == (UNPROVED, "no_match_found", 1, True)
        await sent_anew(home, request)
        await delivered(home, request, 2)
        assert shown(home) == ["one", "two"]


async def _second_ended(home: Desk, request: str) -> bool:
    return (await states(home, request))[3] == UNPROVED


async def test_what_could_not_be_delivered_the_second_time(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults += [LOST, refused(Refusal.ROUTE_GONE)]
        request = await home.answered("one")
        assert (await home.settle(request)).error == "no_match_found"
        await sent_anew(home, request)
        row = await home.settle(request)
        assert (row.status, row.error) == ("explicit_unverified", "no_match_found"), "the first send may be there"
        assert (await states(home, request))[1] == "undeliverable"
        await turns_up(home, request, "one", await first(home, request))
        await delivered(home, request)


async def test_a_second_copy_is_a_fact_of_its_own_part(tmp_path: Path) -> None:
    """Both are there in the end; the answer shows the one that was proved first."""
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        await turns_up(home, request, "one", await first(home, request))
        await delivered(home, request)
        before = await summary(home, request)
        await turns_up(home, request, "one", (await home.parts(request))[1].part_id)
        await home.until(lambda: _both(home, request))
        assert await summary(home, request) == before


async def _both(home: Desk, request: str) -> bool:
    return await states(home, request) == ["delivered", "delivered"]


@pytest.mark.parametrize("which", [0, 1])
async def test_along_a_chain(tmp_path: Path, which: int) -> None:
    """Three times sent, three times lost; whichever turns up is the answer."""
    async with desk(tmp_path) as home:
        request = await unproved(home, "one", "two")
        await lost_again(home, request)
        part = [part for part in await home.parts(request) if part.position == 0][which]
        await turns_up(home, request, "one", part.part_id)
        await delivered(home, request, 2)
        assert shown(home) == ["one", "two"]
