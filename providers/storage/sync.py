"""Transactions for commands, which have no event loop: ``with open_sqlite(path) as tx: tx.run(fn)``."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from providers.storage.connections import reading_engine, require_file, writing_engine
from providers.storage.errors import as_unavailable, storage_failure

T = TypeVar("T")


class SyncTransactions:
    """Durable transactions of one command, while a gateway may be writing to the same file."""

    def __init__(self, path: Path) -> None:
        self._writing = writing_engine(path)
        self._reading = reading_engine(path)

    def run(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a writing transaction of its own and return once it is durable.

        Raises what ``work`` raised (nothing of it is kept) or ``StorageUnavailable``. No wakeup is rung: tell the
        gateway, where one runs.
        """
        return _transact(self._writing, work)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a connection that sees one consistent state. Raises as ``run`` does."""
        return _transact(self._reading, work)


@contextmanager
def open_sqlite(path: Path) -> Generator[SyncTransactions]:
    """The transactions of an existing database file. Raises ``NoDatabase`` where there is none yet."""
    require_file(path)
    yield SyncTransactions(path)


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
