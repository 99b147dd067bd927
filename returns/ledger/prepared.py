"""Statements that run for every event and every part: written once in SQLAlchemy Core, run on the driver's own cursor.

Building a Core statement and its result costs many times what SQLite needs to run it. A prepared statement is compiled
once for each kind of database and then executed directly, in the same transaction and on the same connection; it takes
parameters by name and gives rows by name. Measured in ``tests/bench``: 6 to 9 times as many statements a second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from sqlalchemy import BindParameter, Column, ColumnDefault, Connection, Dialect, Table, bindparam
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import Insert

from returns.ledger.deferring import Parameters, deferred

Row: TypeAlias = Mapping[str, object]
_Convert: TypeAlias = Callable[[object], object]

MOST_ROWS: Final = 32
"""The most rows of one statement: bounds its parameters, and how many statements the driver has to keep."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement as one kind of database takes it."""

    sql: str
    order: tuple[str, ...] | None
    """The parameters' names by position; None where this statement takes names."""
    names: tuple[str, ...]
    """The parameters' names where it takes names."""
    fixed: Parameters
    """Values that stand in the statement itself, and the columns' own defaults."""
    columns: tuple[str, ...]
    converts: tuple[_Convert | None, ...] | None
    one_row: str | None
    """How one row of an insert is written, where several may stand in one statement."""

    def arguments(self, parameters: Parameters) -> list[object] | dict[str, object]:
        """The parameters as the driver takes them. Raises ``KeyError`` for one that is missing."""
        if self.order is None:
            given = {**self.fixed, **parameters}
            return {name: given[name] for name in self.names}
        if not self.fixed:
            return [parameters[name] for name in self.order]
        given = {**self.fixed, **parameters}
        return [given[name] for name in self.order]

    def row(self, values: Sequence[object]) -> Row:
        """A row by name."""
        if self.converts is None:
            return dict(zip(self.columns, values, strict=True))
        return {
            name: value if convert is None else convert(value)
            for name, value, convert in zip(self.columns, values, self.converts, strict=True)
        }


class Prepared:
    """One statement. ``columns`` names what an insert is given; the others take their defaults."""

    __slots__ = ("_columns", "_compiled", "_statement", "rank")

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = None if columns is None else list(columns)
        self._compiled: dict[str, _Compiled] = {}
        self.rank = _rank(statement)
        """See ``deferring.Insert``."""

    def rows(self, connection: Connection, parameters: Parameters) -> list[Row]:
        """All rows."""
        compiled = self._for(connection)
        _let_through(connection, change=False)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(compiled.sql, compiled.arguments(parameters))
            return [compiled.row(values) for values in cast("list[Sequence[object]]", cursor.fetchall())]
        finally:
            cursor.close()

    def first(self, connection: Connection, parameters: Parameters) -> Row | None:
        """The first row, if there is one."""
        compiled = self._for(connection)
        _let_through(connection, change=self.rank >= 0)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(compiled.sql, compiled.arguments(parameters))
            values = cast("Sequence[object] | None", cursor.fetchone())
            return None if values is None else compiled.row(values)
        finally:
            cursor.close()

    def only(self, connection: Connection, parameters: Parameters) -> Row:
        """The first row. Raises ``LookupError`` where there is none."""
        row = self.first(connection, parameters)
        if row is None:
            raise LookupError("The row that has to be there is not.")
        return row

    def run(self, connection: Connection, parameters: Parameters) -> int:
        """Change something; how many rows."""
        compiled = self._for(connection)
        _let_through(connection, change=True)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(compiled.sql, compiled.arguments(parameters))
            return cursor.rowcount
        finally:
            cursor.close()

    def run_many(self, connection: Connection, every: Sequence[Parameters]) -> int:
        """Insert each of the rows, or change something for each of them; how many in all."""
        _let_through(connection, change=True)
        return self.write(connection, every)

    def defer(self, connection: Connection, row: Parameters) -> None:
        """Insert a row by the end of the ``deferring`` block that the connection is in; at once where it is in none."""
        waiting = deferred(connection)
        if waiting is None:
            self.write(connection, (row,))
        else:
            waiting.add(self, row)

    def write(self, connection: Connection, rows: Sequence[Parameters]) -> int:
        """Insert rows now, with as few statements as possible; how many."""
        compiled = self._for(connection)
        arguments = [compiled.arguments(row) for row in rows]
        cursor = connection.connection.cursor()
        try:
            if compiled.one_row is None:
                cursor.executemany(compiled.sql, cast("list[list[object]]", arguments))
                return cursor.rowcount
            written = at = 0
            while at < len(arguments):
                count = min(MOST_ROWS, 1 << (len(arguments) - at).bit_length() - 1)
                flat = [value for row in arguments[at : at + count] for value in row]
                cursor.execute(_of_several(compiled.sql, compiled.one_row, count), flat)
                written += cursor.rowcount
                at += count
            return written
        finally:
            cursor.close()

    def _for(self, connection: Connection) -> _Compiled:
        found = self._compiled.get(connection.dialect.name)
        if found is None:
            found = self._compiled[connection.dialect.name] = _compile(
                self._statement, connection.dialect, self._columns
            )
        return found


