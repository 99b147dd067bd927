"""Transactions for commands over PostgreSQL: see ``providers.storage.sync``."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeVar

from sqlalchemy import Connection, text

from providers.storage.errors import NoDatabase
from providers.storage.jobs import Caught
from providers.storage.postgresql_connections import Source
from providers.storage.postgresql_desk import Desk, Done, Perform
from providers.storage.sync import SyncTransactions

T = TypeVar("T")

PATIENCE_S: Final = 5.0
"""How long a command waits for a database that does not answer."""


@contextmanager
def open_postgresql(url: str) -> Generator[SyncTransactions]:
    """See ``sync.open_database``."""
    desk = Desk(Source(url))
    try:
        transactions = PostgresSync(desk)
        if not transactions.read(_is_made):
            raise NoDatabase("there are no tables in the database yet: they are made by the first `lark-steward serve`")
        yield transactions
    finally:
        desk.close()


class PostgresSync:
    """``sync.SyncTransactions`` on one connection."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def run(self, work: Callable[[Connection], T]) -> T:
        """See ``SyncTransactions``. Raises ``CommitUnknown`` too."""
        return _outcome(work, lambda perform: self._desk.write(perform, time.monotonic() + PATIENCE_S))

    def read(self, work: Callable[[Connection], T]) -> T:
        """See ``SyncTransactions``."""
        return _outcome(work, lambda perform: self._desk.read(perform, time.monotonic() + PATIENCE_S))


def _outcome(work: Callable[[Connection], T], do: Callable[[Perform], Done]) -> T:
    found: list[T] = []

    def perform(connection: Connection) -> BaseException | None:
        found.clear()
        caught = Caught()
        with caught:
            found.append(work(connection))
        return caught.error

    error = do(perform).error
    if error is not None:
        raise error
    return found[0]


def _is_made(connection: Connection) -> bool:
    return connection.execute(text("SELECT to_regclass('alembic_version') IS NOT NULL")).scalar_one() is True
