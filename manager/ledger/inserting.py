"""Insert what is not there yet, on every database that we use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from returns.ledger.prepared import Prepared


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> int:
    """Insert the rows whose keys are free, leave the others as they are; how many were inserted.

    All rows name the same columns.
    """
    return new_only(table, tuple(rows[0]))[connection.dialect.name].run_many(connection, rows)


@lru_cache(maxsize=64)
def new_only(table: Table, columns: tuple[str, ...]) -> Mapping[str, Prepared]:
    """The statement of ``insert_new``, made once for each kind of database."""
    return {
        "sqlite": Prepared(sqlite.insert(table).on_conflict_do_nothing(), columns),
        "postgresql": Prepared(postgresql.insert(table).on_conflict_do_nothing(), columns),
    }
