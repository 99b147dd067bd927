"""What can be wrong with the database, and how the driver's errors are told apart.

The result codes are SQLite's: https://www.sqlite.org/rescode.html
"""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError

from returns.ports import StorageUnavailable

REASONS = {
    sqlite3.SQLITE_BUSY: "the database is locked by another process",
    sqlite3.SQLITE_LOCKED: "the database is locked by another connection",
    sqlite3.SQLITE_NOMEM: "the database ran out of memory",
    sqlite3.SQLITE_READONLY: "the database is read-only; make its file and folder writable for this user",
    sqlite3.SQLITE_INTERRUPT: "the database was interrupted",
    sqlite3.SQLITE_IOERR: "the database's disk failed to read or write",
    sqlite3.SQLITE_CORRUPT: "the database file is damaged; restore it from a backup",
    sqlite3.SQLITE_FULL: "the disk of the database is full; free some space",
    sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened; its folder must exist and be writable for this user",
    sqlite3.SQLITE_PROTOCOL: "the database's locks are in use by too many processes",
    sqlite3.SQLITE_NOTADB: "the database file is not an SQLite database",
}
"""The primary result codes that speak of the storage, not of the closure that met them."""


class NoDatabase(Exception):
    """There is no database yet: it is made when the gateway starts for the first time (``lark-steward serve``)."""

    code = "no_database"


class DatabaseTooNew(Exception):
    """A newer program has written this database; nothing was changed."""

    code = "database_too_new"

    def __init__(self, found: str, known: str) -> None:
        super().__init__(
            f"the database is at version {found}, but this program knows only versions up to {known}: "
            "start the newer lark-steward that wrote it, or use another data folder; nothing was changed"
        )


class UnsupportedDatabase(Exception):
    """The address names a kind of database that this version cannot use."""

    code = "unsupported_database"


class ServerTooOld(Exception):
    """The database server is older than what this program needs."""

    code = "server_too_old"

    def __init__(self, found: int, oldest: int) -> None:
        super().__init__(f"the database server is PostgreSQL {found}, but {oldest} or newer is needed: upgrade it")


def storage_failure(error: BaseException) -> StorageUnavailable | None:
    """What to raise when ``error`` says that the storage failed; None when it is an error of the closure's own."""
    reason = REASONS.get(_primary_code(error))
    return None if reason is None else StorageUnavailable(reason)


def is_locked(error: BaseException) -> bool:
    """Whether a transaction could not begin because another process held the database for too long."""
    return _primary_code(error) == sqlite3.SQLITE_BUSY


def as_unavailable(error: BaseException) -> StorageUnavailable:
    """Like ``storage_failure``, for errors outside any closure: whatever it is, the storage failed."""
    if isinstance(error, (StorageUnavailable, NoDatabase)):
        return StorageUnavailable(*error.args)  # each caller gets one of its own
    if isinstance(error, OSError):
        return StorageUnavailable(f"the database file cannot be used: {error.strerror}")
    return storage_failure(error) or StorageUnavailable(f"the database failed ({type(error).__name__})")


def _primary_code(error: BaseException) -> int:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, sqlite3.Error):
        return sqlite3.SQLITE_OK
    code: int = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_OK)  # absent where the driver itself refused
    return code & 0xFF
