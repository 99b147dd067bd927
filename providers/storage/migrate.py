"""Migrations, run on start: forward only, all or nothing, one process at a time.

Alembic takes half a second to import, so it is imported only when there is something to do: the versions that the
program knows are the names of its migration files, and the version of the database is one row.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from sqlalchemy import Connection, column, event, inspect, make_url, select, table
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from providers.storage.connections import create_file, writing_engine
from providers.storage.errors import DatabaseTooNew, UnsupportedDatabase, as_unavailable

PATIENCE_MS = 30_000
"""How long a start waits for another one that is migrating."""

VERSION = table("alembic_version", column("version_num"))


def sqlite_url(path: Path) -> str:
    """The address of an SQLite file."""
    return f"sqlite:///{path}"


def upgrade(database_url: str, script_location: Path) -> bool:
    """Bring the database to the newest version; whether anything was to do.

    The file is made where it is missing (its folder must exist). Raises ``DatabaseTooNew``, ``UnsupportedDatabase``,
    or ``StorageUnavailable``; then the database is as it was.
    """
    path = _file(database_url)
    known = known_versions(script_location)
    try:
        create_file(path)
        engine = writing_engine(path)
        event.listen(engine, "connect", _be_patient)
        with engine.begin() as connection:
            if not _is_behind(connection, known):
                return False
        run = _runner()  # imported before the lock is taken
        with engine.begin() as connection:  # the lock that keeps others out
            behind = _is_behind(connection, known)
            if behind:
                run(connection, script_location)
            return behind
    except (SQLAlchemyError, OSError) as error:
        raise as_unavailable(error) from error


def known_versions(script_location: Path) -> tuple[str, ...]:
    """The versions that the migration files lead to, oldest first."""
    return tuple(sorted(file.name.split("_")[0] for file in (script_location / "versions").glob("[0-9]*_*.py")))


def current_version(connection: Connection) -> str | None:
    """The version of the database; None where nothing has been made yet."""
    if not inspect(connection).has_table(VERSION.name):
        return None
    return connection.execute(select(VERSION.c.version_num)).scalar_one_or_none()


def _is_behind(connection: Connection, known: tuple[str, ...]) -> bool:
    version = current_version(connection)
    if version is not None and version not in known:
        raise DatabaseTooNew(version, known[-1])
    return version != known[-1]


def _runner() -> Callable[[Connection, Path], None]:
    run: Callable[[Connection, Path], None] = import_module("providers.storage.alembic_runner").run
    return run


def _be_patient(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={PATIENCE_MS}")
    cursor.close()


def _file(database_url: str) -> Path:
    url = make_url(database_url)
    if url.get_backend_name() != "sqlite" or not url.database:
        raise UnsupportedDatabase(f"databases of the kind {url.get_backend_name()!r} are not available yet: use SQLite")
    return Path(url.database)
