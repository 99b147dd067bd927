"""Migrations, run on start: forward only, all or nothing, one process at a time.

Alembic takes half a second to import, so it is imported only when there is something to do: the versions that the
program knows are the names of its migration files, and the version of the database is one row.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, column, event, func, inspect, make_url, select, table
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from providers.storage.connections import create_file, writing_engine
from providers.storage.errors import DatabaseTooNew, UnsupportedDatabase, as_unavailable

PATIENCE_MS = 30_000
"""How long a start waits for another one that is migrating."""

LOCK: Final = 4_716_200_817
"""The advisory lock under which PostgreSQL is migrated: any number, but always the same."""

VERSION = table("alembic_version", column("version_num"))


def sqlite_url(path: Path) -> str:
    """The address of an SQLite file."""
    return f"sqlite:///{path}"


def is_postgresql(database_url: str) -> bool:
    """Whether the address names a PostgreSQL database."""
    return database_url.partition("://")[0].partition("+")[0] in {"postgresql", "postgres"}


def upgrade(database_url: str, script_location: Path) -> bool:
    """Bring the database to the newest version; whether anything was to do.

    An SQLite file is made where it is missing (its folder must exist); a PostgreSQL database must exist. Raises
    ``DatabaseTooNew``, ``UnsupportedDatabase``, or ``StorageUnavailable``; then the database is as it was.
    """
    if is_postgresql(database_url):
        upgraded: bool = import_module("providers.storage.postgresql_migrate").upgrade(database_url, script_location)
        return upgraded
    path = _file(database_url)
    try:
        create_file(path)
        engine = writing_engine(path)
        event.listen(engine, "connect", _be_patient)
        return bring_up(engine, script_location)
    except (SQLAlchemyError, OSError) as error:
        raise as_unavailable(error) from error


def bring_up(engine: Engine, script_location: Path) -> bool:
    """Bring the database behind the engine to the newest version; whether anything was to do.

    Raises ``DatabaseTooNew`` or the driver's errors.
    """
    known = known_versions(script_location)
    with engine.begin() as connection:
        if not is_behind(connection, known):
            return False
    run = _runner()  # imported before the lock is taken
    with engine.begin() as connection:  # on SQLite this is the lock that keeps others out
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(LOCK)))
        behind = is_behind(connection, known)
        if behind:
            run(connection, script_location)
        return behind


def known_versions(script_location: Path) -> tuple[str, ...]:
    """The versions that the migration files lead to, oldest first."""
    return tuple(sorted(file.name.split("_")[0] for file in (script_location / "versions").glob("[0-9]*_*.py")))


def current_version(connection: Connection) -> str | None:
    """The version of the database; None where nothing has been made yet."""
    if not inspect(connection).has_table(VERSION.name):
        return None
    return connection.execute(select(VERSION.c.version_num)).scalar_one_or_none()


def is_behind(connection: Connection, known: tuple[str, ...]) -> bool:
    """Whether there is something to do. Raises ``DatabaseTooNew``."""
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
    try:
        url = make_url(database_url)
    except ArgumentError:
        raise UnsupportedDatabase("the database's address cannot be read") from None  # the error quotes it
    if url.get_backend_name() != "sqlite" or not url.database:
        kind = url.get_backend_name()
        raise UnsupportedDatabase(f"databases of the kind {kind!r} are not available: use SQLite or PostgreSQL")
    return Path(url.database)
