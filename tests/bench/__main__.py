"""``make bench``: measure everything once and rewrite ``results.md``."""

from __future__ import annotations

import asyncio

from tests.bench import answers, commands, events
from tests.bench.report import write


async def main() -> None:
    """Measure one thing after the other: they would disturb each other."""
    figures = await events.measure()
    print("events measured", flush=True)
    figures.append(await answers.cpu_an_answer())
    print("answers measured", flush=True)
    figures.append(await commands.inbox_list())
    figures.append(await answers.idle_memory())
    write(figures)
    for figure in figures:
        print(figure)


if __name__ == "__main__":
    asyncio.run(main())
