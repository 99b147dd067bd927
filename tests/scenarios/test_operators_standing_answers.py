"""A correction is taken back after the question had its answer: the item goes back to that answer, whatever it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection

from gateway.inbox.asking import asking
from gateway.inbox.reading import Listing, get_item, list_requests
from manager.decisions.brief import Brief
from manager.decisions.operators import Found, Resend, Verify
from manager.decisions.work import WorkEvent
from manager.ids import OpenId, RequestId
from manager.ledger import requests, revisions
from manager.ledger.facts import record
from manager.ledger.routes import QuestionRoute
from manager.service.recalling import take_back
from returns.ids import ChatId, MessageId
from returns.ports import Refusal, Unknown, Verdict
from tests.support.operators import Desk, desk
from tests.support.returns import APP, FakeAuthority, refused, route, running, text

ENDS = {
    "unproved": (Unknown("timeout"), "explicit_unverified"),
    "undeliverable": (refused(Refusal.CONTENT), "undeliverable"),
    "delivered": (None, "delivered"),
}


async def correct(home: Desk, request: RequestId, name: str = "c") -> int:
    """The question is corrected by the message ``name``; the number of the revision."""
    asked = QuestionRoute(APP, ChatId("oc_1"), None, MessageId(f"om_{name}"), OpenId("ou_a"), name * 64)
    brief, now = Brief(purpose="And there?"), home.clock.now()
    return await home.transactions.run(
        lambda c: requests.open_revision(c, request, question="And there?", brief=brief, route=asked, now=now)
    )


async def recall(home: Desk, name: str) -> None:
    now = home.clock.now()
    await home.transactions.run(lambda c: take_back(c, home.new_id, APP, MessageId(f"om_{name}"), now))


async def resolve(home: Desk, request: RequestId) -> None:
    """The correction, which stands as revision 2, is decided."""
    now = home.clock.now()

    def work(connection: Connection) -> None:
        view = requests.current(connection, request)
        revisions.work(connection, view.newest, WorkEvent.RESOLVE)
        record(connection, request, 2, now, "resolved", {"by": "steward"})

    await home.transactions.run(work)


async def item(home: Desk, request: RequestId) -> dict:
    return await home.transactions.read(lambda c: get_item(asking(c), request))


async def listed(home: Desk, listing: Listing) -> list[str]:
    page = await home.transactions.read(lambda c: list_requests(asking(c), listing, None, 10))
    return [each["request_id"] for each in page.items]


async def answered(home: Desk, end: str) -> RequestId:
    """A question whose answer ended so."""
    fault, status = ENDS[end]
    home.provider.faults.append(fault)
    request = await home.answered("one")
    assert (await home.settle(request)).status == status
    return request


@pytest.mark.parametrize("end", ENDS)
async def test_the_item_is_as_it_was_before_the_correction(tmp_path: Path, end: str) -> None:
    async with desk(tmp_path) as home:
        request = await answered(home, end)
        before = await item(home, request)
        assert before["needs_operator"] is (end != "delivered")
        await correct(home, request)
        assert (await item(home, request))["revision"] == 2
        await recall(home, "c")
        await recall(home, "c")  # its event comes once more
        assert await item(home, request) == before
        assert await listed(home, Listing(status="absent")) == []
        waiting = await listed(home, Listing(needs_operator_at=home.clock.now()))
        assert waiting == ([] if end == "delivered" else [request])


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("told", ["queued", "refused"])
async def test_also_when_the_correction_was_answered_already(tmp_path: Path, end: str, told: str) -> None:
    async with desk(tmp_path) as home:
        request = await answered(home, end)
        before = await item(home, request)
        await correct(home, request)
        gate = home.provider.gates["oc_1"] = asyncio.Event()
        if told == "refused":
            home.provider.faults.append(refused(Refusal.QUESTION_RECALLED))
            gate.set()
        else:
            home.provider.prepare_faults += [refused(Refusal.OFFLINE)] * 1000
        await resolve(home, request)
        await home.put("two", subject=request, revision=2, to=route(reply_to="om_c"))
        if told == "refused":
            assert (await home.settle(request)).status == "undeliverable"
        await recall(home, "c")
        assert await item(home, request) == before
        assert [part.state for part in await home.parts(request)][1:] in (["superseded"], ["undeliverable"])
        if end != "unproved":
            return
        home.provider.prepare_faults.clear()
        gate.set()
        await home.outcome(await home.act(request, Resend("it is not there")))
        assert (await home.settle(request)).status == "delivered"
        assert (await item(home, request))["delivery"]["status"] == "delivered"


async def test_what_is_still_being_looked_for_is_followed_to_its_end(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append(Unknown("timeout"))
        request = await home.answered("one")

        async def unsure() -> bool:
            return (await home.answer(request)).status == "verification_required"

        await home.until(unsure, step_ms=1)
        await correct(home, request)
        await recall(home, "c")
        shown = await item(home, request)
        assert (shown["revision"], shown["delivery"]["status"]) == (1, "verification_required")
        await home.settle(request)
        shown = await item(home, request)
        assert (shown["delivery"]["status"], shown["needs_operator"]) == ("explicit_unverified", True)


async def test_what_is_under_way_is_followed_to_its_end(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        answers = asyncio.Event()
        home.provider.faults.append(answers)
        request = await home.answered("one")
        await home.quiet()
        await correct(home, request)
        await recall(home, "c")
        shown = await item(home, request)
        assert (shown["revision"], shown["delivery"]["status"]) == (1, "sending")
        answers.set()
        await home.settle(request)
        assert (await item(home, request))["delivery"]["status"] == "delivered"


@pytest.mark.parametrize("end", ["unproved", "undeliverable"])
async def test_it_can_be_sent_anew(tmp_path: Path, end: str) -> None:
    async with desk(tmp_path) as home:
        request = await answered(home, end)
        await correct(home, request)
        await recall(home, "c")
        await home.outcome(await home.act(request, Resend("it is not there")))
        await home.settle(request)
        shown = await item(home, request)
        assert (shown["delivery"]["status"], shown["needs_operator"]) == ("delivered", False)
        assert len(home.provider.messages) == 1


@pytest.mark.parametrize("named", [False, True], ids=["looked for", "named"])
async def test_it_can_be_proved(tmp_path: Path, *, named: bool) -> None:
    async with desk(tmp_path) as home:
        request = await answered(home, "unproved")
        await correct(home, request)
        await recall(home, "c")
        there = home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        act = Found(there.message_id) if named else Verify()
        assert await home.outcome(await home.act(request, act)) == "proved"
        assert (await item(home, request))["delivery"]["status"] == "delivered"
        assert len(home.provider.sends) == 1


async def test_a_further_correction_gets_the_next_number(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await answered(home, "unproved")
        before = await item(home, request)
        for number, name in enumerate("cde", start=2):
            assert await correct(home, request, name) == number
            shown = await item(home, request)
            assert (shown["revision"], shown["work"], shown["delivery"]["status"]) == (number, "open", "absent")
            assert await listed(home, Listing(status="absent")) == [request]
            await recall(home, name)
            assert await item(home, request) == before


@pytest.mark.parametrize("first", ["question", "correction"])
@pytest.mark.parametrize(
    ("end", "work", "needs_operator"),
    [("unproved", "resolved", True), ("delivered", "resolved", False), ("undeliverable", "cancelled", False)],
)
async def test_both_recalled(tmp_path: Path, first: str, end: str, work: str, *, needs_operator: bool) -> None:
    """As where a question without any correction is recalled: what may be in the chat is told of, and else nothing."""
    async with desk(tmp_path) as home:
        request = await answered(home, end)
        await correct(home, request)
        names = [f"q{request}", "c"]
        for name in names if first == "question" else reversed(names):
            await recall(home, name)
        shown = await item(home, request)
        assert (shown["work"], shown["needs_operator"]) == (work, needs_operator)
        if work == "resolved":
            assert (shown["revision"], shown["delivery"]["status"]) == (1, ENDS[end][1])


async def test_both_recalled_after_a_part_was_told(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        answers = asyncio.Event()
        home.provider.faults.append(answers)
        request = await home.answered("one", "two")
        await home.quiet()
        await correct(home, request)
        await recall(home, f"q{request}")
        home.authority.verdicts[request] = Verdict.QUESTION_RECALLED
        answers.set()
        await home.settle(request)
        assert [part.state for part in await home.parts(request)] == ["delivered", "superseded"]
        assert (await item(home, request))["revision"] == 2
        await recall(home, "c")
        shown = await item(home, request)
        assert (shown["revision"], shown["work"], shown["needs_operator"]) == (1, "resolved", False)
        assert (shown["delivery"]["status"], shown["delivery"]["delivered_parts"]) == ("superseded", 1)


async def waiting_resend(home: Desk, request: RequestId) -> None:
    """An operator has it sent anew; Lark cannot be reached, so nothing of that is attempted."""
    home.provider.prepare_faults += [refused(Refusal.OFFLINE)] * 1000
    assert await home.outcome(await home.act(request, Resend("it is not there"))) == "queued"
    await home.quiet()


@pytest.mark.parametrize("taken_back", [True, False], ids=["taken back", "stands"])
@pytest.mark.parametrize("end", ["unproved", "undeliverable"])
async def test_a_resend_goes_on_through_a_correction(tmp_path: Path, end: str, *, taken_back: bool) -> None:
    """What an operator had sent anew is told to its end, as any answer that was begun."""
    async with desk(tmp_path) as home:
        request = await answered(home, end)
        await waiting_resend(home, request)
        before = await item(home, request)
        await correct(home, request)
        if taken_back:
            await recall(home, "c")
            assert await item(home, request) == before
        home.provider.prepare_faults.clear()

        async def told() -> bool:
            return (await home.parts(request))[-1].state == "delivered"

        await home.until(told)
        shown = await item(home, request)
        assert shown["delivery"]["status"] == ("delivered" if taken_back else "absent")
        assert (shown["needs_operator"], len(home.provider.messages)) == (False, 1)


async def test_a_resend_of_what_was_never_attempted_goes_on_through_a_correction(tmp_path: Path) -> None:
    """Nobody may be told, until an owner allows it."""
    async with desk(tmp_path) as home:
        home.authority.verdicts = {"r_1": Verdict.REVOKED}
        request = await home.answered("one")
        assert (await home.settle(request)).status == "undeliverable"
        home.authority.verdicts.clear()
        await waiting_resend(home, request)
        await correct(home, request)
        await recall(home, "c")
        home.provider.prepare_faults.clear()
        assert (await home.settle(request)).status == "delivered"
        assert (len(home.provider.messages), (await item(home, request))["revision"]) == (1, 1)


async def test_the_rest_of_an_answer_goes_on_through_a_correction(tmp_path: Path) -> None:
    """Its first part is there after all, and the second one was to be told with the resend."""
    async with desk(tmp_path) as home:
        home.provider.faults.append("lose")
        request = await home.answered("one", "two")
        await home.until(lambda: home.provider.messages, step_ms=1)
        (message,) = home.provider.messages
        message.hidden_until = home.clock.now() + 20_000
        assert (await home.settle(request)).error == "no_match_found"
        await waiting_resend(home, request)
        await correct(home, request)
        await recall(home, "c")
        home.clock.move(30_000)
        await home.act(request, Verify())
        home.provider.prepare_faults.clear()
        row = await home.settle(request)
        assert (row.status, row.delivered_parts, len(home.provider.messages)) == ("delivered", 2, 2)


@pytest.mark.parametrize("shown", [True, False], ids=["readable", "not readable"])
async def test_the_late_answer_says_whether_the_resend_goes_on(tmp_path: Path, *, shown: bool) -> None:
    """A gateway stood still in its send; its answer names the message after the resend was ordered."""
    async with desk(tmp_path) as home:
        answers = asyncio.Event()
        home.provider.faults.append(answers)
        request = await home.answered("one")
        await home.until(lambda: home.provider.blocked == 1, step_ms=1)
        (message,) = home.provider.messages
        message.hidden_until = 2**60
        first = home.pump
        async with running(home, home.new_pump("two")):
            assert (await home.settle(request)).error == "no_match_found"
            await waiting_resend(home, request)
            message.deleted = not shown
            answers.set()
            await home.until(lambda: not first._sending, step_ms=1)
            await correct(home, request)
            await recall(home, "c")
            home.provider.prepare_faults.clear()
            assert (await item(home, request))["revision"] == 1
            row = await home.settle(request)
        assert (row.status, row.error, (await item(home, request))["needs_operator"]) == ("delivered", None, False)
        assert len(home.provider.sends) == (1 if shown else 2)


class SaysRecalled(FakeAuthority):
    """As the steward's: nothing is told to a question that was recalled."""

    def verdict(self, connection: object, subject: object, revision: int) -> Verdict:
        return Verdict.QUESTION_RECALLED if revision == 2 else Verdict.ALLOWED


