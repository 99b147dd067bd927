"""Transactions for commands, which have no event loop: ``with open_database(url) as tx: tx.run(fn)``."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from providers.storage.connections import reading_engine, require_file, writing_engine
from providers.storage.errors import as_unavailable, storage_failure
from providers.storage.migrate import is_postgresql

T = TypeVar("T")


class SyncTransactions(Protocol):
    """Durable transactions of one command, while gateways may be writing to the same database."""

    def run(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a writing transaction of its own and return once it is durable.

        Raises what ``work`` raised (nothing of it is kept) or ``StorageUnavailable``. On PostgreSQL the gateways are
        woken; on SQLite no wakeup is rung: tell the gateway, where one runs.
        """
        ...

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a connection that sees one consistent state. Raises as ``run`` does."""
        ...


def open_database(database_url: str) -> AbstractContextManager[SyncTransactions]:
    """The transactions of an existing database, ``sqlite:///…`` or ``postgresql://…``.

    Entering raises ``NoDatabase`` where nothing was made yet, ``StorageUnavailable`` or ``UnsupportedDatabase``.
    """
    if is_postgresql(database_url):
        opened: AbstractContextManager[SyncTransactions] = import_module(
            "providers.storage.postgresql_sync"
        ).open_postgresql(database_url)
        return opened
    return open_sqlite(Path(make_url(database_url).database or ""))


@contextmanager
def open_sqlite(path: Path) -> Generator[SyncTransactions]:
    """The transactions of an existing database file. Raises ``NoDatabase`` where there is none yet."""
    require_file(path)
    yield _SqliteTransactions(path)


class _SqliteTransactions:
    def __init__(self, path: Path) -> None:
        self._writing = writing_engine(path)
        self._reading = reading_engine(path)

    def run(self, work: Callable[[Connection], T]) -> T:
        return _transact(self._writing, work)

    def read(self, work: Callable[[Connection], T]) -> T:
        return _transact(self._reading, work)


def _transact(engine: Engine, work: Callable[[Connection], T]) -> T:
    raised: list[Exception] = []
    try:
        with engine.begin() as connection:
            try:
                return work(connection)
            except Exception as error:
                raised.append(error)
                raise
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        if raised and storage_failure(error) is None:
            raise
        raise as_unavailable(error) from error
