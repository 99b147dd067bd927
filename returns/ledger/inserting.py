"""Inserts that yield to a row that is already there, on either database."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Table
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert


def insert_or_yield(connection: Connection, table: Table, values: Mapping[str, object]) -> bool:
    """Insert one row; False, and nothing is changed, if a unique key of it is taken."""
    if connection.dialect.name == "postgresql":
        statement = postgresql_insert(table).values(dict(values)).on_conflict_do_nothing()
    else:
        statement = sqlite_insert(table).values(dict(values)).on_conflict_do_nothing()
    return connection.execute(statement).rowcount == 1
