"""Gateways whose machines have different clocks go by the one of their database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from gateway.shared_clock import EVERY_S, SharedClock
from returns.ids import Millis
from returns.ports import StorageUnavailable

NOON = 1_800_000_000_000


class Machine:
    """A machine and its database, each with a clock of its own."""

    def __init__(self, wrong_ms: int, takes_ms: int = 0) -> None:
        self.time, self.wrong_ms, self.takes_ms = NOON, wrong_ms, takes_ms
        self.away = False
        self.reads = 0

    def now(self) -> Millis:
        return Millis(self.time + self.wrong_ms)

    async def read(self, work: Callable[[object], Millis]) -> Millis:
        self.reads += 1
        if self.away:
            raise StorageUnavailable
        self.time += self.takes_ms // 2
        there = work(self)
        self.time += self.takes_ms - self.takes_ms // 2
        return there

    def clock(self, **more: object) -> SharedClock:
        return SharedClock(self, database_clock=lambda _connection: Millis(self.time), **more)


@pytest.mark.parametrize("wrong_ms", [-3_600_000, -60_000, -150, 150, 60_000, 86_400_000])
async def test_the_database_is_right(wrong_ms: int) -> None:
    machine = Machine(wrong_ms, takes_ms=20)
    clock = machine.clock()
    assert clock.now() == NOON + wrong_ms
    await clock.measure(machine)
    assert clock.now() == machine.time


@pytest.mark.parametrize("wrong_ms", [-99, 0, 99])
async def test_hardly_any_difference_is_none(wrong_ms: int) -> None:
    machine = Machine(wrong_ms)
    clock = machine.clock()
    await clock.measure(machine)
    assert clock.now() == NOON + wrong_ms


async def test_a_slow_answer_says_nothing() -> None:
    machine = Machine(60_000, takes_ms=1_001)
    clock = machine.clock()
    await clock.measure(machine)
    assert clock.now() == machine.now()


async def test_it_is_compared_again_also_after_an_outage() -> None:
    machine = Machine(0)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        machine.away = len(slept) == 1
        machine.wrong_ms = 60_000
        if len(slept) == 3:
            raise asyncio.CancelledError

    clock = machine.clock(sleep=sleep)
    with pytest.raises(asyncio.CancelledError):
        await clock.run(machine)
    assert (slept, machine.reads, clock.now()) == ([EVERY_S] * 3, 2, NOON)
