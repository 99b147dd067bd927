"""What the database has to do: the steps of SQLite's machine, and the statements, counted on every connection.

Both are the same each time, whatever else the computer does: nothing here looks at a clock.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Engine, event

EVERY = 10
"""Steps are counted in tens: each call of the handler costs more than the steps."""


@dataclass
class Work:
    """What was done so far."""

    steps: int = 0
    statements: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Count from here on."""
        self.steps = 0
        self.statements.clear()

    def watch(self, connection: sqlite3.Connection) -> None:
        """Count what this connection does, too."""
        connection.set_progress_handler(self._step, EVERY)
        connection.set_trace_callback(self._trace)

    def _step(self) -> None:
        self.steps += EVERY

    def _trace(self, statement: str) -> None:
        self.statements.append(statement)


@contextmanager
def counted() -> Iterator[Work]:
    """Count the work of every connection that is made in the block."""
    work = Work()

    def connected(connection: object, _record: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            work.watch(connection)

    event.listen(Engine, "connect", connected)
    try:
        yield work
    finally:
        event.remove(Engine, "connect", connected)


def plan(path: Path, statement: str) -> list[str]:
    """How SQLite would carry a statement out, a line each."""
    with closing(sqlite3.connect(path)) as connection:
        return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
