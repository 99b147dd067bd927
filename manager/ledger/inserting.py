"""Insert what is not there yet, on every database that we use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from returns.ledger.prepared import Prepared


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> int:
    """Insert the rows whose keys are free, leave the others as they are; how many were inserted."""
    maker = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return connection.execute(maker(table).values([dict(row) for row in rows]).on_conflict_do_nothing()).rowcount


def new_only(table: Table, columns: Sequence[str]) -> Mapping[str, Prepared]:
    """The statement of ``insert_new``, made once for each kind of database, for what is inserted all the time."""
    return {
        "sqlite": Prepared(sqlite.insert(table).on_conflict_do_nothing(), columns),
        "postgresql": Prepared(postgresql.insert(table).on_conflict_do_nothing(), columns),
    }
