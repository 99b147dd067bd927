"""Rows that are written later in the same transaction, all of a table at once.

A statement costs its way through the driver more than the row that it writes. Inside ``deferring`` the rows that are
given to ``Prepared.defer`` are kept and written together: at the end of the block, and before any other statement of
the connection, so that whoever reads finds them. What a block raises before that drops them; its transaction is to be
rolled back then, as far as it goes.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Protocol, TypeAlias

from sqlalchemy import Connection, event

KEY: Final = "deferred"

Parameters: TypeAlias = Mapping[str, object]


class Insert(Protocol):
    """A statement that writes rows into one table."""

    @property
    def rank(self) -> int:
        """The place of its table among the tables: after those that it refers to."""
        ...

    def write(self, connection: Connection, rows: Sequence[Parameters]) -> int:
        """Write the rows now; how many."""
        ...


class Deferred:
    """What waits to be written on one connection."""

    __slots__ = ("changes", "numbers", "rows")

    def __init__(self) -> None:
        self.rows: dict[Insert, list[Parameters]] = {}
        self.numbers: dict[str, int] = {}
        """The last numbers that were given out, by their table."""
        self.changes = 0
        """How often something else than deferred rows was written: what was read before may be another now."""

    def add(self, insert: Insert, row: Parameters) -> None:
        """Keep a row."""
        self.rows.setdefault(insert, []).append(row)

    def write(self, connection: Connection) -> None:
        """Write what waits; the tables that are referred to come first."""
        waiting, self.rows = self.rows, {}
        for insert in sorted(waiting, key=_rank):
            insert.write(connection, waiting[insert])


def deferred(connection: Connection) -> Deferred | None:
    """What waits on the connection; None outside of ``deferring``."""
    found: Deferred | None = connection.info.get(KEY)
    return found


@contextmanager
def deferring(connection: Connection) -> Generator[Deferred]:
    """Defer what can be deferred until the end of the block. A block inside another one belongs to it."""
    outer = deferred(connection)
    if outer is not None:
        yield outer
        return
    waiting = Deferred()

    def before(_connection: object, _cursor: object, statement: str, *_others: object) -> None:
        waiting.write(connection)
        if not statement.startswith("SELECT"):
            waiting.changes += 1

    info = connection.info  # a connection that is lost in the block cannot be asked for it any more
    info[KEY] = waiting
    event.listen(connection, "before_cursor_execute", before)
    try:
        yield waiting
        waiting.write(connection)
    finally:
        event.remove(connection, "before_cursor_execute", before)
        info.pop(KEY, None)


def _rank(insert: Insert) -> int:
    return insert.rank
