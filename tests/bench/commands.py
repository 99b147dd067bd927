"""How long a command takes from start to exit."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.report import Figure
from tests.support.world import FINAL, world

ROUNDS = 15
QUESTIONS = 5
AIM_S = 0.5


async def inbox_list() -> Figure:
    """``manager-inbox list``, medians, over an inbox with a few answered questions, while its gateway runs."""
    command = str(Path(sys.executable).with_name("manager-inbox"))
    took: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        async with world(Path(name)) as here:
            for number in range(QUESTIONS):  # the same words in the same millisecond would be the same message
                here.ask(f"where is the class Engine defined? ({number})")
            await here.settled(QUESTIONS)
            assert all(item["delivery"]["status"] in FINAL for item in await here.gateway.inbox())
            for _ in range(ROUNDS):
                started = time.perf_counter()
                process = await asyncio.create_subprocess_exec(
                    command,
                    *["--config", str(here.gateway.settings.config), "list"],
                    stdout=asyncio.subprocess.DEVNULL,
                )
                assert await process.wait() == 0
                took.append(time.perf_counter() - started)
    median = statistics.median(took)
    return Figure("`manager-inbox list`, start to exit", median, "s", aim=f"< {AIM_S} s", met=median < AIM_S)


async def measure() -> list[Figure]:
    """All of them."""
    return [await inbox_list()]
