"""Running a test over both databases.

``database`` is a fixture with the ids ``sqlite`` and ``postgresql``. A test folder may also carry its database with it:
``carry`` leaves an address in the folder, and ``carried`` finds it, so that helpers which open "the database of this
folder" open the right one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Engine

from gateway.migrations import SCRIPTS
from providers.storage.connections import writing_engine
from providers.storage.migrate import sqlite_url, upgrade
from providers.storage.postgresql import PostgresTransactions
from providers.storage.postgresql_connections import Patient, Source
from providers.storage.schema import create_all
from providers.storage.sqlite import SqliteTransactions
from providers.storage.sync import SyncTransactions, open_database
from tests.support import postgresql

CARRIED = "database.url"
PATIENCE_S = 30.0
"""Far beyond what a gateway waits: a test machine may be busy, and most tests are not about that."""

KINDS = ("sqlite", "postgresql")


@dataclass(frozen=True)
class Database:
    """A database with all tables and no row."""

    kind: str
    url: str

    def transactions(
        self, *, patience_s: float = PATIENCE_S
    ) -> AbstractAsyncContextManager[SqliteTransactions | PostgresTransactions]:
        """The port over it, to be entered; as often as one likes, as several gateways do."""
        return opened(self.url, patience_s=patience_s)

    def sync(self) -> AbstractContextManager[SyncTransactions]:
        """As a command opens it."""
        return open_database(self.url)


def opened(
    url: str, *, patience_s: float = PATIENCE_S
) -> AbstractAsyncContextManager[SqliteTransactions | PostgresTransactions]:
    """The port over the database of an address."""
    if url.startswith("sqlite"):
        return SqliteTransactions(Path(url.removeprefix("sqlite:///")))
    return PostgresTransactions(url, patience_s=patience_s)


def engine_of(url: str) -> Engine:
    """An engine whose transactions write, for tests that own their transactions."""
    if url.startswith("sqlite"):
        return writing_engine(Path(url.removeprefix("sqlite:///")))
    return Source(url, _begin_by_itself).engine


def _begin_by_itself(connection: Patient) -> None:
    connection.autocommit = False


def carry(folder: Path, url: str) -> None:
    """Let the folder's database be that of the address."""
    (folder / CARRIED).write_text(url)


def carried(folder: Path) -> str | None:
    """The address that the folder carries."""
    found = folder / CARRIED
    return found.read_text() if found.exists() else None


def of_folder(folder: Path, *, migrated: bool = False) -> str:
    """The address of the folder's database: the one it carries, else a new SQLite file in it, made with all tables."""
    url = carried(folder)
    if url is not None:
        return url
    url = sqlite_url(folder / "steward.db")
    upgrade(url, SCRIPTS) if migrated else create_all(folder / "steward.db")
    return url


@contextmanager
def running(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database of a kind."""
    if kind == "sqlite":
        url = sqlite_url(folder / "steward.db")
        create_all(folder / "steward.db")
        yield Database(kind, url)
        return
    server: postgresql.Server = request.getfixturevalue("postgresql_server")
    with server.migrated() as url:
        yield Database(kind, url)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.Server]:
    """The server of this test process. Where there is none, that is said; in CI it is a failure."""
    try:
        server = postgresql.start()
    except postgresql.NoServer as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    yield server
    server.close()


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Each database in turn: the test runs once over each."""
    with running(request.param, tmp_path, request) as found:
        yield found


def told_loudly(skipped: list[object]) -> str | None:
    """What to say at the end of a run in which PostgreSQL was not tested."""
    reasons = [str(getattr(report, "longrepr", "")) for report in skipped]
    count = sum(postgresql.MISSING.partition(":")[0] in reason for reason in reasons)
    return f"{count} tests did NOT run: {postgresql.MISSING.partition(':')[0]}" if count else None
