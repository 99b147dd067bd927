"""The same work over 1 thousand and over 1 million answered questions: what it costs must not follow what is stored."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from providers.storage.sqlite import SqliteTransactions
from tests.bench.report import Figure
from tests.support import cost_operations as costs
from tests.support.cost_operations import Scene
from tests.support.history import filled
from tests.support.storage import migrated

SMALL = 1_000
LARGE = int(os.environ.get("BENCH_STORED", "1000000"))
"""Set BENCH_STORED to have a smaller one."""

SAME = 1.2
ROUNDS = 25

Work = Callable[[Scene], Awaitable[object]]


async def _nothing(_scene: Scene) -> None:
    """Nothing has to be there first."""


async def _medians(scenes: Sequence[Scene], prepare: Work, work: Work) -> list[float]:
    """Milliseconds in each of the databases, taken in turns: a machine is not always as quick."""
    took: list[list[float]] = [[] for _ in scenes]
    for _ in range(ROUNDS):
        for scene, mine in zip(scenes, took, strict=True):
            await prepare(scene)
            started = time.perf_counter()
            await work(scene)
            mine.append((time.perf_counter() - started) * 1000)
    return [statistics.median(mine) for mine in took]


async def _delivered(scenes: Sequence[Scene]) -> list[float]:
    """Milliseconds of CPU for one part, from queued to proved, by an instant provider."""
    took: list[list[float]] = [[] for _ in scenes]
    for _ in range(ROUNDS):
        for scene, mine in zip(scenes, took, strict=True):
            await scene.pending()
            started = time.process_time()
            await scene.pump_pass()
            scene.home.clock.move(2_000)
            await scene.pump_pass()
            mine.append((time.process_time() - started) * 1000 / 8)
    return [statistics.median(mine) for mine in took]


async def _timed(paths: Sequence[tuple[Path, int]]) -> dict[str, list[float]]:
    """What each kind of work costs in each of the databases."""
    listing = next(work for name, _, work in costs.OPERATIONS if name == "inbox list delivered")
    async with AsyncExitStack() as opened:
        scenes = [
            Scene(path, count, await opened.enter_async_context(SqliteTransactions(path))) for path, count in paths
        ]
        found = {
            "CPU of the pump for one part": await _delivered(scenes),
            "a pump pass with nothing to do": await _medians(scenes, _nothing, Scene.pump_pass),
            "an event taken": await _medians(scenes, _nothing, lambda scene: scene.accept(costs.asked())),
            "a turn claimed and concluded": await _medians(
                scenes, lambda scene: scene.accept(costs.asked()), Scene.turn
            ),
            "two pages of the inbox by status": await _medians(scenes, _nothing, listing),
        }
    async with AsyncExitStack() as opened:
        scenes = [
            Scene(path, count, await opened.enter_async_context(SqliteTransactions(path))) for path, count in paths
        ]
        found["a start: migrations, leases, first pass"] = await _medians(scenes, _nothing, costs.started)
    return found


def _filled(folder: Path, count: int) -> Path:
    folder.mkdir()
    path = migrated(folder)
    began = time.perf_counter()
    filled(path, count)
    print(f"{count:,} answered questions made in {time.perf_counter() - began:.0f} s", flush=True)
    return path


async def measure() -> list[Figure]:
    """Each kind of work at both sizes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [(_filled(folder / str(count), count), count) for count in (SMALL, LARGE)]
        found = await _timed(paths)
    return [
        Figure(
            f"{what}, {LARGE:,} delivered parts stored",
            large,
            "ms",
            f"{SMALL:,} stored",
            small,
            large / small,
            f"≤ {SAME:g}",
            large <= small * SAME,
        )
        for what, (small, large) in found.items()
    ]


if __name__ == "__main__":
    for figure in asyncio.run(measure()):
        print(figure)
