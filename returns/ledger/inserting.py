"""Inserts that yield to a row that is already there, on either database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Table
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from returns.ledger.prepared import Prepared


def or_yield(table: Table, columns: Sequence[str]) -> Mapping[str, Prepared]:
    """By the kind of database: insert a row; changes nothing, and says 0, if a unique key of it is taken."""
    return {
        "sqlite": Prepared(sqlite_insert(table).on_conflict_do_nothing(), columns),
        "postgresql": Prepared(postgresql_insert(table).on_conflict_do_nothing(), columns),
    }
