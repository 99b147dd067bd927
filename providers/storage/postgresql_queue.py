"""What waits for the database: who may take it next, and how far each closure has come.

Closures of one kind (an equal ``Together.perform``) are taken together, and one batch of them is under way at a time:
what arrives meanwhile becomes the next batch. Two of them side by side would wait for each other's rows anyway.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from providers.storage.jobs import Work

BATCH: Final = 128
"""The most closures in one commit: bounds how long the first one waits for the others."""


class Stage(Enum):
    """How far a closure has come."""

    WAITING = "waiting"
    """Nobody has begun it."""
    RUNNING = "running"
    """In a transaction that may still be rolled back."""
    COMMITTING = "committing"
    """COMMIT was or is about to be sent: whether it is kept is up to the server."""
    LEFT = "left"
    """Its caller was told that nothing of it is kept; so it will be."""


@dataclass(slots=True, eq=False)
class Ticket:
    """A closure on its way."""

    job: Work
    until: float
    """Of the monotonic clock: its caller waits no longer for an answer of the server."""
    reads: bool
    stage: Stage = field(default=Stage.WAITING)


class Queue:
    """Tickets for the threads. Thread-safe."""

    def __init__(self, most_writing: int, most_reading: int) -> None:
        self._lock = threading.Lock()
        self._idle: list[threading.Semaphore] = []
        """Threads that wait for work, the one that worked last at the end: it is woken first, for it is connected."""
        self._most = {False: most_writing, True: most_reading}
        self._under_way = {False: 0, True: 0}
        self._lines: dict[bool, deque[Ticket | object]] = {False: deque(), True: deque()}
        self._kinds: dict[object, deque[Ticket]] = {}
        """By kind, those that wait; a kind is here from its first ticket on until none waits and none is under way."""
        self._waiting = 0
        self._ending = False

    @property
    def waiting(self) -> int:
        """How many nobody has begun."""
        return self._waiting

    def put(self, ticket: Ticket) -> None:
        """Let a ticket wait."""
        with self._lock:
            self._waiting += 1
            line = self._lines[ticket.reads]
            together = None if ticket.reads else ticket.job.together
            if together is None:
                line.append(ticket)
            elif together.perform in self._kinds:
                self._kinds[together.perform].append(ticket)
            else:
                self._kinds[together.perform] = deque((ticket,))
                line.append(together.perform)
            self._wake()

    def end(self) -> None:
        """Let those that wait be done, and then nothing more."""
        with self._lock:
            self._ending = True
            self._wake_all()

    def take(self) -> list[Ticket] | None:
        """The next tickets, to be done together; waits for some. None: there are none and will be none."""
        woken = threading.Semaphore(0)
        while True:
            with self._lock:
                reads = self._next()
                if reads is not None:
                    taken = self._pop(self._lines[reads].popleft())
                    self._under_way[reads] += 1
                    self._wake()
                    return taken
                if self._ending and not self._waiting:
                    return None
                self._idle.append(woken)
            woken.acquire()

    def done(self, taken: Sequence[Ticket]) -> None:
        """The tickets of one ``take`` are finished."""
        with self._lock:
            first = taken[0]
            self._under_way[first.reads] -= 1
            together = None if first.reads else first.job.together
            if together is not None:
                if self._kinds[together.perform]:
                    self._lines[False].append(together.perform)
                else:
                    del self._kinds[together.perform]
            self._wake()
            if self._ending and not self._waiting:
                self._wake_all()

    def begin(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        """Those whose callers still wait; they are running from now on."""
        with self._lock:
            begun = [each for each in tickets if each.stage is not Stage.LEFT and not each.job.dropped]
            for each in begun:
                each.stage = Stage.RUNNING
            return begun

    def commit(self, tickets: Sequence[Ticket]) -> bool:
        """Whether all of them may be committed: nobody was told that nothing of it is kept."""
        with self._lock:
            if any(each.stage is Stage.LEFT for each in tickets):
                return False
            for each in tickets:
                each.stage = Stage.COMMITTING
            return True

    def leave(self, ticket: Ticket, *, running: bool) -> bool:
        """Whether nothing of the ticket is kept, from now on for certain; only if asked, a ``running`` one is left."""
        with self._lock:
            if ticket.stage is Stage.WAITING or (running and ticket.stage is Stage.RUNNING):
                ticket.stage = Stage.LEFT
            return ticket.stage is Stage.LEFT

    def _next(self) -> bool | None:
        """From which line the next can be taken; None: from none."""
        for reads, line in self._lines.items():
            if line and self._under_way[reads] < self._most[reads]:
                return reads
        return None

    def _wake(self) -> None:
        if self._idle and self._next() is not None:
            self._idle.pop().release()

    def _wake_all(self) -> None:
        while self._idle:
            self._idle.pop().release()

    def _pop(self, first: Ticket | object) -> list[Ticket]:
        if isinstance(first, Ticket):
            self._waiting -= 1
            return [first]
        kind = self._kinds[first]
        taken = [kind.popleft() for _ in range(min(BATCH, len(kind)))]
        self._waiting -= len(taken)
        return taken
