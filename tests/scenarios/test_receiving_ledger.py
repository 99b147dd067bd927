"""The promises of the tables themselves: claims are whole, and what is pending is found without the past."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert

from manager.ledger import events, tables
from manager.ledger.events import Claim
from manager.ledger.turn_statements import DUE, NEXT_LEASE, NEXT_QUEUED
from manager.service.receiving import Acceptance
from returns.ids import Millis
from returns.ports import StorageUnavailable
from tests.support.turns import APP, NOON, OTHER_APP, World, message, world


async def test_a_claim_is_of_all_keys_or_none(tmp_path: Path) -> None:
    async with world(tmp_path) as it:

        def claim(*keys: str, app: str = APP) -> object:
            return it.transactions.run(lambda each: events.claim(each, app, keys, Claim(1, "d"), NOON))

        assert await claim("event:1", "message:1")
        assert not await claim("event:2", "message:1")
        assert not await claim("event:1")
        assert await claim("event:1", app=OTHER_APP)
        found = await it.transactions.read(lambda each: events.claims(each, APP, ("event:1", "event:9")))
        assert found == {"event:1": Claim(1, "d")}


async def test_what_another_gateway_takes_in_between_is_a_duplicate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as it:
        question = message()
        claim_all, raised = events.claim_all, []

        def race(connection: Connection, wanted: object, now: Millis) -> bool:
            if not raised:
                raised.append(True)
                return False  # as if another gateway had inserted one of the keys since we looked
            return claim_all(connection, wanted, now)

        monkeypatch.setattr(events, "claim_all", race)
        assert await it.accept(question) is Acceptance.NEW
        assert raised == [True]
        assert len(await it.rows(tables.events)) == 1
        assert len(await it.rows(tables.turns)) == 1


async def test_without_the_database_nothing_is_accepted(tmp_path: Path) -> None:
    async with world(tmp_path) as it:

        async def away(work: object) -> object:
            raise StorageUnavailable

        run, it.transactions.run = it.transactions.run, away
        with pytest.raises(StorageUnavailable):
            await it.accept(message())
        it.transactions.run = run
        assert await it.rows(tables.events) == []


async def test_what_failed_half_way_leaves_nothing_and_can_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as it:
        question = message()

        def broken(*arguments: object) -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as patch:
            patch.setattr("manager.ledger.turns.queue", broken)
            with pytest.raises(ZeroDivisionError):
                await it.accept(question)
        for table in (tables.events, tables.event_keys, tables.chats, tables.requests, tables.grants, tables.messages):
            assert await it.rows(table) == []
        assert await it.accept(question) is Acceptance.NEW


async def test_a_waiter_that_goes_away_changes_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        question = message()
        task = asyncio.ensure_future(it.accept(question))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await it.accept(question) in {Acceptance.NEW, Acceptance.DUPLICATE}
        assert len(await it.rows(tables.turns)) == 1


@pytest.mark.parametrize("carried_database", ["sqlite"], indirect=True)  # PostgreSQL plans by statistics
@pytest.mark.parametrize("statement", [DUE, NEXT_QUEUED, NEXT_LEASE], ids=["due", "next queued", "next lease"])
async def test_due_turns_are_found_by_what_is_pending(tmp_path: Path, statement: object) -> None:
    async with world(tmp_path) as it:
        await fill(it, 2000)

        def plan(connection: Connection) -> list[str]:
            compiled = statement.compile(dialect=connection.dialect)
            values = {"now": NOON, "most": 4}
            asked = tuple(values.get(name, compiled.params[name]) for name in compiled.positiontup)
            return [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", asked)]

        steps = await it.transactions.read(plan)
        scans = [step for step in steps if step.startswith(("SCAN", "SEARCH")) and "CONSTANT" not in step]
        of_app = [step for step in scans if step.startswith("SEARCH requests USING") and "(request_id=?)" in step]
        of_turns = [step for step in scans if step not in of_app]
        assert of_turns
        assert all("USING" in step and "turns_pending (pending=?" in step for step in of_turns), steps


async def fill(it: World, done: int) -> None:
    """A long past and a little that is pending."""
    rows = [
        {
            "turn_id": f"u_{number}",
            "conversation_id": f"c_{number % 50}",
            "request_id": f"r_{number}",
            "revision": 1,
            "state": "done" if number < done else "queued",
            "pending": None if number < done else 1,
            "position": number,
            "event_seq": number,
            "due_at": 0,
        }
        for number in range(done + 20)
    ]
    await it.transactions.run(lambda each: each.execute(insert(tables.turns), rows))


async def test_the_reason_and_the_names_fit_their_columns(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        long = "x" * 500
        question = message()
        odd = replace(question, envelope=replace(question.envelope, event_id=long, event_type=long))
        assert await it.accept(odd) is Acceptance.NEW
        assert await it.accept(odd) is Acceptance.DUPLICATE
        (row,) = await it.rows(tables.events)
        assert (len(row["event_id"]), len(row["event_type"])) == (120, 80)
        assert all(len(each["key"]) <= 200 for each in await it.rows(tables.event_keys))
