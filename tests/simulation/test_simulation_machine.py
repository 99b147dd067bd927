"""The simulation itself: the same plan is the same history, the dead do nothing, the paused do nothing yet."""

from __future__ import annotations

import asyncio

import pytest

from returns.ports import CommitUnknown, StorageUnavailable
from tests.simulation.database import Database, SimTransactions, Storage, lost
from tests.simulation.history import run
from tests.simulation.loop import Dead, Life, SimLoop, Stuck
from tests.simulation.mutants import MUTANTS
from tests.simulation.plan import Deeds, Plan, PlannedReturn, Stop
from tests.simulation.seeds import plan_of
from tests.simulation.suite import open_database, shrunk


def first(_count: int) -> int:
    return 0


async def passing(_name: str) -> None:
    await asyncio.sleep(0)


def test_the_same_plan_is_the_same_history() -> None:
    with open_database() as database:
        for seed in range(8):
            one = run(plan_of(seed), database, trace=True)
            again = run(Plan.from_json(plan_of(seed).to_json()), database, trace=True)
            assert one.trace == again.trace
            assert len(one.trace) > 20


def test_other_seeds_are_other_histories() -> None:
    with open_database() as database:
        assert len({tuple(run(plan_of(seed), database, trace=True).trace) for seed in range(8)}) == 8


def test_time_passes_only_when_nothing_is_ready() -> None:
    loop = SimLoop(first)
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append(loop.time())

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(sleep(3_600.0))
            group.create_task(sleep(0.5))

    loop.run(both())
    assert woken == [0.5, 3_600.0]


def test_a_wait_for_nothing_is_told() -> None:
    loop = SimLoop(first)

    async def wait() -> None:
        await loop.create_future()

    task = loop.create_task(wait())
    with pytest.raises(Stuck):
        loop.run_until_complete(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()


def test_what_is_killed_has_no_effect_any_more() -> None:
    loop, database = SimLoop(first), Database()
    life = Life(loop, "one")
    transactions = SimTransactions(database, life, passing)
    done: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1)
            done.append("worked")
        finally:
            try:
                await transactions.run(lambda _c: done.append("wrote at the end"))
            except StorageUnavailable:
                done.append("noticed")

    async def kill() -> None:
        task = life.start(work())
        await asyncio.sleep(0.5)
        life.kill()
        await asyncio.gather(task, return_exceptions=True)
        assert isinstance(task.exception(), Dead)

    loop.run(kill())
    database.close()
    assert done == []


def test_what_is_paused_goes_on_later() -> None:
    loop = SimLoop(first)
    life = Life(loop, "one")
    ticks: list[float] = []

    async def tick() -> None:
        for _ in range(4):
            await asyncio.sleep(1)
            ticks.append(loop.time())

    async def pause() -> None:
        task = life.start(tick())
        await asyncio.sleep(1.5)
        life.pause(10)
        await task

    loop.run(pause())
    assert ticks == [1.0, 11.5, 12.5, 13.5]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("unknown", [True, False])
def test_a_lost_commit_is_kept_or_not(*, kept: bool, unknown: bool) -> None:
    class Losing(Storage):
        def commit(self) -> tuple[bool, Exception | None]:
            return lost(kept, unknown=unknown)

    loop, database = SimLoop(first), Database()
    transactions = SimTransactions(database, Life(loop, "one"), passing, Losing())
    insert = (
        "INSERT INTO return_facts (subject_id, return_id, at, fact, detail) VALUES ('r', 't', 1, 'return_queued', '{}')"
    )

    async def commit() -> None:
        with pytest.raises(CommitUnknown if unknown else StorageUnavailable):
            await transactions.run(lambda c: c.exec_driver_sql(insert))

    loop.run(commit())
    assert len(database.look("SELECT 1 FROM return_facts")) == kept
    database.close()


@pytest.mark.parametrize("moment", ["send.before", "send.after", "run.after", "look.before", "list.after", "any"])
@pytest.mark.parametrize("nth", range(3))
def test_a_worker_that_dies_at_a_point_is_followed_by_another(moment: str, nth: int) -> None:
    plan = Plan(1, [PlannedReturn("r_0", "oc_0", ["one", "two"])], stops=[Stop(0, 0, moment, nth, "kill:500")])
    with open_database() as database:
        result = run(plan, database, trace=True)
    assert not result.problems
    assert set(result.states) <= {"delivered", "explicit_unverified", "queued"}


def test_a_failing_plan_can_be_made_smaller() -> None:
    returns = [PlannedReturn("r_0", "oc_0", ["one"]), PlannedReturn("r_1", "oc_1", ["two"])]
    plan = Plan(1, returns, {"0.0": Deeds(sends=["lose"], unlisted_ms=50_000), "1.0": Deeds(reads=["missing"])})
    plan.stops = [Stop(0, 0, "look.after", 0, "kill:10")]
    plan.calm_at_ms = 1_000
    mutant = next(each for each in MUTANTS if each.name == "takes not found for not sent")
    with open_database() as database, mutant.wrong():
        small = shrunk(plan, database)
        assert run(small, database).problems[0].oracle == "duplicates"
    assert (list(small.deeds), small.stops, len(small.returns)) == (["0.0"], [], 1)
