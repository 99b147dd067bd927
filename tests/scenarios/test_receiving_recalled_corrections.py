"""A correction that is taken back: the question that still stands is answered, once, and only if it was not before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from manager.decisions.decision import Answer, Audience, Decision, Delegate, TurnInput
from manager.decisions.inbound import MessageReceived
from manager.ids import PeerId, RequestId
from manager.ledger import peers, requests, tables
from manager.ports import ChatMessage, Gone
from manager.service.authority import StewardAuthority
from returns.decisions.policy import ReturnsPolicy
from returns.ids import Millis, PartId, ReturnId, SubjectId
from returns.ledger import attempts
from returns.ledger import operators as deliveries
from returns.ledger import tables as returned
from returns.ledger.parts import load
from tests.support.sends import PROVED, end_send
from tests.support.turns import NOON, World, message, policy, recall, world

CORRECTED = "where is foo?\nCorrection: bar"


def asked() -> tuple[MessageReceived, MessageReceived]:
    """A question, and a correction of it."""
    question = message("@_user_1 where is foo?")
    return question, message("@_user_1 Correction: bar", parent_id=question.message_id)


async def send(it: World, *, all_of_it: bool = True) -> None:
    """The way back begins to send whatever it has; not ``all_of_it`` may be told by now."""
    authority = StewardAuthority("say_nothing", it.clock, it.ids)

    def begin(connection: Connection) -> None:
        queued = connection.execute(select(returned.parts.c.part_id).where(returned.parts.c.state == "queued"))
        for part in queued.scalars().all():
            now = it.clock.now()
            begun = attempts.begin(connection, PartId(part), "pump", now, ReturnsPolicy(), authority)
            assert begun is not None or not all_of_it

    await it.transactions.run(begin)


async def prove(it: World) -> None:
    """What there is is told."""

    def work(connection: Connection) -> None:
        part = connection.execute(select(returned.parts.c.part_id)).scalar_one()
        end_send(connection, PartId(part), it.clock.now(), PROVED)

    await it.transactions.run(work)


def add_surveyor(connection: Connection, now: Millis) -> None:
    """A peer that everybody may ask."""
    peers.add(
        connection,
        peer_id=PeerId("p_1"),
        name="surveyor",
        mode=peers.Mode.ATTACHED_HOST,
        audience=Audience("shared"),
        goal=None,
        responsibilities=("measures",),
        examples=(),
        digest=peers.token_digest("token"),
        now=now,
    )


async def revisions(it: World) -> list[tuple[int, str]]:
    """The only request's revisions, each with its work."""
    rows = await it.rows(tables.revisions)
    return [(row["revision"], row["work"]) for row in sorted(rows, key=lambda row: row["revision"])]


class Deciding:
    """The runtime waits in the turn of a question until it may go on."""

    def __init__(self, it: World, question: str) -> None:
        self.started, self.go_on = asyncio.Event(), asyncio.Event()
        self.question = question
        it.runtime.decide_with = self.decide

    async def decide(self, turn: TurnInput) -> Decision:
        if turn.question == self.question:
            self.started.set()
            await self.go_on.wait()
        return Answer(f"answer to {turn.question}")


