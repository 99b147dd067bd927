"""Random histories of one answer with one operator, each made by its seed, and judged by what is in the chat.

``python -m tests.support.operators_histories FIRST COUNT [trace]`` runs so many of them, on SQLite.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import traceback
from collections import Counter
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType

from returns.ports import Transactions
from tests.support.operators_judge import problems
from tests.support.operators_steps import Story
from tests.support.operators_world import world
from tests.support.storage import transactions

GIVE_UP_AFTER_MS = (120_000, 86_400_000)
LONGEST_S = 60


class Told:
    """Whatever goes wrong inside says of which seed it is, and all that happened."""

    def __init__(self, seed: int) -> None:
        self.seed, self.log = seed, list[str]()

    def __enter__(self) -> Told:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, where: TracebackType | None
    ) -> None:
        if fault is not None:
            fault.add_note("\n  ".join((f"seed {self.seed}:", *self.log)))


async def history(seed: int, opened: AbstractAsyncContextManager[Transactions]) -> list[str]:
    """Tell the history of this seed on an empty database and judge it; its log, which a failure carries, too."""
    rng = random.Random(seed)
    with Told(seed) as told:
        async with asyncio.timeout(LONGEST_S), world(opened, rng.choice(GIVE_UP_AFTER_MS)) as home:
            story = Story(home, rng)
            told.log = story.log
            await story.tell()
            _judge(await problems(home))
            found = await story.operator_ends_it()
            _judge(found + await problems(home))
    return told.log


def _judge(found: list[str]) -> None:
    assert not found, "\n  ".join(found)


def main(first: int, count: int, *, trace: bool) -> int:
    """Exit status 1 if one failed."""
    failed = 0
    outcomes: Counter[str] = Counter()
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            done = asyncio.run(_tried(seed, Path(folder)))
        failed += done is None
        outcomes.update(line.partition(": ")[2] for line in done or () if line.startswith("at the end"))
        if trace and done:
            print(f"seed {seed}", *done, sep="\n  ")
    print(f"{count} histories, {failed} failed; {dict(outcomes)}")
    return int(failed > 0)


async def _tried(seed: int, folder: Path) -> list[str] | None:
    task = asyncio.create_task(history(seed, transactions(folder)))
    await asyncio.wait((task,))
    fault = task.exception()
    if fault is None:
        return task.result()
    print("".join(traceback.format_exception(fault, limit=-4)), flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), trace="trace" in sys.argv))
