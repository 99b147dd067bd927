"""Durable transactions a second: callers that wait together, against one after the other, on both databases."""

from __future__ import annotations

import asyncio
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
from returns.ports import Transactions
from tests.bench.report import Figure
from tests.support import postgresql
from tests.support.databases import opened

CALLERS = 64
TRANSACTIONS = 4_000
AIM = 2.0


def closure(number: int) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        record(connection, RequestId("r_bench"), 1, Millis(number), "measured")

    return work


async def shared(transactions: Transactions) -> float:
    """Closures a second with many callers at once."""

    async def caller(first: int) -> None:
        for number in range(first, TRANSACTIONS, CALLERS):
            await transactions.run(closure(number))

    began = time.perf_counter()
    await asyncio.gather(*(caller(first) for first in range(CALLERS)))
    return TRANSACTIONS / (time.perf_counter() - began)


async def apart(transactions: Transactions) -> float:
    """Closures a second when each waits for the commit of the one before."""
    count = TRANSACTIONS // 8
    began = time.perf_counter()
    for number in range(count):
        await transactions.run(closure(number))
    return count / (time.perf_counter() - began)


async def rates(transactions: Transactions, rounds: int = 3) -> tuple[float, float]:
    """The best of a few rounds, taken in turns: with many callers, and one after the other."""
    both = [(await shared(transactions), await apart(transactions)) for _ in range(rounds)]
    return max(pair[0] for pair in both), max(pair[1] for pair in both)


async def on_sqlite() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        create_all(path)
        async with SqliteTransactions(path) as transactions:
            return await rates(transactions)


async def on_postgresql() -> tuple[float, float]:
    """A server that flushes every commit to the disk."""
    server = postgresql.start(durable=True)
    try:
        with server.migrated() as url:
            async with opened(url) as transactions:
                return await rates(transactions)
    finally:
        server.close()


async def measure() -> list[Figure]:
    """Both databases."""
    found = {"SQLite": await on_sqlite(), "PostgreSQL": await on_postgresql()}
    return [
        Figure(
            f"durable commits on {name}, {CALLERS} callers at once",
            together,
            "/s",
            "one caller, each waits for the one before",
            alone,
            together / alone,
            f"≥ {AIM:g}",
            together / alone >= AIM,
        )
        for name, (together, alone) in found.items()
    ]


if __name__ == "__main__":
    for figure in asyncio.run(measure()):
        print(figure)
