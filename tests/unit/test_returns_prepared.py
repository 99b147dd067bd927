"""Statements on the driver's own cursor: parameters and rows by name, lists of a few sizes, rows that are deferred."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import psycopg

from returns.ledger import prepared
from returns.ledger.deferring import deferred, deferring
from returns.ledger.prepared import MOST_ROWS, Prepared, listed, names, size_for

metadata = MetaData()
houses = Table("houses", metadata, Column("house", String(20), primary_key=True), Column("open", Boolean, default=True))
rooms = Table(
    "rooms",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("house", String(20), ForeignKey("houses.house"), nullable=False),
    Column("beds", Integer, nullable=False, default=2),
    Column("note", String(20)),
)

ADD_HOUSE = Prepared(insert(houses), ("house",))
ADD_ROOM = Prepared(insert(rooms), ("number", "house"))
ROOM = Prepared(select(rooms).where(rooms.c.number == bindparam("number")))
ROOMS = Prepared(select(rooms.c.number).order_by(rooms.c.number))
BEDS = Prepared(update(rooms).where(rooms.c.number == bindparam("of")), ("beds",))


@pytest.fixture
def db() -> Iterator[Connection]:
    engine = create_engine("sqlite://", connect_args={"isolation_level": None})
    event.listen(engine, "connect", lambda driver, _: driver.execute("PRAGMA foreign_keys=ON"))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    metadata.create_all(engine)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def room(number: int, house: str = "a") -> dict[str, object]:
    return {"number": number, "house": house}


def numbers(db: Connection) -> list[int]:
    return [row["number"] for row in ROOMS.rows(db, {})]


def statements(db: Connection) -> list[str]:
    seen: list[str] = []
    driver = db.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.set_trace_callback(seen.append)
    return seen


def compiled(statement: Prepared, dialect: object) -> prepared._Compiled:
    return prepared._compile(statement._statement, dialect, statement._columns)


class TestParameters:
    def test_rows_by_name_with_the_columns_own_defaults(self, db: Connection) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        assert ADD_ROOM.run(db, room(1)) == 1
        assert ROOM.first(db, {"number": 1}) == {"number": 1, "house": "a", "beds": 2, "note": None}
        assert ROOM.first(db, {"number": 2}) is None

    def test_a_boolean_stays_one(self, db: Connection) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        assert Prepared(select(houses)).only(db, {})["open"] is True
        Prepared(update(houses), ("open",)).run(db, {"open": False})
        assert Prepared(select(houses)).only(db, {})["open"] is False

    def test_a_parameter_that_is_missing(self, db: Connection) -> None:
        with pytest.raises(KeyError, match="house"):
            ADD_ROOM.run(db, {"number": 1})
        with pytest.raises(KeyError, match="number"):
            ROOM.first(db, {})

    def test_the_row_that_has_to_be_there(self, db: Connection) -> None:
        with pytest.raises(LookupError):
            ROOM.only(db, {"number": 1})

    def test_how_many_rows_were_changed(self, db: Connection) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        ADD_ROOM.run(db, room(1))
        assert BEDS.run(db, {"of": 1, "beds": 3}) == 1
        assert BEDS.run(db, {"of": 2, "beds": 3}) == 0

    def test_a_condition_may_take_one_name_twice(self, db: Connection) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        ADD_ROOM.run_many(db, [room(1), room(2), room(3)])
        between = select(rooms.c.number).where(rooms.c.number > bindparam("n"), rooms.c.number < bindparam("n") + 2)
        assert Prepared(between).rows(db, {"n": 1}) == [{"number": 2}]

    def test_returning(self, db: Connection) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        add = Prepared(insert(rooms).returning(rooms.c.number, rooms.c.beds), ("house",))
        assert add.only(db, {"house": "a"}) == {"number": 1, "beds": 2}

    def test_a_list_of_any_length_is_refused(self, db: Connection) -> None:
        with pytest.raises(ValueError, match="fixed number"):
            Prepared(select(rooms).where(rooms.c.number.in_([1, 2]))).rows(db, {})

    def test_a_default_that_is_computed_is_refused(self, db: Connection) -> None:
        made = Table("made", MetaData(), Column("x", Integer), Column("y", Integer, default=lambda: 1))
        with pytest.raises(TypeError, match="y has a default"):
            Prepared(insert(made), ("x",)).run(db, {"x": 1})


class TestDialects:
    def test_sqlite_takes_parameters_by_position(self) -> None:
        found = compiled(ADD_ROOM, sqlite.dialect())
        assert found.sql == "INSERT INTO rooms (number, house, beds) VALUES (?, ?, ?)"
        assert found.arguments(room(1)) == [1, "a", 2]
        assert found.one_row == "(?, ?, ?)"

    def test_postgresql_takes_the_rows_of_an_insert_by_position(self) -> None:
        found = compiled(ADD_ROOM, psycopg.dialect())
        assert found.one_row == "(%s::INTEGER, %s::VARCHAR, %s::INTEGER)"
        assert found.sql.startswith("INSERT INTO rooms (number, house, beds) ")
        assert found.sql.endswith(f" VALUES {found.one_row}")
        assert found.arguments(room(1)) == [1, "a", 2]

    def test_postgresql_takes_what_conflicts_and_what_is_given_back(self) -> None:
        new_only = Prepared(postgresql.insert(rooms).on_conflict_do_nothing(), ("number", "house"))
        found = compiled(new_only, psycopg.dialect())
        assert found.one_row == "(%s::INTEGER, %s::VARCHAR, %s::INTEGER)"
        assert found.sql.endswith(f"VALUES {found.one_row} ON CONFLICT DO NOTHING")
        given_back = compiled(Prepared(insert(rooms).returning(rooms.c.number), ("house",)), psycopg.dialect())
        assert given_back.one_row == "(%s::VARCHAR, %s::INTEGER)"
        assert given_back.columns == ("number",)

    def test_postgresql_takes_all_else_by_name(self) -> None:
        found = compiled(BEDS, psycopg.dialect())
        assert found.sql == "UPDATE rooms SET beds=%(beds)s::INTEGER WHERE rooms.number = %(of)s::INTEGER"
        assert found.arguments({"beds": 1, "of": 2, "other": 3}) == {"beds": 1, "of": 2}
        with pytest.raises(KeyError, match="of"):
            found.arguments({"beds": 1})

    def test_a_percent_sign_stays_one(self) -> None:
        odd = Prepared(select(rooms.c.number).where(rooms.c.number % 2 == bindparam("rest")))
        assert "%% " in compiled(odd, psycopg.dialect()).sql

    def test_a_lock_is_taken_where_there_are_locks(self) -> None:
        locked = Prepared(select(rooms.c.number).with_for_update())
        assert compiled(locked, postgresql.dialect()).sql.endswith("FOR UPDATE")
        assert "FOR UPDATE" not in compiled(locked, sqlite.dialect()).sql

    def test_an_insert_that_computes_a_value_is_written_row_by_row(self) -> None:
        computed = Prepared(insert(rooms).values(house=func.lower(bindparam("name"))), ("number",))
        assert compiled(computed, sqlite.dialect()).one_row is None
        assert compiled(computed, psycopg.dialect()).one_row is None
        by_name = compiled(computed, psycopg.dialect())
        assert by_name.order is None
        assert by_name.arguments({"number": 1, "name": "A"}) == {"number": 1, "name": "A", "beds": 2}


class TestLists:
    @given(st.integers(0, 300))
    def test_few_sizes_each_large_enough(self, count: int) -> None:
        size = size_for(count)
        assert size >= count
        assert size == 0 or (size >= 4 and size & (size - 1) == 0 and size < max(5, 2 * count))

    @given(st.lists(st.integers(), max_size=40))
    def test_the_last_value_fills_up(self, values: list[int]) -> None:
        given_ = listed("n", values)
        assert list(given_)[: len(values)] == [f"n_{number}" for number in range(len(values))]
        assert len(given_) == size_for(len(values))
        assert set(given_.values()) == set(values)

    def test_a_query(self, db: Connection) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        ADD_ROOM.run_many(db, [room(number) for number in range(9)])
        query = select(rooms.c.number).where(rooms.c.number.in_(names("n", size_for(5)))).order_by(rooms.c.number)
        assert [row["number"] for row in Prepared(query).rows(db, listed("n", [7, 1, 3, 99, 5]))] == [1, 3, 5, 7]


class TestManyRows:
    @pytest.mark.parametrize("count", [1, 2, 3, 7, MOST_ROWS, MOST_ROWS + 1, 3 * MOST_ROWS + 5])
    def test_all_are_written_in_their_order_with_few_statements(self, db: Connection, count: int) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        seen = statements(db)
        assert ADD_ROOM.run_many(db, [room(number) for number in range(count)]) == count
        assert len(seen) <= count // MOST_ROWS + MOST_ROWS.bit_length()
        assert numbers(db) == list(range(count))

    def test_those_that_are_there_are_not_counted(self, db: Connection) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        ADD_ROOM.run(db, room(2))
        new_only = Prepared(sqlite.insert(rooms).on_conflict_do_nothing(), ("number", "house"))
        assert new_only.run_many(db, [room(number) for number in (1, 2, 3, 3)]) == 2


class TestDeferring:
    def test_outside_of_a_block_a_row_is_written_at_once(self, db: Connection) -> None:
        seen = statements(db)
        ADD_HOUSE.defer(db, {"house": "a"})
        assert len(seen) == 1

    def test_rows_are_written_at_the_end_of_the_block(self, db: Connection) -> None:
        seen = statements(db)
        with deferring(db):
            ADD_HOUSE.defer(db, {"house": "a"})
            for number in range(8):
                ADD_ROOM.defer(db, room(number))
            assert seen == []
        assert len(seen) == 2
        assert deferred(db) is None
        assert numbers(db) == list(range(8))

    def test_what_is_referred_to_is_written_first(self, db: Connection) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        with deferring(db):
            ADD_ROOM.defer(db, room(1, "a"))
            ADD_HOUSE.defer(db, {"house": "b"})
            ADD_ROOM.defer(db, room(2, "b"))
        assert numbers(db) == [1, 2]

    def test_any_statement_sees_what_was_deferred(self, db: Connection) -> None:
        with deferring(db):
            ADD_HOUSE.defer(db, {"house": "a"})
            assert ADD_HOUSE.run(db, {"house": "b"}) == 1
            ADD_ROOM.defer(db, room(1))
            assert numbers(db) == [1]
            ADD_ROOM.defer(db, room(2))
            assert db.execute(select(func.count()).select_from(rooms)).scalar() == 2
            ADD_ROOM.defer(db, room(3))
            assert db.exec_driver_sql("SELECT count(*) FROM rooms").scalar() == 3
            ADD_ROOM.defer(db, room(4))
            assert BEDS.run(db, {"of": 4, "beds": 9}) == 1
            ADD_ROOM.defer(db, room(5))
            assert db.execute(text("DELETE FROM rooms")).rowcount == 5

    def test_a_savepoint_keeps_what_was_deferred_before_it(self, db: Connection) -> None:
        with deferring(db):
            ADD_HOUSE.defer(db, {"house": "a"})
            ADD_ROOM.defer(db, room(1))
            savepoint = db.begin_nested()
            ADD_ROOM.defer(db, room(2))
            assert numbers(db) == [1, 2]
            savepoint.rollback()
        assert numbers(db) == [1]

    def test_a_savepoint_that_ends_holds_what_was_deferred_in_it(self, db: Connection) -> None:
        ADD_HOUSE.run(db, {"house": "a"})
        with deferring(db):
            with db.begin_nested():
                ADD_ROOM.defer(db, room(1))
            ADD_ROOM.defer(db, room(2))
        assert numbers(db) == [1, 2]

    def test_an_error_drops_what_waits(self, db: Connection) -> None:
        def fail() -> None:
            with deferring(db):
                ADD_HOUSE.defer(db, {"house": "a"})
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert deferred(db) is None
        assert db.execute(select(houses)).all() == []

    def test_a_row_that_cannot_be_written_raises_at_the_end(self, db: Connection) -> None:
        reached: list[bool] = []

        def fail() -> None:
            with deferring(db):
                ADD_ROOM.defer(db, room(1, "nowhere"))
                reached.append(True)

        with pytest.raises(sqlite3.IntegrityError):
            fail()
        assert reached
        assert deferred(db) is None

    def test_a_block_inside_another_belongs_to_it(self, db: Connection) -> None:
        seen = statements(db)
        with deferring(db) as outer:
            with deferring(db) as inner:
                assert inner is outer
                ADD_HOUSE.defer(db, {"house": "a"})
            assert seen == []
        assert len(seen) == 1

    def test_it_counts_what_else_was_written(self, db: Connection) -> None:
        with deferring(db) as waiting:
            ADD_HOUSE.defer(db, {"house": "a"})
            numbers(db)
            db.execute(select(houses))
            assert waiting.changes == 0
            ADD_ROOM.run(db, room(1))
            db.execute(update(rooms).values(beds=4))
            Prepared(insert(rooms).returning(rooms.c.number), ("house",)).only(db, {"house": "a"})
            assert waiting.changes == 3
