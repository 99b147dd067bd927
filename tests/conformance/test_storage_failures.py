"""A full disk, a lock, a read-only file, a kill: said to every caller, nothing half kept, and it goes on afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from providers.storage.errors import NoDatabase
from providers.storage.sqlite import SqliteTransactions
from providers.storage.sync import open_sqlite
from returns.ports import StorageUnavailable

ROOT = Path(__file__).parents[2]
INSERT = text("INSERT INTO notes (id, text) VALUES (:id, :text)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text VARCHAR(40) NOT NULL)")
    connection.close()
    return path


def add(number: int, size: int = 1) -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        connection.execute(INSERT, {"id": number, "text": "x" * size})
        return number

    return work


def on_disk(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    found = [row[0] for row in connection.execute("SELECT id FROM notes ORDER BY id")]
    connection.close()
    return found


async def test_a_full_database_fails_the_whole_batch_and_recovers(path: Path) -> None:
    def shrink(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count=1")  # of this connection: it is full as it is

    async with SqliteTransactions(path) as transactions:
        await transactions.run(add(1))
        await transactions.run(shrink)
        results = await asyncio.gather(
            *(transactions.run(add(number, 50_000)) for number in range(2, 6)), return_exceptions=True
        )
        first = results[0]
        assert isinstance(first, StorageUnavailable)
        assert "disk of the database is full" in str(first)
        assert await transactions.run(add(9)) == 9
    kept = [number for number, result in zip(range(2, 6), results, strict=True) if result == number]
    assert on_disk(path) == [1, *kept, 9]


FULL_DISK = """
    import asyncio, resource, sys
    from pathlib import Path
    from sqlalchemy import text
    from providers.storage.sqlite import SqliteTransactions
    from returns.ports import StorageUnavailable

    def add(number, size):
        return lambda c: c.execute(text("INSERT INTO notes VALUES (:i, :t)"), {"i": number, "t": "x" * size})

    async def main():
        async with SqliteTransactions(Path(sys.argv[1])) as transactions:
            await transactions.run(add(1, 10))
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
            both = (transactions.run(add(number, 400_000)) for number in (2, 3))
            outcomes = await asyncio.gather(*both, return_exceptions=True)
            print([type(o).__name__ for o in outcomes])
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            await transactions.run(add(4, 400_000))

    asyncio.run(main())
"""


def program(source: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)]


def test_a_file_that_may_not_grow_is_unavailable_and_recovers(path: Path) -> None:
    ran = subprocess.run(program(FULL_DISK, path), capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == "['StorageUnavailable', 'StorageUnavailable']\n"
    assert on_disk(path) == [1, 4]


async def test_a_lock_that_lasts_is_unavailable_for_all_who_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.storage.connections.SETTINGS", ("PRAGMA busy_timeout=100",))
    async with SqliteTransactions(path) as transactions:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        results = await asyncio.gather(
            *(transactions.run(add(number)) for number in range(1000)), return_exceptions=True
        )
        assert {type(result) for result in results} == {StorageUnavailable}
        assert "locked by another process" in str(results[-1])
        other.execute("ROLLBACK")
        other.close()
        assert await transactions.run(add(1)) == 1
    assert on_disk(path) == [1]


async def test_a_short_lock_is_waited_for(path: Path) -> None:
    async with SqliteTransactions(path) as transactions:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(transactions.run(add(1)))
        assert await transactions.read(lambda c: c.execute(text("SELECT count(*) FROM notes")).scalar()) == 0
        other.execute("COMMIT")
        other.close()
        assert await waiting == 1


@pytest.mark.parametrize("replaced", [True, False])
async def test_a_file_that_was_removed_or_replaced_takes_no_more_rows(path: Path, replaced: bool) -> None:
    async with SqliteTransactions(path) as transactions:
        await transactions.run(add(1))
        path.unlink()
        if replaced:
            path.touch()
        with pytest.raises(StorageUnavailable, match=r"was replaced|No such file"):
            await transactions.run(add(2))
        with pytest.raises(StorageUnavailable, match="no database"):
            await transactions.read(lambda c: c.execute(text("SELECT 1")).scalar())


ACKS = """
    import asyncio, sys
    from pathlib import Path
    from sqlalchemy import text
    from providers.storage.sqlite import SqliteTransactions

    INSERT = text("INSERT INTO notes VALUES (:i, 'x')")

    async def main():
        async with SqliteTransactions(Path(sys.argv[1])) as transactions:
            async def write(start):
                for number in range(start, 10_000_000, 16):
                    await transactions.run(lambda c, n=number: c.execute(INSERT, {"i": n}))
                    sys.stdout.write(f"{number}\\n")
                    sys.stdout.flush()
            async with asyncio.TaskGroup() as group:
                for start in range(16):
                    group.create_task(write(start))

    asyncio.run(main())
"""


@pytest.mark.parametrize("after", [1, 40, 1500])
def test_every_acknowledged_row_survives_a_kill(path: Path, after: int) -> None:
    process = subprocess.Popen(program(ACKS, path), stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(after)]
    os.kill(process.pid, signal.SIGKILL)
    rest = process.stdout.read().splitlines(keepends=True)
    process.stdout.close()
    process.wait()
    acknowledged += [int(line) for line in rest if line.endswith("\n")]
    kept = on_disk(path)
    assert len(acknowledged) >= after
    assert set(acknowledged) <= set(kept)


async def test_two_processes_write_side_by_side(path: Path) -> None:
    source = """
        import sys
        from pathlib import Path
        from sqlalchemy import text
        from providers.storage.sync import open_sqlite
        with open_sqlite(Path(sys.argv[1])) as transactions:
            for number in range(1_000_000, 1_000_060):
                transactions.run(lambda c: c.execute(text("INSERT INTO notes VALUES (:i, 'x')"), {"i": number}))
    """
    async with SqliteTransactions(path) as transactions:
        process = await asyncio.create_subprocess_exec(*program(source, path), cwd=ROOT)
        waiting = asyncio.ensure_future(process.wait())
        number = 0
        while not waiting.done():
            await transactions.run(add(number))
            number += 1
        assert await waiting == 0
        assert number > 0
    assert on_disk(path) == [*range(number), *range(1_000_000, 1_000_060)]


def test_a_command_reads_and_writes(path: Path) -> None:
    with open_sqlite(path) as transactions:
        assert transactions.run(add(1)) == 1
        with pytest.raises(ZeroDivisionError):
            transactions.run(lambda c: add(2)(c) / 0)
        assert transactions.read(lambda c: c.execute(text("SELECT id FROM notes")).scalars().all()) == [1]
    assert on_disk(path) == [1]


def test_a_command_without_a_database_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoDatabase, match="no database at"), open_sqlite(tmp_path / "x.db"):
        pass
    assert not (tmp_path / "x.db").exists()


def test_a_command_on_a_locked_database_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.storage.connections.SETTINGS", ("PRAGMA busy_timeout=50",))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with open_sqlite(path) as transactions, pytest.raises(StorageUnavailable, match="locked"):
        transactions.run(add(1))
    other.close()
