"""Late is answered and said; a late control word expires; an odd clock drops nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from manager.decisions.decision import Ask, Decline, Defer, Delegate, TurnInput
from manager.decisions.turn_sentences import Sentence, say
from manager.ledger import tables
from manager.service.receiving import Acceptance
from returns.ids import Millis
from tests.support.turns import NOON, ManualClock, envelope, message, world

LATE = say(Sentence.LATE, "en")
HOURS = 3_600_000


async def test_seven_hours_late_and_never_seen_is_answered_as_late(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        asked = message("@_user_1 where is main?", created_at=Millis(NOON - 7 * HOURS))
        assert await it.accept(asked) is Acceptance.NEW
        await it.until_idle(1)
        assert await it.told("answer") == [f"{LATE}\n\nanswer to where is main?"]
        (row,) = await it.rows(tables.events)
        assert (row["state"], row["reason"]) == ("late", "answered_late")
        assert [row["late"] for row in await it.rows(tables.requests)] == [True]


async def test_late_in_chinese_is_said_in_chinese(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        await it.accept(message("@_user_1 入口在哪里？", created_at=Millis(NOON - 7 * HOURS)))
        await it.until_idle(1)
        assert (await it.told())[0].startswith(say(Sentence.LATE, "zh"))


@pytest.mark.parametrize(
    "decision",
    [Ask("Which one?"), Decline("no"), Defer("later", "ops", "monday"), Delegate("nobody", "do it")],
    ids=lambda each: type(each).__name__,
)
async def test_every_decision_of_a_late_question_says_so(tmp_path: Path, decision: object) -> None:
    async with world(tmp_path) as it, it.running():

        async def decide(turn: TurnInput) -> object:
            return decision

        it.runtime.decide_with = decide
        await it.accept(message(created_at=Millis(NOON - HOURS)))
        await it.until_idle(1)
        assert sum(LATE in each for each in await it.told()) == 1


@pytest.mark.parametrize("word", ["stop", "Restart", "/stop", "/status", "停止", "restart!"])
async def test_a_late_control_word_expires_and_is_listed(tmp_path: Path, word: str) -> None:
    async with world(tmp_path) as it:
        asked = message(f"@_user_1 {word}", created_at=Millis(NOON - HOURS))
        await it.accept(asked)
        assert await it.rows(tables.turns) == []
        (row,) = await it.rows(tables.events)
        assert (row["state"], row["reason"]) == ("late", "late_control_expired")
        assert await it.accept(asked) is Acceptance.DUPLICATE


async def test_a_control_word_in_time_is_a_question(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.accept(message("@_user_1 stop"))
        assert len(await it.rows(tables.turns)) == 1


@pytest.mark.parametrize(
    ("offset", "state"),
    [(-5 * 60_000, "accepted"), (5 * 60_000, "accepted"), (8 * HOURS, "late"), (-8 * HOURS, "accepted")],
)
async def test_a_clock_that_is_off_drops_nothing(tmp_path: Path, offset: int, state: str) -> None:
    async with world(tmp_path, clock=ManualClock(NOON + offset)) as it, it.running():
        assert await it.accept(message()) is Acceptance.NEW
        await it.until_idle(1)
        assert len(await it.told()) == 1
        assert [row["state"] for row in await it.rows(tables.events)] == [state]


async def test_a_message_without_any_time_is_answered_and_not_late(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        asked = message("@_user_1 hi", created_at=None, envelope=envelope("im.message.receive_v1", None))
        assert await it.accept(asked) is Acceptance.NEW
        await it.until_idle(1)
        assert await it.told() == ["answer to hi"]
        assert [row["asked_at"] for row in await it.rows(tables.requests)] == [NOON]
