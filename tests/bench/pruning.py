"""Receiving while retention forgets 100,000 rows, against receiving alone; and what becomes of the file."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from manager.decisions.retention import DAY_MS, RetentionPolicy
from manager.service.retention import Retention
from providers.storage.sqlite import SqliteTransactions
from tests.bench.report import Figure
from tests.support.cost_operations import asked
from tests.support.history import filled, last_asked
from tests.support.storage import migrated
from tests.support.turns import ManualClock, World

REQUESTS = 20_000
"""Of five rows each."""

ALONE = 300
AIM = 2.0


async def _received(world: World, count: int | None, until: asyncio.Task[object] | None) -> list[float]:
    took: list[float] = []
    while (count is None or len(took) < count) and (until is None or not until.done()):
        started = time.perf_counter()
        await world.accept(asked())
        took.append((time.perf_counter() - started) * 1000)
        await asyncio.sleep(0.002)
    return took


async def measure() -> list[Figure]:
    """Latencies of one event after the other."""
    with tempfile.TemporaryDirectory() as folder:
        path = migrated(Path(folder))
        filled(path, REQUESTS)
        clock = ManualClock(last_asked(REQUESTS) + 91 * DAY_MS)
        async with SqliteTransactions(path) as transactions:
            world = World(transactions, clock=clock)
            alone = await _received(world, ALONE, None)
            retention = Retention(transactions, _Clock(clock), RetentionPolicy())
            pruning = asyncio.create_task(retention.run())
            beside = await _received(world, None, pruning)
            pruned = await pruning
            alone += await _received(world, ALONE, None)
    rows = pruned.texts + pruned.events
    return [
        Figure(
            f"an event taken while {rows:,} rows are forgotten, {statistic}",
            of(beside),
            "ms",
            "no rows are forgotten",
            of(alone),
            of(beside) / of(alone),
            f"≤ {AIM:g}",
            of(beside) / of(alone) <= AIM,
        )
        for statistic, of in (("median", statistics.median), ("99th percentile", _p99))
    ]


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


class _Clock:
    """Real steps of time from a day that a test chose."""

    def __init__(self, since: ManualClock) -> None:
        self._since = since
        self._began = time.monotonic()

    def now(self) -> int:
        return self._since.now() + int((time.monotonic() - self._began) * 1000)


if __name__ == "__main__":
    for figure in asyncio.run(measure()):
        print(figure)
