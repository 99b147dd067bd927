"""The transaction port over both databases: what every caller is promised."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, insert, select
from sqlalchemy.exc import IntegrityError, OperationalError

from providers.storage.migrate import sqlite_url
from providers.storage.postgresql import PostgresTransactions
from providers.storage.postgresql_workers import MOST_WRITING
from providers.storage.sqlite import SqliteTransactions
from returns.ledger.wakeups import announce
from returns.ports import StorageUnavailable, Together, Transactions
from tests.support.databases import KINDS, opened
from tests.support.postgresql import Server

notes = Table("notes", MetaData(), Column("id", Integer, primary_key=True), Column("text", String(40), nullable=False))


class Boom(Exception):
    """What a closure of these tests raises."""


@dataclass(frozen=True)
class Store:
    """A database with the tables of these tests."""

    kind: str
    url: str

    def open(self) -> AbstractAsyncContextManager[SqliteTransactions | PostgresTransactions]:
        return opened(self.url)

    def kept(self) -> list[int]:
        """What another process would see."""
        if self.kind == "postgresql":
            with psycopg.connect(self.url) as connection:
                return [row[0] for row in connection.execute("SELECT id FROM notes ORDER BY id")]
        connection = sqlite3.connect(self.url.removeprefix("sqlite:///"))
        found = [row[0] for row in connection.execute("SELECT id FROM notes ORDER BY id")]
        connection.close()
        return found


TABLES = (
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, text VARCHAR(40) NOT NULL)",
    "CREATE TABLE children (id INTEGER PRIMARY KEY REFERENCES notes (id))",
)


def sqlite_store(folder: Path) -> Store:
    path = folder / "x.db"
    connection = sqlite3.connect(path)
    for table in TABLES:
        connection.execute(table)
    connection.close()
    return Store("sqlite", sqlite_url(path))


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        yield sqlite_store(tmp_path)
        return
    server: Server = request.getfixturevalue("postgresql_server")
    with server.kept("notes", *TABLES) as url:
        yield Store("postgresql", url)


@pytest.fixture
def file(tmp_path: Path) -> Store:
    """For what only an SQLite file has."""
    return sqlite_store(tmp_path)


def add(number: int, text: str = "x") -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        connection.execute(insert(notes).values(id=number, text=text))
        return number

    return work


def fail_after(number: int) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        add(number)(connection)
        raise Boom(number)

    return work


def ids(connection: Connection) -> list[int]:
    return list(connection.execute(select(notes.c.id).order_by(notes.c.id)).scalars())


async def test_it_is_the_port(store: Store) -> None:
    async with store.open() as opened:
        port: Transactions = opened
        assert await port.run(add(1)) == 1


async def test_a_result_means_that_it_is_on_disk(store: Store) -> None:
    async with store.open() as transactions:
        for number in range(5):
            assert await transactions.run(add(number)) == number
            assert store.kept()[-1] == number


async def test_a_reader_sees_what_was_committed_before(store: Store) -> None:
    async with store.open() as transactions:
        for number in range(50):
            await transactions.run(add(number))
            assert len(await transactions.read(ids)) == number + 1


async def test_the_settings_that_durability_of_a_file_rests_on(file: Store) -> None:
    def settings(connection: Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "query_only")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in names]

    async with file.open() as transactions:
        assert await transactions.run(settings) == ["wal", 2, 1, 2000, 0]
        assert await transactions.read(settings) == ["wal", 2, 1, 2000, 1]


async def test_foreign_keys_are_checked(store: Store) -> None:
    async with store.open() as transactions:
        with pytest.raises(IntegrityError):
            await transactions.run(lambda c: c.exec_driver_sql("INSERT INTO children VALUES (7)"))


HELD_S = 30


async def hold(transactions: Transactions) -> tuple[threading.Event, asyncio.Future[list[None]]]:
    """Keep all that write busy, so that what is submitted next waits."""
    release, loop = threading.Event(), asyncio.get_running_loop()
    threads = MOST_WRITING if isinstance(transactions, PostgresTransactions) else 1
    begun = [asyncio.Event() for _ in range(threads)]

    def work(each: asyncio.Event) -> None:
        loop.call_soon_threadsafe(each.set)
        release.wait(HELD_S)

    tasks = asyncio.gather(*(transactions.run(lambda _, each=each: work(each)) for each in begun))
    for each in begun:
        await each.wait()
    return release, tasks


async def test_in_a_file_waiting_closures_share_a_commit(file: Store) -> None:
    commits: list[int] = []

    def work(number: int) -> Callable[[Connection], None]:
        def inner(connection: Connection) -> None:
            add(number)(connection)
            commits.append(id(connection.get_transaction()))

        return inner

    async with file.open() as transactions:
        release, held = await hold(transactions)
        waiting = [asyncio.ensure_future(transactions.run(work(number))) for number in range(20)]
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(held, *waiting)
    assert len(commits) == 20
    assert len(set(commits)) == 1
    assert file.kept() == list(range(20))


async def test_one_that_raises_in_a_batch_undoes_only_itself(store: Store) -> None:
    async with store.open() as transactions:
        release, held = await hold(transactions)
        works = [fail_after(number) if number % 3 == 0 else add(number) for number in range(10)]
        waiting = [asyncio.ensure_future(transactions.run(work)) for work in works]
        await asyncio.sleep(0)
        release.set()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        await held
    assert [type(r) if isinstance(r, Exception) else r for r in results] == [
        Boom if number % 3 == 0 else number for number in range(10)
    ]
    assert store.kept() == [1, 2, 4, 5, 7, 8]


async def test_two_in_a_batch_that_clash_are_told_apart(store: Store) -> None:
    async with store.open() as transactions:
        release, held = await hold(transactions)
        waiting = [asyncio.ensure_future(transactions.run(add(1, text))) for text in ("first", "second")]
        await asyncio.sleep(0)
        release.set()
        outcomes = dict(zip(("first", "second"), await asyncio.gather(*waiting, return_exceptions=True), strict=True))
        await held
        (kept,) = await transactions.read(lambda c: c.execute(select(notes.c.text)).scalars().all())
        assert outcomes.pop(kept) == 1
        assert [type(outcome) for outcome in outcomes.values()] == [IntegrityError]


async def test_one_that_raises_alone_keeps_nothing_and_the_next_goes_on(store: Store) -> None:
    async with store.open() as transactions:
        with pytest.raises(Boom):
            await transactions.run(fail_after(1))
        await transactions.run(add(2))
    assert store.kept() == [2]


async def test_a_savepoint_inside_a_closure(store: Store) -> None:
    def work(connection: Connection) -> list[int]:
        add(1)(connection)
        try:
            with connection.begin_nested():
                add(2)(connection)
                add(1)(connection)
        except IntegrityError:
            pass
        add(3)(connection)
        return ids(connection)

    async with store.open() as transactions:
        assert await transactions.run(work) == [1, 3]
    assert store.kept() == [1, 3]


async def test_what_a_thread_cannot_carry_reaches_the_caller(store: Store) -> None:
    def stop(_connection: Connection) -> None:
        raise StopIteration

    def leave(_connection: Connection) -> None:
        raise SystemExit(3)

    async with store.open() as transactions:
        with pytest.raises(RuntimeError, match="StopIteration"):
            await transactions.run(stop)
        caught: list[BaseException] = []
        try:
            await transactions.run(leave)
        except SystemExit as error:
            caught.append(error)
        assert len(caught) == 1
        assert await transactions.run(add(1)) == 1


async def test_a_closure_that_ends_the_transaction_itself_writes_nothing_outside_one(store: Store) -> None:
    def work(connection: Connection) -> None:
        add(1)(connection)
        connection.exec_driver_sql("ROLLBACK")

    async with store.open() as transactions:
        with pytest.raises(StorageUnavailable, match="in the middle"):
            await transactions.run(work)
        assert await transactions.run(add(2)) == 2
    assert store.kept() == [2]


async def test_a_reader_cannot_write(store: Store) -> None:
    async with store.open() as transactions:
        with pytest.raises((OperationalError, StorageUnavailable)):
            await transactions.read(add(1))
        assert await transactions.read(ids) == []


async def test_a_reader_sees_one_state_while_others_write(store: Store) -> None:
    loop = asyncio.get_running_loop()
    begun, release = asyncio.Event(), threading.Event()

    def twice(connection: Connection) -> tuple[list[int], list[int]]:
        first = ids(connection)
        loop.call_soon_threadsafe(begun.set)
        release.wait()
        return first, ids(connection)

    async with store.open() as transactions:
        reading = asyncio.ensure_future(transactions.read(twice))
        await begun.wait()
        await transactions.run(add(1))
        release.set()
        assert await reading == ([], [])
        assert await transactions.read(ids) == [1]


async def test_an_error_does_not_tell_what_was_written(store: Store) -> None:
    async with store.open() as transactions:
        with pytest.raises(IntegrityError) as caught:
            await transactions.run(lambda c: (add(77123)(c), add(77123, "private words")(c)))
    assert "private words" not in str(caught.value)
    assert "77123" not in str(caught.value)


async def test_an_error_of_a_reader_is_the_closures_own(store: Store) -> None:
    def work(_connection: Connection) -> None:
        raise Boom

    async with store.open() as transactions:
        with pytest.raises(Boom):
            await transactions.read(work)


async def test_the_event_loop_goes_on_while_the_database_works(store: Store) -> None:
    async with store.open() as transactions:
        release, held = await hold(transactions)  # returns although the writer is stuck
        assert await transactions.read(ids) == []  # and so do readers
        release.set()
        await held


async def test_a_cancelled_waiter_before_the_start_means_not_done(store: Store) -> None:
    async with store.open() as transactions:
        release, held = await hold(transactions)
        waiting = asyncio.ensure_future(transactions.run(add(1)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        release.set()
        await held
    assert store.kept() == []


async def test_a_cancelled_waiter_after_the_start_means_done_in_full(store: Store) -> None:
    loop = asyncio.get_running_loop()
    begun, release = asyncio.Event(), threading.Event()

    def work(connection: Connection) -> None:
        loop.call_soon_threadsafe(begun.set)
        release.wait()
        add(1)(connection)

    async with store.open() as transactions:
        waiting = asyncio.ensure_future(transactions.run(work))
        await begun.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        release.set()
    assert store.kept() == [1]


async def test_leaving_finishes_what_was_submitted_and_ends_the_threads(store: Store) -> None:
    before = {thread.name for thread in threading.enumerate() if thread.name.startswith("storage-")}
    async with store.open() as transactions:
        release, held = await hold(transactions)
        waiting = [asyncio.ensure_future(transactions.run(add(number))) for number in range(600)]
        await asyncio.sleep(0)
        release.set()
    assert [await task for task in waiting] == list(range(600))
    await held
    after = {thread.name for thread in threading.enumerate() if thread.name.startswith("storage-")}
    assert after == before == set()
    with pytest.raises(StorageUnavailable, match="closed"):
        await transactions.run(add(9999))


async def test_too_many_waiting_are_refused_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async with store.open() as transactions:
        release, held = await hold(transactions)
        monkeypatch.setattr("providers.storage.loop_side.WAITING", 3)
        waiting = [asyncio.ensure_future(transactions.run(add(number))) for number in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(StorageUnavailable, match="too many"):
            await transactions.run(add(4))
        release.set()
        await asyncio.gather(held, *waiting)


def ring(connection: Connection) -> None:
    announce(connection, "returns")


async def test_a_commit_rings_its_topic_and_no_other(store: Store) -> None:
    async with store.open() as transactions:
        returns, turns = transactions.subscribe("returns"), transactions.subscribe("turns")
        another = transactions.subscribe("returns")
        waiting = asyncio.ensure_future(returns.wait(None))
        await transactions.run(ring)
        assert await waiting is True
        assert await another.wait(0) is True
        assert await another.wait(0) is False
        assert await turns.wait(0) is False


async def test_a_ring_before_the_wait_is_kept_once(store: Store) -> None:
    async with store.open() as transactions:
        bell = transactions.subscribe("returns")
        await transactions.run(ring)
        await transactions.run(ring)
        assert await bell.wait(None) is True
        assert await bell.wait(0.01) is False
        bell.ring()
        assert await bell.wait(None) is True


async def test_what_was_announced_is_committed_when_it_rings(store: Store) -> None:
    def work(connection: Connection) -> None:
        add(1)(connection)
        ring(connection)

    async with store.open() as transactions:
        bell = transactions.subscribe("returns")
        task = asyncio.ensure_future(transactions.run(work))
        await bell.wait(None)
        assert store.kept() == [1]
        await task


async def test_a_bell_that_nobody_holds_is_forgotten(store: Store) -> None:
    async with store.open() as transactions:
        bells = [transactions.subscribe("requests") for _ in range(5)]
        assert len(transactions.bells._by_topic["requests"]) == 5
        del bells
        gc.collect()
        assert len(transactions.bells._by_topic["requests"]) == 0


async def test_opening_where_it_cannot_be_opened_is_said_and_leaves_no_thread(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="No such file or directory"):
        async with SqliteTransactions(tmp_path / "no" / "x.db"):
            pass
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("storage-")]


async def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"no database at all" * 500)
    with pytest.raises(StorageUnavailable, match="not an SQLite database"):
        async with SqliteTransactions(path):
            pass


class Ledger:
    """Adds notes together, and remembers which came together."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def add_all(self, connection: Connection, numbers: Sequence[int]) -> list[int]:
        self.calls.append(list(numbers))
        for number in numbers:
            add(number)(connection)
            if number < 0:
                raise Boom(number)
        return [number * 10 for number in numbers]