@lru_cache(maxsize=512)
def _of_several(sql: str, one_row: str, count: int) -> str:
    return sql.replace(one_row, ", ".join([one_row] * count), 1)


def _let_through(connection: Connection, *, change: bool) -> None:
    """What was deferred comes before any other statement."""
    waiting = deferred(connection)
    if waiting is not None:
        waiting.write(connection)
        waiting.changes += change


def _rank(statement: ClauseElement) -> int:
    """The place of an insert's table among all; -1 for what inserts nothing."""
    if not isinstance(statement, Insert):
        return -1
    table = cast("Table", statement.table)
    return table.metadata.sorted_tables.index(table)


def size_for(count: int) -> int:
    """How many names a list of ``count`` is asked with: few sizes, so that few statements are made. 0 stays 0."""
    return 0 if count == 0 else max(4, 1 << (count - 1).bit_length())


def names(name: str, count: int) -> list[BindParameter[object]]:
    """The parameters of an ``IN`` that takes ``count`` values, as ``listed`` names them."""
    return [bindparam(f"{name}_{number}") for number in range(count)]


def listed(name: str, values: Collection[object]) -> dict[str, object]:
    """Values as parameters ``name_0``, ``name_1``, … of an ``IN``; the last one fills up what ``size_for`` asks for."""
    given = list(values)
    given += given[-1:] * (size_for(len(given)) - len(given))
    return {f"{name}_{number}": value for number, value in enumerate(given)}


def _compile(statement: ClauseElement, dialect: Dialect, columns: list[str] | None) -> _Compiled:
    if isinstance(statement, Insert) and not len(statement.exported_columns):
        statement = statement.inline()  # the key that a sequence gave out is not asked for
    compiled = cast("SQLCompiler", statement.compile(dialect=dialect, column_keys=columns))
    if compiled.post_compile_params:
        raise ValueError("A prepared statement has a fixed number of parameters: bind each one by its name.")
    fixed: dict[str, object] = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
    for column in compiled.insert_prefetch:
        fixed[column.key] = _default(column)
    positional = compiled.positiontup
    sql, order = compiled.string, None if positional is None else tuple(positional)
    if order is None and (rows := _ROW_OF_NAMES.search(sql)) is not None and sql.startswith("INSERT"):
        # As in one row so in several: by position, for names would meet each other.
        order = tuple(_NAME.findall(rows.group(1)))
        sql = _NAME.sub("%s", sql)
    shown = tuple(getattr(statement, "selected_columns", ())) or tuple(compiled.effective_returning or ())
    converts = tuple(column.type.dialect_impl(dialect).result_processor(dialect, None) for column in shown)
    return _Compiled(
        sql=sql,
        order=order,
        names=tuple(compiled.binds) if order is None else (),
        fixed=fixed,
        columns=tuple(str(column.key) for column in shown),
        converts=converts if any(converts) else None,
        one_row=_one_row(sql, 0 if order is None else len(order)),
    )


_NAME: Final = re.compile(r"%\((\w+)\)s")
_ROW_OF_NAMES: Final = re.compile(
    r" VALUES (\(%\(\w+\)s(?:::\w+)?(?:, %\(\w+\)s(?:::\w+)?)*\))(?= ON CONFLICT| RETURNING|$)"
)
_ROW: Final = re.compile(r" VALUES (\((?:\?|%s(?:::\w+)?)(?:, (?:\?|%s(?:::\w+)?))*\))(?= ON CONFLICT| RETURNING|$)")


def _one_row(sql: str, count: int) -> str | None:
    found = _ROW.search(sql) if sql.startswith("INSERT") else None
    return found.group(1) if found is not None and found.group(1).count(",") + 1 == count else None


def _default(column: Column[Any]) -> object:
    """The value that a column takes when none is given; only plain values are ever declared."""
    default = column.default
    if isinstance(default, ColumnDefault) and default.is_scalar:
        return cast("object", default.arg)
    raise TypeError(f"{column.key} has a default that is no plain value.")
