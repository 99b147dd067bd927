"""Databases for tests: migrated files, and transactions over them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.migrations import SCRIPTS
from providers.storage.migrate import sqlite_url, upgrade
from providers.storage.postgresql import PostgresTransactions
from providers.storage.sqlite import SqliteTransactions
from tests.support.databases import of_folder, opened


def migrated(folder: Path) -> Path:
    """A database file as the gateway makes it on its first start."""
    path = folder / "steward.db"
    upgrade(sqlite_url(path), SCRIPTS)
    return path


@asynccontextmanager
async def transactions(folder: Path) -> AsyncIterator[SqliteTransactions | PostgresTransactions]:
    """Transactions over a database with all tables: the one that the folder carries, else a new file in it."""
    async with opened(of_folder(folder)) as found:
        yield found
