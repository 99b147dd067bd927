"""The one thread that writes: it commits the closures that are waiting together, then settles them all.

A commit costs a flush to the disk, so the callers share it, and closures of one kind are performed in one go. The batch
runs without savepoints, which would halve its pace; when one of its closures raises, everything is rolled back and the
batch runs again, now each closure by itself with a savepoint around it, so that only the effects of those that raise
are undone (a closure may run again by contract).

When the storage itself fails, nothing of the batch is kept: all its callers get ``StorageUnavailable``, the connection
is thrown away, and the next batch makes a new one.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from providers.storage.connections import create_file, in_transaction, writing_engine
from providers.storage.errors import as_unavailable, is_locked, storage_failure
from providers.storage.jobs import Work, joint, perform_joint
from returns.ledger import wakeups
from returns.ports import StorageUnavailable

BATCH = 256
"""The most closures in one commit: bounds how long the first one waits for the others."""

Settle = Callable[[Sequence[Work], frozenset[str]], None]
"""Called in the thread with the jobs of a batch and the topics they announced."""


class Writer:
    """Owns the writing connection. ``start`` and ``stop`` once each."""

    def __init__(self, path: Path, settle: Settle) -> None:
        self._path = path
        self._engine = writing_engine(path)
        self._settle = settle
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._connection: Connection | None = None
        self._file: tuple[int, int] | None = None
        self._thread = threading.Thread(target=self._write, name="storage-writer", daemon=True)

    @property
    def waiting(self) -> int:
        """About how many closures wait."""
        return self._queue.qsize()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, job: Work) -> None:
        """Have a job done after those that were submitted before."""
        self._queue.put(job)

    def stop(self) -> None:
        """Finish what was submitted, then end the thread. Returns at once; ``join`` waits."""
        self._queue.put(None)

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join()

    def _write(self) -> None:
        stopping = False
        while not stopping:
            batch, stopping = self._next_batch()
            if batch:
                self._settle(batch, self._commit(batch))
        self._disconnect()

    def _next_batch(self) -> tuple[list[Work], bool]:
        """The jobs that wait (at least one), and whether the end was reached."""
        batch: list[Work] = []
        job = self._queue.get()
        while job is not None:
            if not job.dropped:
                batch.append(job)
            if len(batch) == BATCH:
                return batch, False
            try:
                job = self._queue.get_nowait()
            except Empty:
                return batch, False
        return batch, True

    def _commit(self, batch: list[Work]) -> frozenset[str]:
        """Give every job its outcome; the topics that were announced."""
        try:
            connection = self._connect()
            if not _together(connection, batch) and len(batch) > 1:
                _apart(connection, batch)
            return wakeups.take(connection)
        except (SQLAlchemyError, sqlite3.Error, OSError, StorageUnavailable) as error:
            self._disconnect()
            if is_locked(error):  # who has queued up behind has waited as long
                batch.extend(self._waiting_jobs())
            for job in batch:
                job.fail(as_unavailable(error))
            return frozenset()

    def _waiting_jobs(self) -> list[Work]:
        jobs: list[Work] = []
        for _ in range(self._queue.qsize()):
            job = self._queue.get_nowait()
            if job is None:
                self._queue.put(None)
            else:
                jobs.append(job)
        return jobs

    def _connect(self) -> Connection:
        if self._file is None:
            create_file(self._path)
            self._file = _identity(self._path)
        elif self._file != _identity(self._path):  # rows in a file without a name would be lost
            raise StorageUnavailable("the database file was replaced under the running program: restart it")
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(SQLAlchemyError, sqlite3.Error):
                connection.close()


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _together(connection: Connection, batch: Sequence[Work]) -> bool:
    """All in one transaction; False, and nothing kept, as soon as one raises."""
    with connection.begin() as transaction:
        for jobs in joint(batch):
            if _perform(jobs, connection) is not None:
                transaction.rollback()
                return False
    return True


def _apart(connection: Connection, batch: Sequence[Work]) -> None:
    """All in one transaction, but nothing of those that raise."""
    with connection.begin():
        for job in batch:
            savepoint = connection.begin_nested()
            if _perform([job], connection) is None:
                savepoint.commit()
            else:
                savepoint.rollback()


def _perform(jobs: Sequence[Work], connection: Connection) -> BaseException | None:
    """Run one job's closure, or that of several that go together; its error, if it is of its own making.

    Raises ``StorageUnavailable`` where the storage failed. SQLite rolls a transaction back by itself on some failures:
    whatever the closure made of that, nothing more may be written outside a transaction.
    """
    error = perform_joint(jobs, connection)
    failure = None if error is None else storage_failure(error)
    if failure is not None:
        raise failure from error
    if not in_transaction(connection):
        raise StorageUnavailable("the database ended a transaction in the middle")
    return error