async def test_closures_of_one_kind_that_wait_are_performed_in_one_go(store: Store) -> None:
    ledger, other = Ledger(), Ledger()
    async with store.open() as transactions:
        release, held = await hold(transactions)
        one = [asyncio.ensure_future(transactions.run(Together(number, ledger.add_all))) for number in (1, 2)]
        apart = asyncio.ensure_future(transactions.run(add(9)))
        one.append(asyncio.ensure_future(transactions.run(Together(3, ledger.add_all))))
        two = asyncio.ensure_future(transactions.run(Together(4, other.add_all)))
        await asyncio.sleep(0)
        release.set()
        assert await asyncio.gather(*one, apart, two) == [10, 20, 30, 9, 40]
        await held
    assert ledger.calls == [[1, 2, 3]]
    assert other.calls == [[4]]
    assert store.kept() == [1, 2, 3, 4, 9]


async def test_one_that_raises_among_them_is_alone_in_it(store: Store) -> None:
    ledger = Ledger()
    async with store.open() as transactions:
        release, held = await hold(transactions)
        waiting = [asyncio.ensure_future(transactions.run(Together(n, ledger.add_all))) for n in (1, -2, 3)]
        await asyncio.sleep(0)
        release.set()
        first, second, third = await asyncio.gather(*waiting, return_exceptions=True)
        await held
    assert (first, third) == (10, 30)
    assert isinstance(second, Boom)
    assert ledger.calls == [[1, -2, 3], [1], [-2], [3]]
    assert store.kept() == [1, 3]


async def test_a_result_too_few_is_a_fault_of_all_of_them(store: Store) -> None:
    def lose(connection: Connection, numbers: Sequence[int]) -> list[int]:
        return [add(number)(connection) for number in numbers][:1]

    async with store.open() as transactions:
        release, held = await hold(transactions)
        waiting = [asyncio.ensure_future(transactions.run(Together(n, lose))) for n in (1, 2)]
        await asyncio.sleep(0)
        release.set()
        assert await asyncio.gather(*waiting) == [1, 2]  # each alone, after nothing of both was kept
        await held
    assert store.kept() == [1, 2]


async def test_what_can_go_together_can_go_alone_and_read(store: Store) -> None:
    async with store.open() as transactions:
        assert await transactions.run(Together(5, Ledger().add_all)) == 50
        assert await transactions.read(Together(5, lambda c, _items: [ids(c)])) == [5]
