"""One connection and the thread it belongs to: transactions on it, again where that is the cure, and how they ended.

A write runs under READ COMMITTED. Every ledger locks what it decides about (``FOR UPDATE``, or a lock by name), or
writes guarded by the state that it leaves and looks at how many rows that changed. So each statement has to see what
others have committed a moment ago; a snapshot from the beginning would hide it, and turn every meeting of two gateways
into a failure. A read runs under REPEATABLE READ, READ ONLY: it sees one state.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection
from sqlalchemy.engine import RootTransaction
from sqlalchemy.exc import SQLAlchemyError

from providers.storage.errors import ServerTooOld
from providers.storage.postgresql_commits import Committing, Fate, look_up
from providers.storage.postgresql_connections import Patient, Source, driver_of
from providers.storage.postgresql_errors import (
    AGAIN,
    AGAIN_ON_ANOTHER,
    AGAIN_ONCE,
    not_connected,
    sqlstate,
    storage_failure,
)
from returns.ledger import wakeups
from returns.ports import CommitUnknown, StorageUnavailable

TRIES: Final = 8
"""Of one transaction that others are in the way of."""

GRACE_S: Final = 0.3
"""How long an outcome is looked up at least."""

CHANNEL: Final = "lark_steward"
"""NOTIFY's channel; what it carries is a topic."""

WRITE: Final = sql.SQL("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE")
READ: Final = sql.SQL("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
_XID: Final = "SELECT pg_current_xact_id_if_assigned()::text"
_NOTIFY: Final = f", pg_notify('{CHANNEL}', %s)"

Perform = Callable[[Connection], BaseException | None]
"""Runs closures on a connection and keeps their outcomes; the error that they raised, whatever it is."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of closures: committed, or undone because of an error of their own."""

    error: BaseException | None
    topics: frozenset[str] = frozenset()
    """Announced, if it was committed."""


class Left(Exception):
    """Who asked for the transaction does not want it any more; nothing of it is kept."""


class Desk:
    """Transactions of one thread. Its methods raise ``StorageUnavailable`` where the storage failed."""

    def __init__(self, source: Source, note: Callable[[int, bool], None] | None = None) -> None:
        """Connects when it is needed. ``note`` hears the server's process number of each connection, there or gone."""
        self._source = source
        self._note = note
        self._until = 0.0
        self._open: tuple[Connection, Patient] | None = None

    def open(self, until: float) -> tuple[Connection, Patient]:
        """Have a connection that waits for answers until then: it, and the driver's own."""
        self._until = until
        if self._open is not None and self._open[1].closed:
            self.close()
        if self._open is None:
            self._open = self._connect()
        self._open[1].until = until
        return self._open

    def close(self) -> None:
        """Have none any more."""
        opened, self._open = self._open, None
        if opened is None:
            return
        connection, driver = opened
        driver.pgconn.finish()
        if self._note is not None:
            self._note(driver.pid, False)
        with contextlib.suppress(SQLAlchemyError, psycopg.Error):
            connection.invalidate()
            connection.close()

    def write(self, perform: Perform, until: float, may_commit: Callable[[], bool] = lambda: True) -> Done:
        """Commit what ``perform`` does. Raises ``Left`` when ``may_commit`` says no right before the end.

        Raises ``CommitUnknown`` when the answer to COMMIT was lost and what became of it could not be found out.
        """
        return self._repeat(lambda: self._write(perform, may_commit), until)

    def read(self, perform: Perform, until: float) -> Done:
        """Let ``perform`` read one state."""
        return self._repeat(lambda: self._read(perform), until)

    def _repeat(self, once: Callable[[], Done], until: float) -> Done:
        spare = True  # one more time for what does not come twice
        for left in reversed(range(TRIES)):
            self.open(until)
            try:
                done = once()
            except StorageUnavailable:
                self.close()
                raise
            if done.error is None:
                return done
            lost = self._open is None or self._open[1].closed
            failure = storage_failure(done.error, alive=not lost)
            code = sqlstate(done.error)
            once_more = (lost and failure is not None) or code in AGAIN_ON_ANOTHER or code in AGAIN_ONCE
            if not left or time.monotonic() >= until or not (code in AGAIN or (once_more and spare)):
                return self._ended(done, failure)
            spare = spare and not once_more
            if lost or code in AGAIN_ON_ANOTHER:
                self.close()
        raise StorageUnavailable  # never reached: the last time returns

    def _ended(self, done: Done, failure: StorageUnavailable | None) -> Done:
        if failure is None:
            return done
        self.close()
        raise failure from done.error

    def _write(self, perform: Perform, may_commit: Callable[[], bool]) -> Done:
        connection, driver = self.open(self._until)
        wakeups.take(connection)
        transaction = connection.begin()
        xid: str | None = None
        topics: frozenset[str] = frozenset()
        try:
            driver.execute(WRITE, prepare=False)
            error = perform(connection)
            if error is None:
                topics = wakeups.take(connection)
                xid = _finish(driver, topics)
        except (SQLAlchemyError, psycopg.Error) as failed:
            error = failed
        if error is not None:
            self._undo(transaction)
            return Done(error)
        if not may_commit():
            self._undo(transaction)
            raise Left
        try:
            transaction.commit()
        except (SQLAlchemyError, psycopg.Error) as failed:
            return self._doubtful(
                transaction, failed, None if xid is None else Committing(xid, driver.timeline), topics
            )
        return Done(None, topics)

    def _doubtful(
        self, transaction: RootTransaction, failed: Exception, committing: Committing | None, topics: frozenset[str]
    ) -> Done:
        """COMMIT was not answered with a yes."""
        if self._open is not None and not self._open[1].closed:  # the server said no
            self._undo(transaction)
            return Done(failed)
        self.close()
        if committing is None:  # it changed nothing: there is nothing to be lost
            return Done(None, topics)
        match look_up(self._source.address, committing, max(self._until, time.monotonic()) + GRACE_S):
            case Fate.COMMITTED:
                return Done(None, topics)
            case Fate.ABORTED:
                return Done(failed)
            case Fate.NOT_KNOWN:
                raise CommitUnknown(
                    "the connection to the database was lost during COMMIT, and what became of it is not known"
                ) from failed

    def _read(self, perform: Perform) -> Done:
        connection, driver = self.open(self._until)
        transaction = connection.begin()
        try:
            driver.execute(READ, prepare=False)
            error = perform(connection)
        except (SQLAlchemyError, psycopg.Error) as failed:
            error = failed
        self._undo(transaction)
        return Done(error)

    def _undo(self, transaction: RootTransaction) -> None:
        """Roll back; where that fails the connection is over, and the server rolls back."""
        try:
            transaction.rollback()
        except (SQLAlchemyError, psycopg.Error):
            self.close()

    def _connect(self) -> tuple[Connection, Patient]:
        try:
            connection = self._source.connect(self._until)
            opened = (connection, driver_of(connection))
        except (SQLAlchemyError, psycopg.Error, ServerTooOld) as error:
            raise not_connected(error) from None  # the driver's words may hold the address
        if self._note is not None:
            self._note(opened[1].pid, True)
        return opened


def _finish(driver: Patient, topics: frozenset[str]) -> str | None:
    """Tell the other gateways, and learn by what number the transaction can be asked for; None: it changed nothing."""
    if driver.info.transaction_status is TransactionStatus.IDLE:
        raise StorageUnavailable("the database ended a transaction in the middle")
    row = driver.execute(_XID + _NOTIFY * len(topics), sorted(topics)).fetchone()
    return None if row is None or row[0] is None else str(row[0])
