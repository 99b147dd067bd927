"""The same work over 1 thousand and over 1 million answered questions: what it costs must not follow what is stored."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from providers.storage.sqlite import SqliteTransactions
from tests.bench.report import Figure
from tests.support import cost_operations as costs
from tests.support.cost_operations import CHATS, Scene
from tests.support.history import filled
from tests.support.returns import route
from tests.support.storage import migrated

SMALL = 1_000
LARGE = int(os.environ.get("BENCH_STORED", "1000000"))
"""Set BENCH_STORED to have a smaller one."""

SAME = 1.2
ROUNDS = 25

Timed = dict[str, float]


async def _each(scene: Scene, prepare: Callable[[], Awaitable[object]], work: Callable[[], Awaitable[object]]) -> float:
    took: list[float] = []
    for _ in range(ROUNDS):
        await prepare()
        started = time.perf_counter()
        await work()
        took.append((time.perf_counter() - started) * 1000)
    return statistics.median(took)


async def _nothing() -> None:
    """Nothing has to be there first."""


async def _delivered(scene: Scene) -> float:
    """Milliseconds of CPU for one part, from queued to proved, by an instant provider."""

    async def prepare() -> None:
        for chat in CHATS[:8]:
            await scene.home.put("the answer", to=route(chat, reply_to="om_x"))

    async def work() -> None:
        await scene.pump_pass()
        scene.home.clock.move(2_000)
        await scene.pump_pass()

    took: list[float] = []
    for _ in range(ROUNDS):
        await prepare()
        started = time.process_time()
        await work()
        took.append((time.process_time() - started) * 1000 / 8)
    return statistics.median(took)


async def timed(count: int) -> Timed:
    """Medians in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = migrated(Path(folder))
        began = time.perf_counter()
        filled(path, count)
        print(f"{count:,} answered questions made in {time.perf_counter() - began:.0f} s", flush=True)
        async with SqliteTransactions(path) as transactions:
            scene = Scene(path, count, transactions)
            listing = next(work for name, _, work in costs.OPERATIONS if name == "inbox list delivered")
            found = {"CPU of the pump for one part": await _delivered(scene)}
            found["a pump pass with nothing to do"] = await _each(scene, _nothing, scene.pump_pass)
            found["an event taken"] = await _each(scene, _nothing, lambda: scene.accept(costs.asked()))
            found["a turn claimed and concluded"] = await _each(scene, lambda: scene.accept(costs.asked()), scene.turn)
            found["two pages of the inbox by status"] = await _each(scene, _nothing, lambda: listing(scene))
        async with SqliteTransactions(path) as transactions:
            found["a start: migrations, leases, first pass"] = await _each(
                scene, _nothing, lambda: costs.started(Scene(path, count, transactions))
            )
    return found


async def measure() -> list[Figure]:
    """Each kind of work at both sizes."""
    small, large = await timed(SMALL), await timed(LARGE)
    return [
        Figure(
            f"{what}, {LARGE:,} delivered parts stored",
            large[what],
            "ms",
            f"{SMALL:,} stored",
            small[what],
            large[what] / small[what],
            f"≤ {SAME:g}",
            large[what] <= small[what] * SAME,
        )
        for what in small
    ]


if __name__ == "__main__":
    for figure in asyncio.run(measure()):
        print(figure)
