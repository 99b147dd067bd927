"""How a connection to PostgreSQL is made, and for how long its answers are waited for.

A server that hangs keeps its connections, and a network that is cut says nothing, so the waiting itself has an end:
past ``until`` the connection is given up. The server's own limits bound how long it keeps a lock for somebody who is
gone.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar, cast

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import NullPool

from providers.storage.errors import ServerTooOld, UnsupportedDatabase

R = TypeVar("R")

OLDEST: Final = 130000
"""PostgreSQL 13: the first that tells what became of a transaction (``pg_xact_status``) by its 64-bit number."""

CONNECT_S: Final = 2
STATEMENTS_KEPT: Final = 512

TO_THE_SERVER: Final = {
    "connect_timeout": CONNECT_S,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
    "application_name": "lark-steward",
}
"""What the address does not say itself. https://www.postgresql.org/docs/current/libpq-connect.html"""

OF_THE_SERVER: Final = {
    "lock_timeout": "1500ms",
    "statement_timeout": "15s",
    "idle_in_transaction_session_timeout": "10s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "2",
    "tcp_user_timeout": "10000",
}
"""A lock outlives its holder by less than 30 s: a statement that runs ends by itself, and then the transaction is idle.

https://www.postgresql.org/docs/current/runtime-config-client.html
"""

TIMELINE: Final = (
    "CASE WHEN pg_is_in_recovery() THEN NULL ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END"
)
"""Which history the server writes: another one since a standby was promoted. NULL of a standby.

https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES
"""

_FLUSHED: Final = (
    "CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END"
)
"""Done means durable, whatever the server's default is; a stronger one stays."""

_PREPARE: Final = (
    f"SELECT {TIMELINE}, {_FLUSHED}, "
    + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in OF_THE_SERVER.items())
).encode()


class Unanswered(psycopg.OperationalError):
    """The server did not answer in time; the connection was given up."""


class Patient(psycopg.Connection[tuple[object, ...]]):
    """A connection that waits for answers until a moment."""

    until: float = math.inf
    """Of the monotonic clock, in seconds."""
    pid: int = 0
    """Of the server's process."""
    timeline: str | None = None
    """See ``TIMELINE``."""

    def wait(self, gen: PQGen[R], interval: float = 0.1, timeout: float | None = None) -> R:
        """Wait for an answer. Raises ``Unanswered``, and the connection is over, when there is none until then."""
        left = max(0.001, self.until - time.monotonic())
        try:
            return super().wait(_until(gen, self), min(interval, left), timeout)
        except Unanswered:
            self.pgconn.finish()
            raise
        except psycopg.Error as error:
            _without_values(error)
            raise


def _without_values(error: psycopg.Error) -> None:
    """Leave the server's sentence and drop its details: they quote rows. Of a bad value the sentence does so itself."""
    code = error.sqlstate
    if code is not None:
        quotes = code[:2] == "22" and code not in _QUOTES_NOTHING
        error.args = (f"a value that the database does not take ({code})" if quotes else error.diag.message_primary,)


_QUOTES_NOTHING: Final = frozenset({"22001", "22003", "22012"})
"""Too long, out of range, division by zero."""


def _until(gen: PQGen[R], connection: Patient) -> PQGen[R]:
    """The same exchange; it ends with ``Unanswered`` when the moment has come and the server has said nothing."""
    try:
        state = next(gen)
        while True:
            ready = yield state
            if not ready and time.monotonic() >= connection.until:
                raise Unanswered("the server did not answer in time")
            state = gen.send(ready)
    except StopIteration as done:
        return cast("R", done.value)


def conninfo(url: str) -> str:
    """The address as libpq takes it, with what it does not say itself. Raises ``UnsupportedDatabase``."""
    plain = "postgresql://" + url.partition("://")[2]
    try:
        said = conninfo_to_dict(plain)
        ports = [port for port in str(said.get("port", "")).split(",") if port]
        if all(port.isdecimal() for port in ports):
            return make_conninfo(plain, **{**TO_THE_SERVER, **said})
    except psycopg.Error:
        pass  # it quotes the address
    raise UnsupportedDatabase(
        "the database's address cannot be read: it has the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
    )


def connect(address: str, until: float) -> Patient:
    """A new connection, prepared for transactions that begin by BEGIN. Raises ``psycopg.Error`` or ``ServerTooOld``."""
    connection = Patient.connect(address, autocommit=True)
    version = connection.info.server_version
    try:
        connection.until = until
        connection.pid = connection.info.backend_pid
        connection.prepared_max = STATEMENTS_KEPT
        row = connection.execute(_PREPARE).fetchone() if version >= OLDEST else None
    except BaseException:
        connection.pgconn.finish()
        raise
    if version < OLDEST:
        connection.pgconn.finish()
        raise ServerTooOld(version // 10_000, OLDEST // 10_000)
    connection.timeline = None if row is None or row[0] is None else str(row[0])
    return connection


class Source:
    """Makes connections to one address, for any thread. Raises ``UnsupportedDatabase`` if that cannot be read."""

    def __init__(self, url: str, prepare: Callable[[Patient], None] = lambda _: None) -> None:
        """``prepare`` changes a connection before it is used."""
        self.address: Final = conninfo(url)
        self._prepare = prepare
        self._of_thread = _Until()
        self._engine = create_engine(
            "postgresql+psycopg://",
            creator=self._make,
            poolclass=NullPool,  # each connection belongs to one thread, for as long as it lasts
            pool_reset_on_return=None,
            hide_parameters=True,  # they are ids and texts of people; an error may be logged
            use_native_hstore=False,
        )

    @property
    def engine(self) -> Engine:
        """What makes them, for whoever needs one that waits without an end."""
        return self._engine

    def connect(self, until: float) -> Connection:
        """A new one, whose answers are waited for until then. Raises the drivers' errors, or ``ServerTooOld``."""
        self._of_thread.until = until
        return self._engine.connect()

    def _make(self) -> DBAPIConnection:
        connection = connect(self.address, self._of_thread.until)
        self._prepare(connection)
        return cast("DBAPIConnection", connection)


class _Until(threading.local):
    until: float = math.inf


def driver_of(connection: Connection) -> Patient:
    """The driver's connection under SQLAlchemy's."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, Patient):
        raise TypeError("This is no connection of ours.")
    return driver
