"""The same thing again, in every way in which it comes again, leads to nothing more."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from manager.ledger import tables
from manager.service.receiving import Acceptance
from returns.ids import MessageId, Millis, ThreadId
from tests.support.databases import of_folder, opened
from tests.support.turns import ANNA, BEN, NOON, OTHER_APP, Mention, OpenId, World, envelope, message, misshapen, world


async def test_pushed_again_with_the_same_event_id(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question = message()
        assert await it.accept(question) is Acceptance.NEW
        it.clock.advance(8 * 86_400_000)
        assert await it.accept(question) is Acceptance.DUPLICATE
        assert len(await it.rows(tables.turns)) == 1


async def test_pushed_again_under_other_event_ids_and_after_restarts(tmp_path: Path) -> None:
    question = message()
    pushes = [replace(question, envelope=envelope("im.message.receive_v1", question.created_at)) for _ in range(3)]
    async with world(tmp_path) as it:
        assert await it.accept(question) is Acceptance.NEW
    for push in pushes:
        async with opened(of_folder(tmp_path)) as again:
            it = World(again)
            assert await it.accept(push) is Acceptance.DUPLICATE
            assert len(await it.rows(tables.turns)) == 1


async def test_fifty_at_once_are_one(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        question = message()
        same = [replace(question, envelope=envelope("im.message.receive_v1", question.created_at)) for _ in range(25)]
        said = await asyncio.gather(*(it.accept(each) for each in (*same, *[question] * 25)))
        assert sorted(each.value for each in said) == ["duplicate"] * 49 + ["new"]
        await it.until_idle(1)
        assert len(it.runtime.seen) == 1
        assert len(await it.told()) == 1


async def test_one_message_to_two_apps_is_a_question_to_each(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        both = (Mention("@_user_1", OpenId("ou_steward"), "One"), Mention("@_user_2", OpenId("ou_second"), "Two"))
        first = message("@_user_1 @_user_2 hi", mentions=both)
        second = replace(first, envelope=replace(first.envelope, app=OTHER_APP))
        assert await it.accept(first) is Acceptance.NEW
        assert await it.accept(second) is Acceptance.NEW
        await it.until_idle(2)
        assert sorted(it.runtime.questions) == ["@One hi", "@Two hi"]


async def test_redelivered_under_a_new_message_id(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question = message()
        again = replace(
            question,
            envelope=envelope("im.message.receive_v1", NOON + 60_000),
            message_id=MessageId("om_redelivered"),
        )
        assert await it.accept(question) is Acceptance.NEW
        assert await it.accept(again) is Acceptance.DUPLICATE
        assert await it.accept(again) is Acceptance.DUPLICATE
        assert len(await it.rows(tables.turns)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"created_at": Millis(NOON + 500_000)},
        {"sender_id": BEN},
        {"thread_id": ThreadId("omt_other"), "parent_id": MessageId("om_root")},
        {"content_digest": "other"},
        {"created_at": None},
    ],
    ids=lambda change: next(iter(change)) if isinstance(change, dict) else None,
)
async def test_the_same_words_are_another_question_where_anything_else_differs(
    tmp_path: Path, change: dict[str, object]
) -> None:
    async with world(tmp_path) as it:
        alike = {"created_at": Millis(NOON + 1), "sender_id": ANNA}
        assert await it.accept(message("@_user_1 deploy?", **alike)) is Acceptance.NEW
        assert await it.accept(message("@_user_1 deploy?", **(alike | change))) is Acceptance.NEW
        assert len(await it.rows(tables.requests)) == 2


async def test_without_a_time_the_same_text_twice_is_two_questions(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        for _ in range(2):
            asked = message("@_user_1 again?", created_at=None)
            assert await it.accept(asked) is Acceptance.NEW
        assert len(await it.rows(tables.requests)) == 2


async def test_another_body_under_a_known_event_id_is_an_alarm_once(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question = message("@_user_1 first")
        forged = message("@_user_1 second", envelope=replace(question.envelope, body_digest="0" * 64))
        assert await it.accept(question) is Acceptance.NEW
        assert await it.accept(forged) is Acceptance.ALARM
        assert await it.accept(forged) is Acceptance.ALARM
        assert await it.accept(question) is Acceptance.DUPLICATE
        states = [row["state"] for row in await it.rows(tables.events)]
        assert states == ["accepted", "alarm"]
        assert [row["question"] for row in await it.rows(tables.revision_bodies)] == ["first"]


async def test_a_misshapen_event_is_parked_with_its_body(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        event = misshapen("event.message.content")
        assert await it.accept(event, '{"event": 7}') is Acceptance.PARKED
        assert await it.accept(event, '{"event": 7}') is Acceptance.DUPLICATE
        (row,) = await it.rows(tables.events)
        assert (row["state"], row["reason"]) == ("parked", "event.message.content")
        assert [row["body"] for row in await it.rows(tables.event_bodies)] == ['{"event": 7}']


async def test_what_no_database_can_hold_is_taken_out(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        assert await it.accept(message("@_user_1 a\x00b\ud83d c")) is Acceptance.NEW
        assert [row["question"] for row in await it.rows(tables.revision_bodies)] == ["ab c"]