async def test_recalled_before_its_turn(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question, correction = asked()
        for event in (question, correction, recall(correction), recall(correction)):
            await it.accept(event)
        async with it.running(receipts=True):
            await it.until_idle(3)
            await it.until(lambda: it.facts("receipt"))
        assert it.runtime.questions == ["where is foo?"]
        assert await it.told() == ["answer to where is foo?"]
        assert await revisions(it) == [(1, "cancelled"), (2, "cancelled"), (3, "resolved")]
        assert it.receipts.left == [question.message_id]
        assert await it.facts("reopened") == [("reopened", {"superseded": 0, "standing": 1})]
        (body,) = await it.rows(tables.revision_bodies, revision=3)
        assert "bar" not in body["question"] + body["brief"]
        (route,) = await it.rows(tables.question_routes, revision=3)
        assert (route["message_id"], route["recalled_at"]) == (question.message_id, None)


async def test_recalled_while_its_turn_runs(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        deciding = Deciding(it, CORRECTED)
        question, correction = asked()
        await it.accept(question)
        await it.accept(correction)
        await deciding.started.wait()
        await it.accept(recall(correction))
        deciding.go_on.set()
        await it.until_idle(3)
        assert (await it.told())[-1:] == ["answer to where is foo?"]
        assert [row["work"] for row in await it.rows(tables.revisions, revision=3)] == ["resolved"]
        assert "answer to " + CORRECTED not in await it.told()


async def test_found_recalled_when_its_turn_comes(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question, correction = asked()
        it.reader.messages[correction.message_id] = Gone.RECALLED
        await it.accept(question)
        await it.accept(correction)
        async with it.running():
            await it.until_idle(3)
            assert await it.told() == ["answer to where is foo?"]
            await it.accept(recall(correction))  # its event comes at last
            await it.until_idle(3)
        assert await it.works() == ["resolved"]


async def test_recalled_before_it_arrives(tmp_path: Path) -> None:
    """It corrects nothing: a turn that runs already goes on."""
    async with world(tmp_path) as it, it.running():
        deciding = Deciding(it, "where is foo?")
        question, correction = asked()
        await it.accept(question)
        await deciding.started.wait()
        await it.accept(recall(correction))
        await it.accept(correction)
        deciding.go_on.set()
        await it.until_idle(1)
        assert await it.told() == ["answer to where is foo?"]
        assert await revisions(it) == [(1, "resolved")]
        assert [fact for fact, _ in await it.facts("correction_recalled")] == ["correction_recalled"]


@pytest.mark.parametrize("heard", [True, False], ids=["by its event", "by a refused reply"])
async def test_recalled_after_it_was_decided_and_before_anything_was_sent(tmp_path: Path, *, heard: bool) -> None:
    async with world(tmp_path) as it, it.running():
        question, correction = asked()
        await it.accept(question)
        await it.until_idle(1)
        await it.accept(correction)
        await it.until_idle(2)
        if heard:
            await it.accept(recall(correction))
        else:
            authority = StewardAuthority("say_nothing", it.clock, it.ids)
            (request,) = await it.rows(tables.requests)
            subject = SubjectId(request["request_id"])
            await it.transactions.run(lambda c: authority.question_recalled(c, subject, 2, it.clock.now()))
        await it.until_idle(3)
        states = await it.sql("select p.state from parts p join returns r on r.return_id = p.return_id order by r.seq")
        assert [row[0] for row in states] == ["superseded", "superseded", "queued"]
        assert (await it.told())[-1] == "answer to where is foo?"
        assert await it.works() == ["resolved"]


async def test_recalled_after_its_answer_was_sent(tmp_path: Path) -> None:
    """The request has its answer; nothing more is said."""
    async with world(tmp_path) as it, it.running():
        question, correction = asked()
        await it.accept(question)
        await it.accept(correction)
        await it.until(lambda: it.told("answer"))
        await it.until_idle(2)
        await send(it)
        told = await it.told()
        await it.accept(recall(correction))
        assert len(await it.rows(tables.turns)) == 2
        assert (await it.told(), await it.works()) == (told, ["resolved"])


async def test_recalled_when_the_question_had_its_answer(tmp_path: Path) -> None:
    """That answer stays what it is: the request goes back to it, and the timeline says so."""
    async with world(tmp_path) as it:
        question, correction = asked()
        async with it.running():
            await it.accept(question)
            await it.until_idle(1)
        await send(it)
        await it.accept(correction)
        await it.accept(recall(correction))
        async with it.running():
            await it.until_idle(2)
        assert await it.told() == ["answer to where is foo?"]
        assert await revisions(it) == [(1, "resolved"), (2, "cancelled")]
        assert await it.facts("earlier_answer_stands") == [("earlier_answer_stands", {"standing": 1})]
        assert [row["state"] for row in await it.rows(returned.parts)] == ["sending"]
        (request,) = await it.rows(tables.requests)
        assert (request["revision"], request["unanswered"], await it.works()) == (1, None, ["resolved"])


async def test_a_further_correction_speaks_of_the_question_that_stands(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        question, correction = asked()
        await it.accept(question)
        await it.until_idle(1)
        await send(it)
        await it.accept(correction)
        await it.accept(recall(correction))
        await it.accept(message("@_user_1 Correction: baz", parent_id=question.message_id))
        await it.until_idle(3)
        assert it.runtime.questions[-1] == "where is foo?\nCorrection: baz"
        assert (await revisions(it))[-1] == (3, "resolved")
        assert (await it.rows(tables.requests))[0]["revision"] == 3


@pytest.mark.parametrize("edits", ["the question", "the next correction"])
async def test_an_edit_adds_nothing_to_what_was_taken_back(tmp_path: Path, edits: str) -> None:
    async with world(tmp_path) as it:
        question, correction = asked()
        following = message("@_user_1 Correction: baz", parent_id=question.message_id)
        await it.accept(question)
        if edits == "the next correction":
            async with it.running():
                await it.until_idle(1)
            await send(it)
        await it.accept(correction)
        it.clock.advance(1)
        await it.accept(recall(correction))
        if edits == "the next correction":
            await it.accept(following)
        edited = following if edits == "the next correction" else question
        words = "@Steward Correction: qux" if edited is following else "@Steward where is qux?"
        it.reader.messages[edited.message_id] = ChatMessage(words, "asker", NOON, Millis(NOON + 9_000), "edited")
        async with it.running():
            await it.until_idle(3)
        wanted = "where is foo?\nCorrection: qux" if edited is following else "where is qux?"
        assert it.runtime.questions[-1] == wanted


async def test_recalled_before_the_answer_that_is_sent_anew_went_out(tmp_path: Path) -> None:
    """A correction replaces nothing that an operator had sent anew, and the question is not asked again."""
    async with world(tmp_path) as it:
        question, correction = asked()
        async with it.running():
            await it.accept(question)
            await it.until_idle(1)
        await send(it)

        def send_anew(connection: Connection) -> None:
            (part_id,) = connection.execute(select(returned.parts.c.part_id)).scalars()
            part, now = load(connection, part_id), it.clock.now()
            assert deliveries.send_anew(connection, part, ReturnId("ret_new"), now, who="kim", reason="not there")

        await it.transactions.run(send_anew)
        await it.accept(correction)
        await it.accept(recall(correction))
        async with it.running():
            await it.until_idle(2)
        assert await revisions(it) == [(1, "resolved"), (2, "cancelled")]
        assert [row["state"] for row in await it.rows(returned.parts)] == ["sending", "queued"]


async def test_the_first_question_recalled_while_the_correction_stands(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question, correction = asked()
        for event in (question, correction, recall(question)):
            await it.accept(event)
        async with it.running():
            await it.until_idle(2)
        assert await it.told() == [f"answer to {CORRECTED}"]
        assert await revisions(it) == [(1, "cancelled"), (2, "resolved")]


@pytest.mark.parametrize("first", ["question", "correction"])
@pytest.mark.parametrize("runs", [False, True])
async def test_both_recalled(tmp_path: Path, first: str, *, runs: bool) -> None:
    async with world(tmp_path) as it:
        question, correction = asked()
        await it.accept(question)
        await it.accept(correction)
        order = (question, correction) if first == "question" else (correction, question)
        if runs:
            it.reader.messages |= {each.message_id: Gone.RECALLED for each in order}
        else:
            for each in order:
                await it.accept(recall(each))
        async with it.running():
            await it.until_idle()
            if runs:
                await it.until_idle(3)
        assert (it.runtime.questions, await it.told(), await it.works()) == ([], [], ["cancelled"])


async def test_of_two_corrections_the_last_recalled(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question, correction = asked()
        last = message("@_user_1 Also: baz", parent_id=question.message_id)
        for event in (question, correction, last, recall(last)):
            await it.accept(event)
        async with it.running():
            await it.until_idle(4)
        assert await it.told() == [f"answer to {CORRECTED}"]


async def test_both_corrections_recalled_in_turn(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question, correction = asked()
        last = message("@_user_1 Also: baz", parent_id=question.message_id)
        for event in (question, correction, last, recall(last), recall(correction)):
            await it.accept(event)
        async with it.running():
            await it.until_idle(5)
        assert await it.told() == ["answer to where is foo?"]
        assert await it.works() == ["resolved"]


async def test_a_question_that_an_operator_cancelled_stays_cancelled(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question, correction = asked()
        await it.accept(question)
        (request,) = await it.rows(tables.requests)
        name = RequestId(request["request_id"])
        await it.transactions.run(lambda c: requests.cancel(c, name, it.clock.now(), by="ann", reason="no"))
        await it.accept(correction)
        await it.accept(recall(correction))
        async with it.running():
            await it.until_idle(2)
        assert (await it.told(), await it.works()) == ([], ["cancelled"])


async def test_an_answer_in_the_chat_is_answer_enough(tmp_path: Path) -> None:
    async with world(tmp_path, policy=policy(recalled_question="answer_in_chat")) as it:
        question, correction = asked()
        await it.accept(question)
        await it.accept(correction)
        async with it.running():
            await it.until_idle(2)
        await it.accept(recall(correction))
        assert (await it.told(), await it.works()) == ([f"answer to {CORRECTED}"], ["resolved"])
        assert len(await it.rows(tables.turns)) == 2


@pytest.mark.parametrize("sent", [False, True])
async def test_whoever_has_the_reopened_question_is_told_where_that_was_not_told_yet(
    tmp_path: Path, *, sent: bool
) -> None:
    """The correction was handed over; it is recalled before, or after, its notice goes out."""
    async with world(tmp_path) as it:
        await it.transactions.run(lambda each: add_surveyor(each, it.clock.now()))

        async def decide(turn: TurnInput) -> Decision:
            return Delegate("surveyor", turn.question)

        it.runtime.decide_with = decide
        question, correction = asked()
        for event in (question, correction):
            await it.accept(event)
        async with it.running():
            await it.until_idle(2)
            if sent:
                await prove(it)
            await it.accept(recall(correction))
            await it.until_idle(3)
        assert len(await it.told("notice")) == (1 if sent else 2)
        if not sent:
            await send(it, all_of_it=False)
            assert [row["state"] for row in await it.rows(returned.parts)] == ["superseded", "sending"]
