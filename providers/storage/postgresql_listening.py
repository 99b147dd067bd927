"""Hears what other gateways commit (LISTEN), on a connection and a thread of its own.

https://www.postgresql.org/docs/current/sql-listen.html
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

import psycopg

from providers.storage.errors import ServerTooOld
from providers.storage.postgresql_connections import Patient, connect, conninfo
from providers.storage.postgresql_desk import CHANNEL

ANSWER_S: Final = 2.0
QUIET_S: Final = 15.0
"""After so long a silence the connection is asked whether it still stands."""

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0


class Listener:
    """Rings for topics. ``start`` and ``stop`` once each."""

    def __init__(
        self, url: str, ring: Callable[[frozenset[str]], None], ring_all: Callable[[], None], own: Callable[[int], bool]
    ) -> None:
        """``ring`` and ``ring_all`` are called in the thread; ``own`` says whether a server's process is one of ours.

        What we commit ourselves rings without this detour.
        """
        self.tried = threading.Event()
        """It listens, or could not at the first time; from then on all is rung when it listens again."""
        self._address = conninfo(url)
        self._ring, self._ring_all, self._own = ring, ring_all, own
        self._stopping = threading.Event()
        self._here, self._there = socket.socketpair()
        self._thread = threading.Thread(target=self._listen, name="storage-listener", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Returns at once; ``join`` waits."""
        self._stopping.set()
        self._there.send(b"x")

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join()
        self._here.close()
        self._there.close()

    def _listen(self) -> None:
        pause = FIRST_PAUSE_S
        while not self._stopping.is_set():
            with contextlib.suppress(psycopg.Error, ServerTooOld, OSError):
                connection = connect(self._address, time.monotonic() + ANSWER_S)
                try:
                    connection.execute(f"LISTEN {CHANNEL}")
                    pause = FIRST_PAUSE_S
                    if self.tried.is_set():
                        self._ring_all()  # what was told before this moment was not heard
                    self.tried.set()
                    self._hear(connection)
                finally:
                    connection.pgconn.finish()
            self.tried.set()
            self._stopping.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _hear(self, connection: Patient) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._here, selectors.EVENT_READ)
            while not self._stopping.is_set():
                heard = selector.select(QUIET_S)
                if self._stopping.is_set():
                    return
                connection.until = time.monotonic() + ANSWER_S
                if not heard:
                    connection.execute("SELECT 1")
                topics = {note.payload for note in connection.notifies(timeout=0) if not self._own(note.pid)}
                if topics:
                    self._ring(frozenset(topics))
