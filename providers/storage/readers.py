"""A few threads that read, each with a connection of its own; a connection is made when it is first needed."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path
from queue import SimpleQueue

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from providers.storage.connections import reading_engine, require_file
from providers.storage.errors import NoDatabase, as_unavailable, storage_failure
from providers.storage.jobs import Work
from providers.storage.writer import Settle
from returns.ports import StorageUnavailable

READERS = 3


class Readers:
    """Owns the reading connections. ``start`` and ``stop`` once each."""

    def __init__(self, path: Path, settle: Settle) -> None:
        self._path = path
        self._engine = reading_engine(path)
        self._settle = settle
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._read, name=f"storage-reader-{number}", daemon=True)
            for number in range(READERS)
        ]

    @property
    def waiting(self) -> int:
        """About how many closures wait."""
        return self._queue.qsize()

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def submit(self, job: Work) -> None:
        """Have a job done by whoever is free."""
        self._queue.put(job)

    def stop(self) -> None:
        """Finish what was submitted, then end the threads. Returns at once; ``join`` waits."""
        for _ in self._threads:
            self._queue.put(None)

    def join(self) -> None:
        """Wait for the end of the threads."""
        for thread in self._threads:
            thread.join()

    def _read(self) -> None:
        connection: Connection | None = None
        while (job := self._queue.get()) is not None:
            if job.dropped:
                continue
            try:
                require_file(self._path)
                if connection is None:
                    connection = self._engine.connect()
                _perform(job, connection)
            except (SQLAlchemyError, sqlite3.Error, OSError, NoDatabase, StorageUnavailable) as error:
                _close(connection)
                connection = None
                job.fail(as_unavailable(error))
            self._settle((job,), frozenset())
        _close(connection)


def _perform(job: Work, connection: Connection) -> None:
    transaction = connection.begin()
    try:
        error = job.perform(connection)
        failure = None if error is None else storage_failure(error)
        if failure is not None:
            raise failure from error
    finally:
        transaction.rollback()


def _close(connection: Connection | None) -> None:
    if connection is not None:
        with contextlib.suppress(SQLAlchemyError, sqlite3.Error):
            connection.close()
