"""Durable transactions a second: callers that share a commit, against one commit for each caller.

Run as ``python -m tests.bench.bench_storage``; prints one JSON object with both and their ratio.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection

from manager.ids import RequestId
from manager.ledger.facts import record
from providers.storage.schema import create_all
from providers.storage.sqlite import SqliteTransactions
from returns.ids import Millis

CALLERS = 64
TRANSACTIONS = 4_000


def closure(number: int) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        record(connection, RequestId("r_bench"), 1, Millis(number), "measured")

    return work


async def shared(transactions: SqliteTransactions) -> float:
    """Closures a second with many callers at once."""

    async def caller(first: int) -> None:
        for number in range(first, TRANSACTIONS, CALLERS):
            await transactions.run(closure(number))

    began = time.perf_counter()
    await asyncio.gather(*(caller(first) for first in range(CALLERS)))
    return TRANSACTIONS / (time.perf_counter() - began)


async def apart(transactions: SqliteTransactions) -> float:
    """Closures a second when each waits for the commit of the one before."""
    count = TRANSACTIONS // 8
    began = time.perf_counter()
    for number in range(count):
        await transactions.run(closure(number))
    return count / (time.perf_counter() - began)


async def measure(rounds: int = 3) -> dict[str, float]:
    """The best of a few rounds, taken in turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        create_all(path)
        async with SqliteTransactions(path) as transactions:
            both = [(await shared(transactions), await apart(transactions)) for _ in range(rounds)]
    together, alone = max(pair[0] for pair in both), max(pair[1] for pair in both)
    return {
        "shared_commits_per_s": round(together),
        "own_commits_per_s": round(alone),
        "ratio": round(together / alone, 2),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure())))
