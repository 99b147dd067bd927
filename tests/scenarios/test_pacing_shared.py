"""A9: several gateways of one app count their calls together, in the database and by its clock."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select

from returns.decisions.policy import ReturnsPolicy
from returns.ids import ChatKey, Millis
from returns.ledger.paces import database_now
from returns.ledger.tables import pace_calls
from returns.ports import Api, Call, Permit, StorageUnavailable, Wait
from returns.service.shared_pacing import SharedPacing
from tests.support.returns import APP, START, ManualClock
from tests.support.storage import transactions as opened

POLICY = ReturnsPolicy(app_per_second=5, app_per_minute=8, chat_per_second=2)


class Clock:
    """The database's, moved by hand."""

    def __init__(self) -> None:
        self.now_ms = START

    def __call__(self, _connection: object) -> Millis:
        return Millis(self.now_ms)


def sends(count: int, chat: str | None = None) -> list[Call]:
    return [Call(APP, Api.SENDS, ChatKey(chat or f"c{number}")) for number in range(count)]


def given(answers: object) -> list[Permit]:
    return [answer for answer in answers if isinstance(answer, Permit)]


@pytest.mark.usefixtures("database")
class TestTogether:
    """Two gateways, whose own clocks do not agree."""

    async def test_no_more_than_the_limit_in_all_and_in_a_chat(self, tmp_path: Path) -> None:
        async with opened(tmp_path) as transactions:
            clock = Clock()
            one, two = (
                SharedPacing(transactions, POLICY, ManualClock(START + wrong), name, database_clock=clock)
                for name, wrong in (("one", 0), ("two", 90_000))
            )
            answers = await asyncio.gather(one.take(sends(3, "a")), two.take(sends(3, "a")))
            assert len(given(answers[0]) + given(answers[1])) == 2
            answers = await asyncio.gather(one.take(sends(5)), two.take(sends(5)))
            granted = given(answers[0]) + given(answers[1])
            assert len(granted) == 3
            assert isinstance(one.room(APP, Api.SENDS), (int, Wait))
            assert given(await one.take([Call(APP, Api.READS)])) != []

    async def test_a_call_counts_until_its_end_and_a_span_more(self, tmp_path: Path) -> None:
        async with opened(tmp_path) as transactions:
            clock = Clock()
            policy = replace(POLICY, app_per_minute=1_000)
            one, two = (
                SharedPacing(transactions, policy, ManualClock(), name, database_clock=clock) for name in ("one", "two")
            )
            permits = given(await one.take(sends(5)))
            clock.now_ms += 2_000
            assert given(await two.take(sends(1))) == []
            await asyncio.gather(*(one.end(permit) for permit in permits[:4]))
            await one.give_back(permits[4])
            assert len(given(await two.take(sends(2)))) == 1
            clock.now_ms += 999
            assert given(await two.take(sends(1))) == []
            clock.now_ms += 1
            assert len(given(await two.take(sends(9)))) == 4

    async def test_a_holder_that_died_stops_nobody_for_long(self, tmp_path: Path) -> None:
        async with opened(tmp_path) as transactions:
            clock = Clock()
            policy = replace(POLICY, app_per_minute=1_000)
            dead, alive = (
                SharedPacing(transactions, policy, ManualClock(), name, database_clock=clock) for name in ("d", "a")
            )
            assert len(given(await dead.take(sends(9)))) == 5
            clock.now_ms += 6_000
            assert len(given(await alive.take(sends(9)))) == 5

    async def test_the_provider_s_wait_is_everybody_s(self, tmp_path: Path) -> None:
        async with opened(tmp_path) as transactions:
            clock = Clock()
            one, two = (
                SharedPacing(transactions, POLICY, ManualClock(), name, database_clock=clock) for name in ("one", "two")
            )
            await one.pause(APP, Api.SENDS, 3_000)
            assert await two.take(sends(1)) == [Wait(3_000)]
            assert given(await two.take([Call(APP, Api.LISTS)])) != []
            clock.now_ms += 3_000
            assert given(await two.take(sends(1))) != []

    async def test_the_table_stays_small(self, tmp_path: Path) -> None:
        async with opened(tmp_path) as transactions:
            clock = Clock()
            one = SharedPacing(transactions, POLICY, ManualClock(), "one", database_clock=clock)
            for _ in range(60):
                for permit in given(await one.take(sends(4))):
                    await one.end(permit)
                clock.now_ms += 70_000
            rows = await transactions.read(lambda c: c.execute(select(func.count()).select_from(pace_calls)).scalar())
            assert rows < 100

    async def test_the_database_s_own_clock_moves(self, tmp_path: Path) -> None:
        async with opened(tmp_path) as transactions:
            before = await transactions.read(database_now)
            await asyncio.sleep(0.02)
            after = await transactions.read(database_now)
            assert 0 < after - before < 60_000
            one = SharedPacing(transactions, POLICY, ManualClock(), "one")
            assert len(given(await one.take(sends(9)))) == 5


async def test_without_the_database_nothing_is_permitted_and_no_end_raises(tmp_path: Path) -> None:
    async with opened(tmp_path) as transactions:
        one = SharedPacing(transactions, POLICY, ManualClock(), "one")
        permit = given(await one.take(sends(1)))[0]

        async def away(_work: object) -> None:
            raise StorageUnavailable

        transactions.run = away
        await one.end(permit)
        await one.give_back(permit)
        await one.pause(APP, Api.SENDS, 1_000)
        with pytest.raises(StorageUnavailable):
            await one.take(sends(1))
