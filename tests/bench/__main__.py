"""``make bench``: measure everything once and rewrite ``results.md``.

``python -m tests.bench NAME …`` measures some of it and only prints; ``BENCH_STORED`` sets how many answered questions
the larger database has (a million by default).
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

from tests.bench import answers, bench_storage, commands, delivering, events, limits, pruning, recovery, sends, sizes
from tests.bench.report import Figure, write

MEASURES: dict[str, Callable[[], Awaitable[list[Figure]]]] = {
    "storage": bench_storage.measure,
    "sends": sends.measure,
    "parts": delivering.parts_a_second,
    "reconciliations": delivering.reconciliations,
    "limits": limits.measure,
    "first byte": delivering.first_byte,
    "recovery": recovery.measure,
    "pruning": pruning.measure,
    "sizes": sizes.measure,
    "events": events.measure,
    "answers": answers.measure,
    "commands": commands.measure,
}


async def main(names: list[str]) -> None:
    """Measure one thing after the other: they would disturb each other. Without names, all of them."""
    figures: list[Figure] = []
    for name in names or MEASURES:
        began = time.monotonic()
        measured = await MEASURES[name]()
        print(f"{name}: measured in {time.monotonic() - began:.0f} s", flush=True)
        for figure in measured:
            print(f"  {figure}", flush=True)
        figures += measured
        if not names:
            write(figures)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
