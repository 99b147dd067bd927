"""Databases for tests: migrated files, and transactions over them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.migrations import SCRIPTS
from providers.storage.migrate import sqlite_url, upgrade
from providers.storage.schema import create_all
from providers.storage.sqlite import SqliteTransactions


def migrated(folder: Path) -> Path:
    """A database file as the gateway makes it on its first start."""
    path = folder / "steward.db"
    upgrade(sqlite_url(path), SCRIPTS)
    return path


@asynccontextmanager
async def transactions(folder: Path) -> AsyncIterator[SqliteTransactions]:
    """Transactions over a new database with all tables."""
    path = folder / "steward.db"
    create_all(path)
    async with SqliteTransactions(path) as opened:
        yield opened
