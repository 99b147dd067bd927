"""Cancelled while a send is under way: that one is followed to its end, and nothing of the answer is sent again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import update

from manager.decisions.brief import Brief
from manager.decisions.operators import Cancel, Resend
from manager.ids import OpenId
from manager.ledger import requests
from manager.ledger.routes import QuestionRoute
from returns.ids import ChatId, MessageId
from returns.ledger.leases import release_all
from returns.ledger.outbox import ReturnKind
from returns.ledger.tables import returns
from returns.ports import Refusal, Refused, Unknown, Verdict
from tests.support.operators import Desk, desk
from tests.support.returns import APP, refused, route, running, text

DAY_MS = 86_400_000
WAITS = [Refusal.OFFLINE, Refusal.RATE_LIMITED, Refusal.STALE_TOKEN, Refusal.CONFIGURATION, Refusal.QUESTION_RECALLED]
"""After these a part is sent again: the last one in the chat, by the policy."""


async def under_way(home: Desk, outcome: object, *words: str) -> tuple[str, asyncio.Event]:
    """An answer whose first send has left; its outcome comes when the event is set."""
    gate = home.provider.gates["oc_1"] = asyncio.Event()
    home.provider.faults.append(outcome)
    request = await home.answered(*words)
    await home.until(lambda: home.provider.blocked == 1, step_ms=1)
    return request, gate


async def cancelled(home: Desk, request: str) -> None:
    assert await home.outcome(await home.act(request, Cancel("enough"))) == "cancelled"
    assert (await home.shown(request))["work"] == "cancelled"


async def go_on(home: Desk, gate: asyncio.Event) -> None:
    """The outcome comes, and then nothing for days."""
    home.provider.gates.clear()
    gate.set()
    for _ in range(4):
        await home.quiet()
        home.clock.move(DAY_MS)


async def told(home: Desk, request: str) -> tuple[list[tuple[str, int]], bool]:
    shown = await home.shown(request)
    return [(part.state, part.attempts) for part in await home.parts(request)], shown["needs_operator"]


@pytest.mark.parametrize("refusal", WAITS, ids=lambda each: each.value)
async def test_what_is_refused_then_is_superseded(tmp_path: Path, refusal: Refusal) -> None:
    async with desk(tmp_path, recalled_question="answer_in_chat") as home:
        request, gate = await under_way(home, refused(refusal), "one", "two")
        await cancelled(home, request)
        gate.set()
        await home.until(lambda: settled(home, request), step_ms=1)
        assert (await told(home, request))[1] is False, "nothing is left to cure"
        await go_on(home, gate)
        assert await told(home, request) == ([("superseded", 1), ("superseded", 0)], False)
        assert (len(home.provider.sends), home.provider.messages) == (1, [])
        facts = [name for name, _ in await home.facts(request)]
        assert facts[-2:] == ["refused", "superseded"]


async def settled(home: Desk, request: str) -> bool:
    return (await home.parts(request))[0].state == "superseded"


async def test_what_is_refused_for_good_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request, gate = await under_way(home, refused(Refusal.CONTENT), "one", "two")
        await cancelled(home, request)
        await go_on(home, gate)
        assert await told(home, request) == ([("undeliverable", 1), ("superseded", 0)], False)
        assert len(home.provider.sends) == 1


@pytest.mark.parametrize("outcome", [None, Unknown("timeout")], ids=["accepted", "never there"])
async def test_what_may_be_there_is_followed_to_its_end(tmp_path: Path, outcome: object) -> None:
    async with desk(tmp_path) as home:
        request, gate = await under_way(home, outcome, "one", "two")
        await cancelled(home, request)
        await go_on(home, gate)
        end = "explicit_unverified" if isinstance(outcome, Unknown) else "delivered"
        assert await told(home, request) == ([(end, 1), ("superseded", 0)], False)
        assert len(home.provider.sends) == 1


async def test_revoked_as_well_it_is_superseded_all_the_same(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request, gate = await under_way(home, refused(Refusal.OFFLINE), "one")
        await cancelled(home, request)
        home.authority.verdicts[request] = Verdict.REVOKED
        await go_on(home, gate)
        assert (await told(home, request))[0] == [("superseded", 1)]


async def test_what_was_refused_before_and_is_refused_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append(refused(Refusal.OFFLINE))
        request = await home.answered("one")
        await home.until(lambda: waits(home, request), step_ms=1)
        gate = home.provider.gates["oc_1"] = asyncio.Event()
        home.provider.faults.append(Refused(Refusal.RATE_LIMITED, retry_after_ms=2_000))
        await home.until(lambda: home.provider.blocked == 1)
        await cancelled(home, request)
        await go_on(home, gate)
        assert await told(home, request) == ([("superseded", 2)], False)
        assert len(home.provider.sends) == 2


async def waits(home: Desk, request: str) -> bool:
    return (await home.parts(request))[0].state == "retry_pending"


async def test_an_answer_sent_anew_is_cancelled_with_the_one_that_it_replaces(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append(Unknown("timeout"))
        request = await home.answered("one")
        assert (await home.settle(request)).error == "no_match_found"
        gate = home.provider.gates["oc_1"] = asyncio.Event()
        home.provider.faults.append(refused(Refusal.RATE_LIMITED))
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        await home.until(lambda: home.provider.blocked == 1, step_ms=1)
        await cancelled(home, request)
        await go_on(home, gate)
        assert await told(home, request) == ([("explicit_unverified", 1), ("superseded", 1)], False)
        assert (len(home.provider.sends), home.provider.messages) == (2, [])


async def test_a_gateway_that_starts_meanwhile_follows_it_and_sends_nothing(tmp_path: Path) -> None:
    """Its own outcome comes from the dead one's hand, too late: the part is looked for."""
    async with desk(tmp_path) as home:
        request, gate = await under_way(home, refused(Refusal.OFFLINE), "one")
        await cancelled(home, request)
        await home.transactions.run(lambda c: release_all(c, home.clock.now()))
        async with running(home, home.new_pump("two")):
            await go_on(home, gate)
        assert await told(home, request) == ([("explicit_unverified", 1)], False)
        assert (len(home.provider.sends), home.provider.messages) == (1, [])


