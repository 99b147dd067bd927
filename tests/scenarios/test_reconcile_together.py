"""What an outage left unknown is settled by reading alone, all parts of one place by one reading of its history."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from returns.ports import Unreachable
from tests.support.pacing import POLICY, Works, works
from tests.support.returns import House, house, route, running

CALM = replace(POLICY, app_per_minute=180, retry_max_ms=60_000)
CHATS = 12
EACH = 15
ALL = CHATS * EACH
DARK_S = 100


def outage(it: Works) -> None:
    """Every answer is lost and nothing can be read, until all has been sent."""
    start = it.loop.now_ms()
    it.world.lose_until = it.world.dark_until = start + DARK_S * 1000
    for _ in range(EACH):
        for chat in range(CHATS):
            it.put(f"oc_{chat}")


def test_unknown_parts_are_settled_by_few_readings_and_no_send() -> None:
    with works(policy=CALM) as it:
        outage(it)
        it.pump()
        it.run(lambda: it.loop.time() >= DARK_S)
        assert it.states() == {"verification_required": ALL}
        assert it.world.calls["sends"] == ALL
        it.world.calls.clear()
        for number in range(40):
            it.put(f"oc_new{number}")
        it.run(lambda: it.states()["delivered"] == ALL + 40)
        assert it.world.refusals == []
        assert (it.world.calls["sends"], it.world.twice) == (40, 0)
        assert it.world.calls["lists"] + it.world.calls["reads"] - 40 <= ALL // 5
        rows = it.database.look("SELECT verification, count(*) FROM parts GROUP BY verification")
        assert dict(rows) == {"reconciled": ALL, "direct": 40}
        assert it.loop.time() < DARK_S + 70  # the minute of the outage was used up by looking in vain


async def put_unknown(home: House, count: int, **place: object) -> list[str]:
    home.provider.faults = ["lose"] * count
    home.provider.list_faults = [Unreachable()] * 100_000
    subjects = [
        await home.put(f"word {number}", to=route(reply_to=f"om_q{number}", **place)) for number in range(count)
    ]

    async def sent() -> bool:
        return len(home.provider.messages) == count

    await home.until(sent)
    home.provider.list_faults = []
    return subjects


async def test_a_part_whose_message_is_missing_stays_with_itself(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        subjects = await put_unknown(home, 12)
        gone, doubled, spoilt = home.provider.messages[3], home.provider.messages[5], home.provider.messages[7]
        gone.deleted = True
        home.provider.say(route(reply_to=doubled.parent_id), doubled.document)
        spoilt.ours = False
        ends = [(row.status, row.error) for row in [await home.settle(subject) for subject in subjects]]
        expected = [("delivered", None)] * 12
        expected[3] = expected[7] = ("explicit_unverified", "no_match_found")
        expected[5] = ("explicit_unverified", "ambiguous_match")
        assert ends == expected
        assert len(home.provider.sends) == 12
        assert home.provider.reads <= 2


async def test_equal_parts_of_one_thread_take_no_message_together(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = ["lose"] * 6
        home.provider.list_faults = [Unreachable()] * 100_000
        place = route(thread="omt_1", reply_to="om_q")
        subjects = [await home.put("Done.", to=place) for _ in range(6)]

        async def sent() -> bool:
            return len(home.provider.messages) == 6

        await home.until(sent)
        home.provider.messages[0].deleted = True
        home.provider.list_faults = []
        for subject in subjects:
            row = await home.settle(subject)
            assert (row.status, row.error) == ("explicit_unverified", "ambiguous_match")
        assert await home.locators() == []


async def test_each_thread_is_read_by_itself(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        first = await put_unknown(home, 5, thread="omt_1")
        second = await put_unknown_more(home, 5, thread="omt_2")
        for subject in (*first, *second):
            row = await home.settle(subject)
            assert (row.status, row.verification) == ("delivered", "reconciled")
        assert len(home.provider.sends) == 10


async def put_unknown_more(home: House, count: int, **place: object) -> list[str]:
    before = len(home.provider.messages)
    home.provider.faults = ["lose"] * count
    subjects = [
        await home.put(f"more {number}", to=route(reply_to=f"om_r{number}", **place)) for number in range(count)
    ]

    async def sent() -> bool:
        return len(home.provider.messages) == before + count

    await home.until(sent)
    return subjects


async def test_the_locators_are_durable_before_the_pages_that_prove(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        subjects = await put_unknown(home, 8)
        known: list[int] = []
        real = home.provider.list_window

        async def listed(*arguments: object) -> object:
            known.append(len(await home.locators()))
            return await real(*arguments)

        home.provider.list_window = listed
        for subject in subjects:
            assert (await home.settle(subject)).status == "delivered"
        assert known[-1] == 8
        assert 0 in known
        assert home.provider.reads == 0
