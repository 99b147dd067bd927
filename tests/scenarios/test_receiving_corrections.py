"""Corrections, edits and quotes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert

from manager.decisions.decision import Answer, Decision, Delegate, TurnInput
from manager.decisions.inbound import Mention
from manager.decisions.turn_sentences import Sentence, say
from manager.ledger import requests, tables
from manager.ports import ChatMessage, RuntimeFailed
from returns.ids import ChatId, MessageId, Millis
from returns.ledger import tables as returned
from tests.support.turns import APP, AT_STEWARD, BEN, GROUP, NOON, World, message, policy, private, world


async def sent(it: World, message_id: str) -> None:
    """The way back sent what it was given last, as this message."""

    def note(connection: Connection) -> None:
        part = connection.execute(returned.parts.select().order_by(returned.parts.c.return_seq.desc())).first()
        assert part is not None
        connection.execute(
            insert(returned.part_locators).values(
                part_id=part.part_id, app=APP, message_id=message_id, chat_id=GROUP, source="direct", at=NOON
            )
        )

    await it.transactions.run(note)


def edited(words: str, digest: str = "edited") -> ChatMessage:
    return ChatMessage(words, "asker", NOON, Millis(NOON + 5), digest)


@pytest.mark.parametrize("start", ["更正：", "补充:", "Correction:", "correction：", "Also:", "ALSO :"])
async def test_a_reply_that_corrects_ones_own_question(tmp_path: Path, start: str) -> None:
    async with world(tmp_path) as it, it.running():
        question = message("@_user_1 where is foo?")
        await it.accept(question)
        await it.until_idle(1)
        await it.accept(message(f"@_user_1 {start} I meant bar", parent_id=question.message_id))
        await it.until_idle(2)
        assert it.runtime.questions[1] == f"where is foo?\n{start} I meant bar"
        (request,) = await it.rows(tables.requests)
        assert request["revision"] == 2
        body = (await it.rows(tables.revision_bodies, revision=2))[0]
        assert '"kind": "question"' in body["brief"]
        assert '"kind": "correction"' in body["brief"]
        assert await it.told("answer") == [
            "answer to where is foo?",
            f"answer to where is foo?\n{start} I meant bar",
        ]


async def test_a_reply_that_corrects_by_answering_the_steward(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        await it.accept(message("@_user_1 where is foo?"))
        await it.until_idle(1)
        await sent(it, "om_answer")
        await it.accept(message("@_user_1 更正：是 bar", parent_id=MessageId("om_answer")))
        await it.until_idle(2)
        assert [row["revision"] for row in await it.rows(tables.requests)] == [2]


@pytest.mark.parametrize(
    "change",
    [
        {"sender_id": BEN},
        {"parent_id": None},
        {"parent_id": MessageId("om_elsewhere")},
        {"text": "@_user_1 I meant: Correction: bar"},
        {"chat_id": ChatId("oc_other")},
    ],
    ids=["of another", "no reply", "reply to something else", "not at the beginning", "in another chat"],
)
async def test_everything_else_is_a_question_of_its_own(tmp_path: Path, change: dict[str, Any]) -> None:
    async with world(tmp_path) as it:
        question = message("@_user_1 where is foo?")
        await it.accept(question)
        await it.accept(message(**({"words": "@_user_1 Correction: bar", "parent_id": question.message_id} | change)))
        assert [row["revision"] for row in await it.rows(tables.requests)] == [1, 1]


async def test_a_correction_replaces_a_question_that_waits(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question = message("@_user_1 where is foo?")
        await it.accept(question)
        await it.accept(message("@_user_1 Correction: bar", parent_id=question.message_id))
        async with it.running():
            await it.until_idle(2)
        assert it.runtime.questions == ["where is foo?\nCorrection: bar"]
        assert await it.turn_states() == ["cancelled", "done"]


async def test_a_correction_makes_a_running_decision_void(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        started, go_on = asyncio.Event(), asyncio.Event()

        async def decide(turn: TurnInput) -> Decision:
            started.set()
            await go_on.wait()
            return Answer(f"answer to {turn.question}")

        it.runtime.decide_with = decide
        question = message("@_user_1 where is foo?")
        await it.accept(question)
        await started.wait()
        await it.accept(message("@_user_1 Correction: bar", parent_id=question.message_id))
        go_on.set()
        await it.until_idle(2)
        assert await it.told() == ["answer to where is foo?\nCorrection: bar"]
        assert await it.turn_states() == ["cancelled", "done"]


async def test_an_edited_question_is_decided_as_it_reads_now(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        question = message("@_user_1 where is foo?")
        it.reader.messages[question.message_id] = edited("@Steward where is bar?")
        await it.accept(question)
        await it.until_idle(1)
        assert it.runtime.questions == ["where is bar?"]
        assert await it.told() == ["answer to where is bar?"]
        assert [row["revision"] for row in await it.rows(tables.requests)] == [2]
        (turn,) = await it.rows(tables.turns)
        assert (turn["state"], turn["revision"]) == ("done", 2)
        routes = await it.transactions.read(lambda each: requests.request_of_message(each, APP, question.message_id))
        assert routes is not None
        assert routes[1] == 2


async def test_an_edited_correction_stays_a_correction(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        question = message("@_user_1 where is foo?")
        await it.accept(question)
        await it.until_idle(1)
        correction = message("@_user_1 Correction: bar", parent_id=question.message_id)
        it.reader.messages[correction.message_id] = edited("@Steward Correction: baz")
        await it.accept(correction)
        await it.until_idle(2)
        assert it.runtime.questions[1] == "where is foo?\nCorrection: baz"


@pytest.mark.parametrize(
    "seen",
    [
        ChatMessage("@Steward where is foo?", "asker", NOON, None, "another digest"),
        ChatMessage("@Steward where is foo?", "asker", NOON, Millis(NOON + 1), "another digest"),
    ],
    ids=["never edited", "edited to the same words"],
)
async def test_what_reads_the_same_is_not_edited(tmp_path: Path, seen: ChatMessage) -> None:
    async with world(tmp_path) as it, it.running():
        question = message("@_user_1 where is foo?")
        it.reader.messages[question.message_id] = seen
        await it.accept(question)
        await it.until_idle(1)
        assert [row["revision"] for row in await it.rows(tables.requests)] == [1]


async def test_a_quoted_message_is_evidence(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        alert = ChatMessage("disk full on db-1", "bot", NOON, None, "d")
        it.reader.messages["om_alert"] = alert
        await it.accept(message("@_user_1 help investigate", parent_id=MessageId("om_alert")))
        await it.until_idle(1)
        (turn,) = it.runtime.seen
        assert turn.question == "help investigate"
        assert turn.quoted is not None
        assert (turn.quoted.author, turn.quoted.text) == ("bot", "disk full on db-1")


async def test_a_quoted_message_is_handed_over_with_the_question(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():

        async def delegate(turn: TurnInput) -> Decision:
            return Delegate("atlas", turn.question)

        it.runtime.decide_with = delegate
        it.reader.messages["om_alert"] = ChatMessage("disk full on db-1", "bot", NOON, None, "d")
        await it.accept(message("@_user_1 help investigate", parent_id=MessageId("om_alert")))
        await it.until_idle(1)
        (row,) = await it.rows(tables.revision_bodies)
        said = [(each["kind"], each["author"], each["text"]) for each in json.loads(row["brief"])["messages"]]
        assert said == [("quote", "bot", "disk full on db-1"), ("question", "asker", "help investigate")]


async def test_its_own_quoted_words_are_known_without_reading(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        await it.accept(message("@_user_1 where is foo?"))
        await it.until_idle(1)
        await sent(it, "om_answer")
        await it.accept(message("@_user_1 why?", parent_id=MessageId("om_answer")))
        await it.until_idle(2)
        quoted = it.runtime.seen[1].quoted
        assert quoted is not None
        assert (quoted.author, quoted.text) == ("steward", "answer to where is foo?")
        assert "om_answer" not in it.reader.asked_for


async def test_a_quote_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        await it.accept(message("@_user_1 why?", parent_id=MessageId("om_gone")))
        await it.until_idle(1)
        assert it.runtime.seen[0].quoted is None


async def test_named_without_a_question_it_asks_back(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        await it.accept(message("@_user_1 "))
        at_butler = Mention("@_user_1", AT_STEWARD.open_id, "管家")
        await it.accept(message("@_user_1", mentions=(at_butler,)))
        await it.until_idle(2)
        assert await it.told("notice") == [say(Sentence.EMPTY, "en"), say(Sentence.EMPTY, "zh")]
        assert await it.works() == ["open", "open"]
        assert it.runtime.seen == []


async def test_named_in_a_reply_it_looks_at_what_is_quoted(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        it.reader.messages["om_alert"] = ChatMessage("disk full", "asker", NOON, None, "d")
        await it.accept(message("@_user_1", parent_id=MessageId("om_alert")))
        await it.until_idle(1)
        assert [(turn.question, turn.quoted and turn.quoted.text) for turn in it.runtime.seen] == [("", "disk full")]


async def test_what_was_said_before_is_given_to_the_runtime(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        await it.accept(private("first"))
        await it.until_idle(1)
        await it.accept(message("@_user_1 elsewhere"))
        await it.accept(private("second"))
        await it.until_idle(3)
        (turn,) = [turn for turn in it.runtime.seen if turn.question == "second"]
        assert [(said.author, said.text) for said in turn.history] == [
            ("asker", "first"),
            ("steward", "answer to first"),
        ]
        assert turn.history[0].at.endswith("Z")


async def test_a_late_question_does_not_read_what_was_asked_after_it(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        later = private("second", created_at=Millis(NOON + 10_000))
        await it.accept(later)
        await it.until_idle(1)
        await it.accept(replace(private("first"), created_at=Millis(NOON + 9_000)))
        await it.until_idle(2)
        assert [said.text for said in it.runtime.seen[1].history] == ["answer to second"]


async def _hangs(turn: TurnInput) -> Decision:
    await asyncio.Event().wait()
    raise AssertionError


async def _fails(turn: TurnInput) -> Decision:
    raise RuntimeFailed("The model is away.")


async def _breaks(turn: TurnInput) -> Decision:
    raise ValueError("a fault of the runtime")


@pytest.mark.parametrize("decide", [_hangs, _fails, _breaks])
async def test_a_turn_that_fails_after_an_edit_is_told(
    tmp_path: Path, decide: Callable[[TurnInput], Awaitable[Decision]]
) -> None:
    async with world(tmp_path, policy=policy(turn_timeout_ms=300)) as it:
        question = message("@_user_1 where is foo?")
        it.reader.messages[question.message_id] = edited("@Steward where is bar?")
        it.runtime.decide_with = decide
        await it.accept(question)
        async with it.running():

            async def told() -> bool:
                it.clock.advance(5_000)
                await it.wake()
                return bool(await it.told("answer"))

            await it.until(told)
        assert await it.works() == ["declined"]
        assert await it.turn_states() == ["failed"]