async def test_another_gateway_may_have_left_it_to_be_sent(tmp_path: Path) -> None:
    """An older one, that knows nothing of it: what stands there is superseded when its turn comes."""
    async with desk(tmp_path) as home:
        home.provider.faults.append(refused(Refusal.OFFLINE))
        request = await home.answered("one")
        await home.until(lambda: waits(home, request), step_ms=1)
        await home.transactions.run(lambda c: c.execute(update(returns).values(stopped_at=home.clock.now())))
        home.clock.move(DAY_MS)
        assert (await home.settle(request)).status == "superseded"
        assert len(home.provider.sends) == 1


async def test_what_is_asked_after_it_is_answered_and_no_notice_of_before_is_told(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request, gate = await under_way(home, refused(Refusal.RATE_LIMITED), "one")
        await home.put("handed over", subject=request, kind=ReturnKind.NOTICE, to=route(reply_to=f"om_q{request}"))
        await cancelled(home, request)
        question = QuestionRoute(APP, ChatId("oc_1"), None, MessageId("om_more"), OpenId("ou_a"), "e" * 64)
        await home.transactions.run(
            lambda c: requests.open_revision(
                c, request, question="And?", brief=Brief(purpose="And?"), route=question, now=home.clock.now()
            )
        )
        await home.put("two", subject=request, revision=2, to=route(reply_to="om_more"))
        await go_on(home, gate)
        assert (await home.answer(request)).status == "delivered"
        assert [part.state for part in await home.parts(request)] == ["superseded", "superseded", "delivered"]
        (message,) = home.provider.messages
        assert message.document == text("two")


async def test_a_notice_that_could_not_be_sent_yet_is_not_told(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await home.question()
        home.provider.prepare_faults += [Refused(Refusal.OFFLINE)] * 3
        to = route(reply_to=f"om_q{request}")
        await home.put("surveyor has it now", subject=request, to=to, kind=ReturnKind.NOTICE)
        await home.quiet()
        await cancelled(home, request)
        for _ in range(40):
            await home.quiet()
            home.clock.move(1_000)
        assert not home.provider.sends
        assert [part.state for part in await home.parts(request)] == ["superseded"]
