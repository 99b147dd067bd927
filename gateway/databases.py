"""The one place that opens the database of a gateway, whichever it is, and lets go of it.

An SQLite file has one gateway: it takes over at once whatever an earlier one held. A PostgreSQL database may have many:
what one of them held is free when its lease ends, and at once when it ends in good order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module

from sqlalchemy import Connection

from gateway.migrations import SCRIPTS
from gateway.settings_database import Database, PostgresServer
from manager.ledger import turns
from providers.storage.migrate import upgrade
from providers.storage.sqlite import SqliteTransactions
from returns.ledger import leases
from returns.ports import Clock, StorageUnavailable, Transactions

logger = logging.getLogger(__name__)


@asynccontextmanager
async def open_database(database: Database, owner: str, clock: Clock) -> AsyncGenerator[Transactions]:
    """The migrated database of the gateway ``owner``, while the block runs.

    Raises ``DatabaseTooNew``, ``UnsupportedDatabase`` or ``StorageUnavailable``.
    """
    await asyncio.to_thread(upgrade, database.url, SCRIPTS)
    if isinstance(database, PostgresServer):
        async with _shared(database) as shared:
            yield shared
            await _hand_over(shared, owner, clock)
        return
    async with SqliteTransactions(database.path) as own:
        await _take_over(own, clock)
        yield own


def _shared(database: PostgresServer) -> AbstractAsyncContextManager[Transactions]:
    """Its transactions; the driver is imported only where it is needed."""
    transactions: Callable[[str], AbstractAsyncContextManager[Transactions]] = import_module(
        "providers.storage.postgresql"
    ).PostgresTransactions
    return transactions(database.url)


async def _take_over(transactions: Transactions, clock: Clock) -> None:
    """This is the only gateway of its file: whoever held a lease is gone."""

    def take(connection: Connection) -> None:
        leases.release_all(connection, clock.now())
        turns.release_all(connection, clock.now())

    await transactions.run(take)


async def _hand_over(transactions: Transactions, owner: str, clock: Clock) -> None:
    """The others go on at once with what this gateway held and did not finish."""

    def give(connection: Connection) -> None:
        leases.give_up(connection, owner, clock.now())
        turns.give_up(connection, owner, clock.now())

    try:
        await transactions.run(give)
    except StorageUnavailable:
        logger.warning("The database is away; the others wait for this gateway's leases to end.")
