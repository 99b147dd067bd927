"""How a connection to SQLite is made, and by what statement its transactions begin.

The driver's own transaction handling is switched off (``isolation_level=None``): it begins late and only before some
statements. A writer begins with ``BEGIN IMMEDIATE``, so that it waits for other processes at the beginning, where
nothing is lost, and never in the middle; a reader begins with ``BEGIN`` and sees one state until it ends.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from providers.storage.errors import NoDatabase

BUSY_TIMEOUT_MS = 2_000
"""How long a transaction waits for another process: an event must be answered within 2.5 s, with 503 if need be."""

STATEMENTS_KEPT = 512
PRIVATE_FILE = 0o600

SETTINGS = (
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-8000",
    "PRAGMA journal_size_limit=67108864",
)


def create_file(path: Path) -> None:
    """Make an empty database file that only its owner can read. One that exists is left as it is."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE))


def require_file(path: Path) -> None:
    """Raise ``NoDatabase`` where there is none (an empty file is none)."""
    if not path.is_file() or path.stat().st_size == 0:
        raise NoDatabase(f"there is no database at {path} yet: it is made by the first `lark-steward serve`")


def writing_engine(path: Path) -> Engine:
    """An engine whose transactions write. Its connections are not pooled: each belongs to one thread."""
    engine = _engine(path)
    event.listen(engine, "connect", _prepare_writing)
    event.listen(engine, "begin", _begin_writing)
    return engine


def reading_engine(path: Path) -> Engine:
    """An engine whose transactions read one consistent state and cannot write."""
    engine = _engine(path)
    event.listen(engine, "connect", _prepare_reading)
    event.listen(engine, "begin", _begin_reading)
    return engine


def in_transaction(connection: Connection) -> bool:
    """Whether SQLite itself says that a transaction is open."""
    driver = connection.connection.driver_connection
    return isinstance(driver, sqlite3.Connection) and driver.in_transaction


def _engine(path: Path) -> Engine:
    return create_engine(
        URL.create("sqlite", database=str(path)),
        poolclass=NullPool,
        hide_parameters=True,  # they are ids and texts of people; an error may be logged
        connect_args={"isolation_level": None, "cached_statements": STATEMENTS_KEPT},
    )


def _prepare_writing(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    for setting in SETTINGS:
        cursor.execute(setting)
    cursor.execute("PRAGMA journal_mode")
    if cursor.fetchone() != ("wal",):  # stays in the file; setting it again needs a lock
        cursor.execute("PRAGMA journal_mode=WAL")
    cursor.close()


def _prepare_reading(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    for setting in (*SETTINGS, "PRAGMA query_only=ON"):
        cursor.execute(setting)
    cursor.close()


def _begin_writing(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_reading(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")
