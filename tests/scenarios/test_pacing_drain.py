"""A9: what waits goes out as fast as the provider's limits permit, and no answer ever says that a limit was met.

The provider counts each call at some instant between its start and its end, by fixed and by sliding windows. Time is
virtual; the limits are Lark's, with a minute that is smaller so that several go by.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from returns.ports import Refusal
from tests.support.pacing import POLICY, Works, works
from tests.support.returns import house, refused, route, running

SMALL = replace(POLICY, app_per_minute=100)
CHATS = 60
ANSWERS = 5
ALL = CHATS * ANSWERS


def fill(it: Works) -> None:
    for _ in range(ANSWERS):
        for chat in range(CHATS):
            it.put(f"oc_{chat}")


def drained(it: Works) -> bool:
    return it.states()["delivered"] >= ALL


def in_order(it: Works) -> bool:
    for chat in range(CHATS):
        told = [int(reading.visible.split()[1]) for reading in it.world.by_chat[f"oc_{chat}"]]
        if told != sorted(told):
            return False
    return True


@pytest.mark.parametrize("pumps", [1, 3])
def test_many_chats_are_drained_at_the_limit_without_meeting_it(pumps: int) -> None:
    with works(policy=SMALL) as it:
        fill(it)
        if pumps == 1:
            it.pump()
        else:
            for number in range(pumps):
                it.shared(f"p{number}", wrong_ms=number * 700)
        it.run(lambda: drained(it))
        assert it.world.refusals == []
        assert (it.world.twice, it.world.calls["sends"], it.world.calls["reads"]) == (0, ALL, ALL)
        assert in_order(it)
        assert it.loop.time() * 0.95 <= it.ideal_s(ALL) + 3


@pytest.mark.parametrize("hanging", [1, 40])
def test_chats_that_hang_delay_no_other(hanging: int) -> None:
    names = frozenset(f"oc_h{number}" for number in range(hanging))
    with works(policy=SMALL, hanging=names) as it:
        for name in sorted(names):
            it.put(name)
            it.put(name)
        fill(it)
        it.pump()
        it.run(lambda: drained(it))
        assert it.world.refusals == []
        assert in_order(it)
        sent = ALL + 2 * hanging
        assert it.loop.time() * 0.95 <= it.ideal_s(sent) + 3


async def test_after_a_limit_answer_all_of_the_app_waits(tmp_path: Path) -> None:
    """The part that met the limit waits, and so does every other chat of the app; other apps go on."""
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [refused(Refusal.RATE_LIMITED, code=99991400, retry_after_ms=5_000)]
        met = await home.put("met")
        await home.until(lambda: len(home.provider.sends) == 1)
        others = [await home.put(f"{n}", to=route(f"oc_{n}")) for n in range(10)]
        elsewhere = await home.put("elsewhere", to=replace(route("oc_x"), app="other"))
        assert (await home.settle(elsewhere, step_ms=10)).status == "delivered"
        began = home.clock.now()
        assert len(home.provider.sends) == 2
        for subject in (met, *others):
            assert (await home.settle(subject)).status == "delivered"
        assert home.clock.now() - began >= 4_000


async def test_a_limit_of_one_chat_holds_up_that_chat_alone(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        limit = refused(Refusal.RATE_LIMITED, code=230020, retry_after_ms=5_000, chat_only=True)
        home.provider.faults = [limit]
        met, behind = await home.put("met"), await home.put("behind")
        await home.until(lambda: len(home.provider.sends) == 1)
        other = await home.put("other", to=route("oc_other"))
        began = home.clock.now()
        assert (await home.settle(other, step_ms=10)).status == "delivered"
        assert home.clock.now() - began < 5_000
        assert await home.status(met) == "retry_pending"
        assert await home.status(behind) == "queued"
        assert (await home.settle(behind)).status == "delivered"
        assert home.clock.now() - began >= 5_000


@pytest.mark.parametrize("asked_ms", [10**12, 600_000, 300_001])
async def test_no_wait_is_longer_than_our_own_longest(tmp_path: Path, asked_ms: int) -> None:
    async with house(tmp_path, retry_max_ms=60_000) as home, running(home):
        home.provider.faults = [refused(Refusal.RATE_LIMITED, retry_after_ms=asked_ms)]
        began = home.clock.now()
        subject = await home.put("x")
        assert (await home.settle(subject)).status == "delivered"
        assert 60_000 <= home.clock.now() - began < 63_000
