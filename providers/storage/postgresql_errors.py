"""How PostgreSQL's errors are told apart: by their SQLSTATE, and by what is left of the connection.

https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from __future__ import annotations

from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError

from providers.storage.errors import DatabaseTooNew, NoDatabase, ServerTooOld, UnsupportedDatabase
from returns.ports import StorageUnavailable

AGAIN: Final = frozenset({"40001", "40P01"})
"""Serialization failure, deadlock: another transaction was in the way, and running again is the cure."""

AGAIN_ON_ANOTHER: Final = frozenset({"0A000", "26000"})
"""A kept statement does not fit any more, because tables changed or somebody between us and the server dropped it."""

AGAIN_ONCE: Final = frozenset({"23505"})
"""A unique key was taken after the closure had looked: now it finds it. Where it had not looked, it fails again."""

REASONS: Final = {
    "25006": "the database is read-only here: the address must lead to the primary server",
    "25P03": "the database ended a transaction that did nothing for too long",
    "25P04": "the database ended a transaction that took too long",
    "28000": "the database does not let this user in: check the user name and the server's pg_hba.conf",
    "28P01": "the database does not accept the password: check database_url",
    "3D000": "there is no such database: create it, or check the name in database_url",
    "40001": "the database was too busy: other transactions were in the way every time",
    "40P01": "the database was too busy: other transactions were in the way every time",
    "42501": "the database user lacks a right: it must be able to create, read and write the tables of this database",
    "53100": "the disk of the database is full; free some space",
    "53200": "the database ran out of memory",
    "53300": "the database has too many connections; raise max_connections or run fewer gateways",
    "55P03": "the database is locked by another transaction",
    "57014": "the database took too long for a statement",
    "57P03": "the database is starting up or shutting down",
}
CLASSES: Final = {
    "08": "the connection to the database was lost",
    "28": "the database does not let this user in",
    "53": "the database lacks a resource",
    "57": "the database is shutting down",
    "58": "the database's machine failed",
    "XX": "the database failed inside; see its log",
}
"""By the first two characters, where the code itself is not listed."""

SAID: Final = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "does not exist": "3D000",
    "no pg_hba.conf entry": "28000",
    "is not permitted to log in": "28000",
    "too many clients": "53300",
    "remaining connection slots": "53300",
    "too many connections": "53300",
    "starting up": "57P03",
    "shutting down": "57P03",
    "in recovery mode": "57P03",
}
"""While it connects the driver gives words only, and no code."""

LOST: Final = "the connection to the database was lost"
OUT_OF_REACH: Final = "the database cannot be reached: check that it runs, and host and port in database_url"
SILENT: Final = "the database does not answer"


def sqlstate(error: BaseException) -> str | None:
    """The code that the server gave; None where the driver itself failed, or for an error of another kind."""
    cause = _cause(error)
    return cause.sqlstate if isinstance(cause, psycopg.Error) else None


def storage_failure(error: BaseException, *, alive: bool) -> StorageUnavailable | None:
    """What to raise when ``error`` says that the storage failed; None when it is an error of the closure's own.

    ``alive``: the connection still stands.
    """
    code = sqlstate(error)
    if code is not None:
        reason = REASONS.get(code) or CLASSES.get(code[:2])
        return None if reason is None else StorageUnavailable(reason)
    if alive or not isinstance(_cause(error), psycopg.Error):
        return None
    return StorageUnavailable(LOST)


def not_connected(error: BaseException) -> StorageUnavailable:
    """What to raise when no connection could be made. The driver's words are not passed on."""
    if isinstance(error, (ServerTooOld, UnsupportedDatabase, NoDatabase, DatabaseTooNew, StorageUnavailable)):
        return StorageUnavailable(*error.args)
    code = sqlstate(error)
    said = str(_cause(error))
    if code is None:
        code = next((each for words, each in SAID.items() if words in said), None)
    if code is not None and (reason := REASONS.get(code) or CLASSES.get(code[:2])):
        return StorageUnavailable(reason)
    return StorageUnavailable(SILENT if "timeout" in said or "in time" in said else OUT_OF_REACH)


def _cause(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
