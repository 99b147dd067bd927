"""A few threads, each with a connection of its own, that do what waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from providers.storage.jobs import Work, perform_joint
from providers.storage.postgresql_connections import Source
from providers.storage.postgresql_desk import Desk, Done, Left, Perform
from providers.storage.postgresql_queue import Queue, Stage, Ticket
from returns.ports import StorageUnavailable

THREADS: Final = 8
MOST_WRITING: Final = 6
MOST_READING: Final = 6
"""Neither kind takes all threads: what waits for a lock keeps nobody from reading, and the other way round."""

LEAST: Final = 0.25
"""The share of the patience that is left to a closure which waited long for its turn."""

Settle = Callable[[Sequence[Work], frozenset[str]], None]
"""Called in the thread with finished jobs and the topics they announced."""


class Workers:
    """Owns the connections. ``start`` and ``stop`` once each."""

    def __init__(self, url: str, settle: Settle, patience_s: float) -> None:
        self._settle = settle
        self._patience_s = patience_s
        self._queue = Queue(MOST_WRITING, MOST_READING)
        self._pids: set[int] = set()
        source = Source(url)
        self._desks = [Desk(source, self._note) for _ in range(THREADS)]
        self._threads = [
            threading.Thread(target=self._work, args=(desk,), name=f"storage-{number}", daemon=True)
            for number, desk in enumerate(self._desks)
        ]

    @property
    def waiting(self) -> int:
        """About how many closures wait."""
        return self._queue.waiting

    def owns(self, pid: int) -> bool:
        """Whether a process of the server works for one of these connections."""
        return pid in self._pids

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def submit(self, job: Work, *, reads: bool) -> Ticket:
        """Have a job done by whoever is free."""
        ticket = Ticket(job, time.monotonic() + self._patience_s, reads)
        self._queue.put(ticket)
        return ticket

    def leave(self, ticket: Ticket, *, running: bool) -> bool:
        """See ``Queue.leave``."""
        return self._queue.leave(ticket, running=running)

    def stop(self) -> None:
        """Finish what was submitted, then end the threads. Returns at once; ``join`` waits."""
        self._queue.end()

    def join(self) -> None:
        """Wait for the end of the threads."""
        for thread in self._threads:
            thread.join()

    def _note(self, pid: int, there: bool) -> None:
        (self._pids.add if there else self._pids.discard)(pid)

    def _work(self, desk: Desk) -> None:
        while (taken := self._queue.take()) is not None:
            try:
                self._do(desk, taken)
            finally:
                self._queue.done(taken)
        desk.close()

    def _do(self, desk: Desk, taken: Sequence[Ticket]) -> None:
        """Give every ticket its outcome."""
        until = max(min(each.until for each in taken), time.monotonic() + self._patience_s * LEAST)
        try:
            desk.open(until)  # nothing has begun until there is a connection
        except StorageUnavailable as error:
            self._fail(taken, error)
            return
        tickets = self._queue.begin(taken)
        if not tickets:
            return
        if tickets[0].reads:
            self._finish(tickets, lambda: desk.read(_performing(tickets), until))
        else:
            self._commit(desk, tickets, until)

    def _commit(self, desk: Desk, tickets: Sequence[Ticket], until: float) -> None:
        try:
            done = desk.write(_performing(tickets), until, lambda: self._queue.commit(tickets))
        except Left:
            done = None
        except StorageUnavailable as error:
            self._fail(tickets, error)
            return
        if done is not None and (done.error is None or len(tickets) == 1):
            self._tell(tickets, done.topics)
        elif len(tickets) > 1:  # nothing of them all is kept, and now each is alone
            for ticket in tickets:
                if ticket.stage is not Stage.LEFT:
                    self._commit(desk, [ticket], until)

    def _finish(self, tickets: Sequence[Ticket], do: Callable[[], Done]) -> None:
        try:
            do()
        except StorageUnavailable as error:
            self._fail(tickets, error)
        else:
            self._tell(tickets, frozenset())

    def _fail(self, tickets: Sequence[Ticket], error: StorageUnavailable) -> None:
        for ticket in tickets:
            ticket.job.fail(type(error)(*error.args))  # each caller gets one of its own
        self._tell(tickets, frozenset())

    def _tell(self, tickets: Sequence[Ticket], topics: frozenset[str]) -> None:
        self._settle([ticket.job for ticket in tickets], topics)


def _performing(tickets: Sequence[Ticket]) -> Perform:
    jobs = [ticket.job for ticket in tickets]
    return partial(perform_joint, jobs)