async def recalled_after_its_lost_answer(home: Desk, *words: str) -> tuple[RequestId, dict, dict]:
    """A correction with an answer of these parts, the last one lost, is recalled; the item before and after."""
    request = await answered(home, "delivered")
    before = await item(home, request)
    await correct(home, request)
    await resolve(home, request)
    home.provider.faults += [*[None] * (len(words) - 1), Unknown("timeout")]
    asked = home.provider.say(route(reply_to=None), text("And there?"), ours=False)
    asked.message_id = "om_c"
    await home.put(*words, subject=request, revision=2, to=route(reply_to="om_c"))
    assert (await home.settle(request)).error == "no_match_found"
    await recall(home, "c")
    asked.recalled = True
    home.acting._authority = SaysRecalled()
    return request, before, await item(home, request)


async def test_a_lost_answer_to_a_recalled_correction_gives_way_to_the_answer_that_stands(tmp_path: Path) -> None:
    """An operator says that it is not there, and has it sent anew."""
    async with desk(tmp_path) as home:
        request, before, _ = await recalled_after_its_lost_answer(home, "two")
        assert await home.outcome(await home.act(request, Resend("it is not there"))) == "changed"
        assert await item(home, request) == before
        assert len(home.provider.sends) == 2


async def test_it_gives_no_way_where_a_part_of_it_was_told(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request, _, now = await recalled_after_its_lost_answer(home, "two", "and more")
        assert await home.outcome(await home.act(request, Resend("the rest is not there"))) == "forbidden"
        shown = await item(home, request)
        assert (shown["revision"], shown["delivery"]) == (2, now["delivery"])
        assert len(home.provider.sends) == 3
