"""What was sent anew and refused for good says nothing of the first send: that may be there, and is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from manager.decisions.operators import Found, Resend, Verify
from manager.ids import RequestId
from returns.ports import Refusal
from tests.support.operators import Desk, desk
from tests.support.returns import refused, route, text, visible_of

REFUSED = (Refusal.NOT_ALLOWED, Refusal.CONTENT, Refusal.QUESTION_RECALLED)


def texts(home: Desk) -> list[str]:
    return [visible_of([message.document]) for message in home.provider.messages]


async def states(home: Desk, request: str) -> list[str]:
    return [part.state for part in await home.parts(request)]


async def refused_the_second_time(home: Desk, refusal: Refusal, *words: str) -> RequestId:
    """Lark is behind with the first send; what was sent anew is refused for good. Then the first message is seen."""
    home.provider.faults.append("lose")
    request = await home.answered(*words)
    await home.until(lambda: home.provider.messages, step_ms=1)
    (message,) = home.provider.messages
    message.hidden_until = 2**60
    assert (await home.settle(request)).error == "no_match_found"
    home.provider.faults.append(refused(refusal))
    assert await home.outcome(await home.act(request, Resend("it is not there"))) == "queued"
    assert (await home.settle(request)).error == "no_match_found"
    message.hidden_until = 0
    return request


@pytest.mark.parametrize("refusal", REFUSED)
@pytest.mark.parametrize("act", ["verify", "found", "resend"])
async def test_a_refused_resend_hides_no_first_send(tmp_path: Path, act: str, refusal: Refusal) -> None:
    async with desk(tmp_path) as home:
        request = await refused_the_second_time(home, refusal, "one")
        assert (await home.shown(request))["needs_operator"]
        (message,) = home.provider.messages
        acts = {"verify": Verify(), "found": Found(message.message_id), "resend": Resend("I do not see it")}
        assert await home.outcome(await home.act(request, acts[act])) == "proved"
        assert (await home.settle(request)).status == "delivered"
        assert len(home.provider.messages) == 1


async def test_what_was_refused_anew_goes_out_where_the_first_send_is_not_there(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await refused_the_second_time(home, Refusal.NOT_ALLOWED, "one", "two")
        home.provider.messages.clear()
        looked = home.provider.lists
        assert await home.outcome(await home.act(request, Resend("it is allowed again"))) == "queued"
        assert home.provider.lists > looked, "it looks for the first send"
        assert (await home.settle(request)).status == "delivered"
        assert texts(home) == ["one", "two"]
        assert await states(home, request) == [
            "explicit_unverified", "superseded", "undeliverable", "superseded", "delivered", "delivered"
        ]  # fmt: skip


async def test_the_rest_goes_out_once_the_first_send_is_found(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await refused_the_second_time(home, Refusal.NOT_ALLOWED, "one", "two")
        assert await home.outcome(await home.act(request, Verify())) == "proved"
        assert (await home.settle(request)).status == "delivered"
        assert texts(home) == ["one", "two"]


async def test_candidates_of_the_first_send_are_numbered(tmp_path: Path) -> None:
    """The resend was refused; two messages could be the first send's."""
    async with desk(tmp_path) as home:
        request = await refused_the_second_time(home, Refusal.NOT_ALLOWED, "one")
        home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        assert await home.outcome(await home.act(request, Resend("I see two"))) == "ambiguous"
        assert [each["number"] for each in (await home.shown(request))["candidates"]] == [1, 2]
        assert await home.outcome(await home.act(request, Found("1"))) == "proved"
        assert (await home.shown(request))["delivery"]["status"] == "delivered"
