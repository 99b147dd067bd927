"""PostgreSQL that goes away, hangs or loses an answer: nobody waits long, and nobody is told what is not so."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from sqlalchemy import Connection, text

from providers.storage.postgresql import PostgresTransactions
from providers.storage.sync import open_database
from returns.ledger.deferring import deferring
from returns.ledger.wakeups import announce
from returns.ports import CommitUnknown, StorageUnavailable
from tests.support.databases import PATIENCE_S
from tests.support.postgresql import PASSWORD, Server, start
from tests.support.postgresql_proxy import Cut, Proxy, proxied

ROOT = Path(__file__).parents[2]
NOTES = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text VARCHAR(40) NOT NULL)"
INSERT = text("INSERT INTO notes (id, text) VALUES (:id, 'x')")
SHORT_S = 0.5
COMMIT_S = 3.0
"""Enough to come as far as COMMIT on a busy machine."""


@pytest.fixture
def url(postgresql_server: Server) -> Iterator[str]:
    with postgresql_server.kept("failing", NOTES) as url:
        yield url


@pytest.fixture
async def proxy(url: str) -> AsyncIterator[Proxy]:
    async with proxied(url) as proxy:
        yield proxy


def port(url: str, patience_s: float = PATIENCE_S) -> PostgresTransactions:
    return PostgresTransactions(url, patience_s=patience_s)


def hurry(transactions: PostgresTransactions, patience_s: float = SHORT_S) -> None:
    """From now on its callers wait no longer than this for a server that says nothing."""
    transactions._patience_s = transactions._workers._patience_s = patience_s


async def soon(transactions: PostgresTransactions, number: int) -> int:
    """Add a row as soon as the database is there again."""
    hurry(transactions, PATIENCE_S)
    while True:
        try:
            return await transactions.run(add(number))
        except StorageUnavailable:
            await asyncio.sleep(0.01)


def add(number: int) -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        connection.execute(INSERT, {"id": number})
        announce(connection, "returns")
        return number

    return work


def kept(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM notes ORDER BY id")]


class TestLostCommit:
    """The answer to COMMIT does not come: what became of the transaction is looked up."""

    async def test_the_server_never_got_it_and_it_is_done_again(self, url: str, proxy: Proxy) -> None:
        async with port(proxy.url) as transactions:
            proxy.cut_next_commit = "before"
            assert await transactions.run(add(1)) == 1
        assert (kept(url), proxy.cuts) == ([1], 1)

    @pytest.mark.parametrize("cut", ["after", "meanwhile"])
    async def test_the_server_committed_and_the_result_is_given(self, url: str, proxy: Proxy, cut: Cut) -> None:
        async with port(proxy.url) as transactions:
            calls: list[int] = []
            bell = transactions.subscribe("returns")
            proxy.cut_next_commit = cut
            assert await transactions.run(lambda c: (calls.append(1), add(1)(c))[1]) == 1
            assert await bell.wait(None) is True
        assert kept(url) == [1]
        if cut == "after":
            assert calls == [1]

    async def test_one_still_under_way_is_waited_for_and_not_ended(
        self, postgresql_server: Server, proxy: Proxy
    ) -> None:
        with postgresql_server.fresh() as slow:
            with psycopg.connect(slow) as connection:
                connection.execute(NOTES)
                connection.execute(
                    "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS "
                    "'BEGIN PERFORM pg_sleep(0.4); RETURN NULL; END'"
                )
                connection.execute(
                    "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED "
                    "FOR EACH ROW EXECUTE FUNCTION wait()"
                )
            async with proxied(slow) as way, port(way.url) as transactions:
                calls: list[int] = []
                way.cut_next_commit = "meanwhile"
                assert await transactions.run(lambda c: (calls.append(1), add(1)(c))[1]) == 1
            assert kept(slow) == [1]
            assert calls == [1]

    @pytest.mark.parametrize(("cut", "left"), [("before", []), ("after", [1])])
    async def test_what_cannot_be_looked_up_is_said_to_be_unknown(
        self, url: str, proxy: Proxy, cut: Cut, left: list[int]
    ) -> None:
        async with port(proxy.url) as transactions:
            hurry(transactions, COMMIT_S)
            proxy.cut_next_commit, proxy.refuses_after_cut = cut, True
            with pytest.raises(CommitUnknown):
                await transactions.run(add(1))
        assert kept(url) == left

    async def test_a_closure_that_wrote_nothing_has_nothing_to_lose(self, proxy: Proxy) -> None:
        async with port(proxy.url) as transactions:
            proxy.cut_next_commit, proxy.refuses_after_cut = "before", True
            assert await transactions.run(lambda c: c.execute(text("SELECT 7")).scalar()) == 7

    async def test_a_command_is_told_the_truth_too(self, postgresql_server: Server) -> None:
        with postgresql_server.migrated() as url:
            async with proxied(url) as way:

                def command() -> int:
                    with open_database(way.url) as transactions:
                        way.cut_next_commit = "after"
                        return transactions.run(
                            lambda c: c.execute(text("INSERT INTO told_once VALUES ('a', 'b', 'c', 1)")).rowcount
                        )

                assert await asyncio.to_thread(command) == 1
                assert way.cuts == 1


class TestGone:
    """No database: everybody is told in time."""

    async def test_a_connection_that_the_server_ended_is_replaced(self, postgresql_server: Server, url: str) -> None:
        async with port(url) as transactions:
            await transactions.run(add(1))
            postgresql_server.disconnect("failing")
            assert await transactions.run(add(2)) == 2
            postgresql_server.disconnect("failing")
            assert await transactions.read(lambda c: c.execute(text("SELECT count(*) FROM notes")).scalar()) == 2

    async def test_a_way_that_is_cut_in_the_middle_of_a_closure(self, url: str, proxy: Proxy) -> None:
        async with port(proxy.url) as transactions:
            calls: list[int] = []

            def work(connection: Connection) -> None:
                add(1)(connection)
                calls.append(1)
                if len(calls) == 1:
                    loop.call_soon_threadsafe(proxy.cut_all)
                    connection.execute(text("SELECT pg_sleep(5)"))

            loop = asyncio.get_running_loop()
            await transactions.run(work)
        assert (kept(url), calls) == ([1], [1, 1])

    async def test_a_server_that_refuses(self, proxy: Proxy) -> None:
        async with port(proxy.url) as transactions:
            proxy.refuses = True
            proxy.cut_all()
            for call in (transactions.run(add(1)), transactions.read(add(1))):
                with pytest.raises(StorageUnavailable):
                    await call
            proxy.refuses = False
            assert await soon(transactions, 1) == 1

    async def test_packets_that_vanish(self, url: str, proxy: Proxy) -> None:
        async with port(proxy.url) as transactions:
            await transactions.run(add(1))
            hurry(transactions)
            proxy.silent = True
            calls = [transactions.run(add(number)) for number in range(2, 40)]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(outcome) for outcome in outcomes} == {StorageUnavailable}
            proxy.silent = False
            proxy.cut_all()
            assert await soon(transactions, 99) == 99
        assert kept(url) == [1, 99]

    async def test_a_server_that_hangs_and_goes_on_keeps_nothing_of_what_was_refused(self) -> None:
        server = await asyncio.to_thread(start)
        try:
            with server.kept("hanging", NOTES) as url:
                async with port(url) as transactions:
                    await asyncio.gather(*(transactions.run(add(number)) for number in range(5)))
                    hurry(transactions)
                    server.pause()
                    calls = [transactions.run(add(number)) for number in range(10, 60)]
                    outcomes = await asyncio.gather(*calls, return_exceptions=True)
                    assert {type(outcome) for outcome in outcomes} == {StorageUnavailable}
                    with pytest.raises(StorageUnavailable):
                        await transactions.read(lambda c: c.execute(text("SELECT 1")).scalar())
                    server.resume()
                    assert await soon(transactions, 99) == 99
                assert kept(url) == [0, 1, 2, 3, 4, 99]
        finally:
            await asyncio.to_thread(server.close)

    async def test_a_caller_that_was_refused_while_its_closure_ran(self, url: str) -> None:
        """It was told that nothing is kept, so nothing is."""
        release = threading.Event()

        def work(connection: Connection) -> None:
            add(1)(connection)
            release.wait(30)

        async with port(url) as transactions:
            hurry(transactions)
            with pytest.raises(StorageUnavailable):
                await transactions.run(work)
            release.set()
        assert kept(url) == []


class TestTogether:
    """Several at once, here and elsewhere."""

    async def test_a_deadlock_is_run_again(self, url: str) -> None:
        async with port(url) as transactions:
            await asyncio.gather(*(transactions.run(add(number)) for number in (1, 2)))
            both, through, calls = threading.Barrier(2), threading.Event(), []

            def work(first: int, second: int) -> Callable[[Connection], None]:
                def inner(connection: Connection) -> None:
                    calls.append(first)
                    if len(calls) > 2:  # or both might meet again
                        through.wait(30)
                    connection.execute(text("SET LOCAL deadlock_timeout = '20ms'"))
                    connection.execute(text("UPDATE notes SET text = text WHERE id = :id"), {"id": first})
                    if len(calls) <= 2:
                        both.wait(30)
                    connection.execute(text("UPDATE notes SET text = text WHERE id = :id"), {"id": second})
                    through.set()

                return inner

            await asyncio.gather(transactions.run(work(1, 2)), transactions.run(work(2, 1)))
            assert sorted(calls) in ([1, 1, 2], [1, 2, 2])

    async def test_a_key_that_was_taken_after_the_look_is_found_the_second_time(self, url: str) -> None:
        looked: list[bool] = []

        def work(connection: Connection) -> str:
            found = connection.execute(text("SELECT 1 FROM notes WHERE id = 1")).first() is not None
            looked.append(found)
            if found:
                return "found"
            with psycopg.connect(url) as other:
                other.execute("INSERT INTO notes VALUES (1, 'other')")
            add(1)(connection)
            return "made"

        async with port(url) as transactions:
            assert await transactions.run(work) == "found"
        assert looked == [False, True]

    async def test_a_commit_elsewhere_rings_here(self, url: str) -> None:
        async with port(url) as here, port(url) as there:
            bell, other, own = here.subscribe("returns"), here.subscribe("turns"), there.subscribe("returns")
            await there.run(add(1))
            assert await bell.wait(30) is True
            assert await own.wait(30) is True
            await here.run(add(2))  # after it, what came before was heard
            assert await own.wait(30) is True
            assert await own.wait(0) is False
            assert await other.wait(0) is False

    async def test_a_command_rings_the_gateways(self, postgresql_server: Server) -> None:
        with postgresql_server.migrated() as url:
            async with port(url) as here:
                bell = here.subscribe("requests")

                def command() -> None:
                    with open_database(url) as transactions:
                        transactions.run(lambda c: announce(c, "requests"))

                await asyncio.to_thread(command)
                assert await bell.wait(30) is True

    async def test_what_was_not_heard_rings_when_it_listens_again(self, url: str, proxy: Proxy) -> None:
        async with port(proxy.url) as here, port(url) as there:
            bell = here.subscribe("returns")
            proxy.refuses = True
            proxy.cut_all()
            await there.run(add(1))
            assert await bell.wait(0.05) is False
            proxy.refuses = False
            assert await bell.wait(30) is True

    async def test_locks_do_not_outlive_their_holders(self, url: str) -> None:
        names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")

        def settings(connection: Connection) -> list[str]:
            return [connection.execute(text(f"SHOW {name}")).scalar_one() for name in names]

        async with port(url) as transactions:
            assert await transactions.run(settings) == ["1500ms", "15s", "10s"]

    async def test_done_means_durable_whatever_the_server_s_default_is(self, url: str) -> None:
        async with port(url) as transactions:  # the tests' server has it off
            shown = await transactions.run(lambda c: c.execute(text("SHOW synchronous_commit")).scalar_one())
        assert shown == "on"


class TestServer:
    """The tests' own server."""

    PROGRAM = (
        "import sys; from tests.support.postgresql import start; server = start(); "
        "print(server.pid, server.folder, flush=True); sys.stdin.read()"
    )

    def test_it_ends_with_a_test_process_that_is_killed_and_leaves_nothing(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        server = psutil.Process(int(pid))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        psutil.wait_procs([server], timeout=30)
        assert not psutil.pid_exists(int(pid))
        while Path(folder).exists():
            time.sleep(0.01)

    def test_it_lets_nobody_in_without_a_password(self, postgresql_server: Server) -> None:
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(postgresql_server.url("postgres", password="wrong"))
        assert PASSWORD not in postgresql_server.url("postgres", password="wrong")


@pytest.mark.parametrize("losses", [1, 9])
@pytest.mark.parametrize("how", ["plain", "deferring", "savepoint"])
async def test_a_connection_that_is_lost_within_a_closure(url: str, how: str, losses: int) -> None:
    """It is done over another one, or the storage is away: whatever the closure was in the middle of."""
    tries: list[str] = []

    def end(connection: Connection) -> None:
        tries.append(how)
        if len(tries) <= losses:
            pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            with psycopg.connect(url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [pid])
        connection.execute(INSERT, {"id": 1})

    def work(connection: Connection) -> None:
        if how == "deferring":
            with deferring(connection):
                end(connection)
        elif how == "savepoint":
            with connection.begin_nested():
                end(connection)
        else:
            end(connection)

    async with port(url) as transactions:
        if losses == 1:
            await transactions.run(work)
            assert kept(url) == [1]
        else:
            with pytest.raises(StorageUnavailable):
                await transactions.run(work)
            assert kept(url) == []
