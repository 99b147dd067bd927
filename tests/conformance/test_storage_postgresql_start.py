"""A start on PostgreSQL: migrations under one lock, and one clear sentence for each thing that is wrong."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import inspect

from gateway.migrations import SCRIPTS
from providers.storage.errors import DatabaseTooNew, NoDatabase, ServerTooOld, UnsupportedDatabase
from providers.storage.migrate import known_versions, upgrade
from providers.storage.postgresql import PostgresTransactions
from providers.storage.postgresql_connections import Source
from providers.storage.schema import ROOMS
from providers.storage.sync import open_database
from returns.ports import StorageUnavailable
from tests.support.databases import engine_of
from tests.support.postgresql import PASSWORD, Server


@pytest.fixture
def empty(postgresql_server: Server) -> Iterator[str]:
    with postgresql_server.empty() as url:
        yield url


def shape(url: str) -> dict[str, object]:
    """Every table's columns, keys, constraints and indexes, as the database itself tells them."""
    engine = Source(url).engine
    inspector = inspect(engine)
    keys, uniques = inspector.get_multi_pk_constraint(), inspector.get_multi_unique_constraints()
    references, indexes = inspector.get_multi_foreign_keys(), inspector.get_multi_indexes()
    return {
        name: (
            [(c["name"], str(c["type"]), c["nullable"], str(c["default"])) for c in columns],
            keys[schema, name]["constrained_columns"],
            sorted(tuple(u["column_names"]) for u in uniques[schema, name]),
            sorted(
                (tuple(f["constrained_columns"]), f["referred_table"], str(f["options"]))
                for f in references[schema, name]
            ),
            sorted((i["name"] or "", tuple(i["column_names"]), i["unique"]) for i in indexes[schema, name]),
        )
        for (schema, name), columns in inspector.get_multi_columns().items()
        if name != "alembic_version"
    }


def test_the_migrated_schema_is_the_declared_one(postgresql_server: Server, empty: str) -> None:
    engine = engine_of(empty)
    with engine.begin() as connection:
        for metadata in ROOMS:
            metadata.create_all(connection)
    with postgresql_server.migrated() as url:
        assert shape(url) == shape(empty)
        assert len(shape(url)) == sum(len(metadata.tables) for metadata in ROOMS)


def test_once_whoever_starts_first(empty: str) -> None:
    assert upgrade(empty, SCRIPTS) is True
    assert upgrade(empty, SCRIPTS) is False


def test_starting_together_is_safe(empty: str) -> None:
    program = (
        "import sys; from gateway.migrations import SCRIPTS; from providers.storage.migrate import upgrade;"
        "sys.stdin.readline(); print(upgrade(sys.argv[1], SCRIPTS))"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program, empty],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for _ in range(3)
    ]
    said: list[str] = []
    threads = [threading.Thread(target=lambda r=racer: said.append(r.communicate("go\n")[0])) for racer in racers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["False\n", "False\n", "True\n"]


def test_a_newer_database_is_refused_and_left_alone(empty: str) -> None:
    upgrade(empty, SCRIPTS)
    with psycopg.connect(empty) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseTooNew, match=r"version 9999.*nothing was changed"):
        upgrade(empty, SCRIPTS)


def test_a_failing_migration_leaves_nothing(tmp_path: Path, empty: str) -> None:
    (tmp_path / "versions").mkdir()
    (tmp_path / "env.py").write_text((SCRIPTS / "env.py").read_text())
    (tmp_path / "versions" / "0001_half.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\nrevision = '0001'\ndown_revision = None\n"
        "def upgrade():\n    op.create_table('half', sa.Column('a', sa.Integer()))\n    raise ZeroDivisionError\n"
    )
    with pytest.raises(ZeroDivisionError):
        upgrade(empty, tmp_path)
    assert shape(empty) == {}
    assert known_versions(tmp_path) == ("0001",)


WRONG = {
    "password": "does not accept the password",
    "database": "no such database",
    "port": "cannot be reached",
    "address": "address cannot be read",
    "rights": "lacks a right",
    "version": r"is PostgreSQL \d+, but",
}


@pytest.fixture(params=list(WRONG))
def wrong(
    request: pytest.FixtureRequest, postgresql_server: Server, empty: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    """An address with something wrong, and what is said of it. Each has ``secret-word`` in it."""
    name = empty.rpartition("/")[2]
    kind: str = request.param
    url = postgresql_server.url(name, password="secret-word")
    match kind:
        case "password":
            pass
        case "database":
            url = postgresql_server.url("nowhere") + "?application_name=secret-word"
        case "port":
            url = f"postgresql://steward:secret-word@127.0.0.1:1/{name}"
        case "address":
            url = f"postgresql://steward:secret-word@127.0.0.1:port/{name}"
        case "rights":
            postgresql_server.admin("CREATE ROLE weak LOGIN PASSWORD 'secret-word'")
            url = postgresql_server.url(name, user="weak", password="secret-word")
        case _:
            monkeypatch.setattr("providers.storage.postgresql_connections.OLDEST", 990000)
            url = empty + "?application_name=secret-word"
    yield url, WRONG[kind]
    if kind == "rights":
        postgresql_server.admin("DROP ROLE weak")


def test_what_is_wrong_is_said_in_one_sentence_without_a_secret(wrong: tuple[str, str]) -> None:
    url, sentence = wrong
    with pytest.raises((StorageUnavailable, UnsupportedDatabase), match=sentence) as said:
        upgrade(url, SCRIPTS)
    shown = _all_words(said.value)
    assert "secret-word" not in shown
    assert PASSWORD not in shown
    assert "\n" not in str(said.value)


async def test_the_port_says_it_too_and_leaves_no_thread(wrong: tuple[str, str]) -> None:
    url, sentence = wrong
    if sentence == WRONG["rights"]:
        return  # an empty transaction needs none
    with pytest.raises((StorageUnavailable, UnsupportedDatabase), match=sentence) as said:
        async with PostgresTransactions(url, patience_s=20):
            pass
    assert "secret-word" not in _all_words(said.value)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("storage-")]


def test_a_command_says_it_too(wrong: tuple[str, str]) -> None:
    url, sentence = wrong
    if sentence == WRONG["rights"]:
        with pytest.raises(NoDatabase, match="no tables"), open_database(url):
            pass
        return
    with pytest.raises((StorageUnavailable, UnsupportedDatabase), match=sentence) as said, open_database(url):
        pass
    assert "secret-word" not in _all_words(said.value)


def test_a_command_reads_and_writes(postgresql_server: Server) -> None:
    with postgresql_server.migrated() as url, open_database(url) as transactions:
        insert = "INSERT INTO told_once VALUES ('a', 'b', 'c', 1)"
        transactions.run(lambda c: c.exec_driver_sql(insert))
        with pytest.raises(ZeroDivisionError):
            transactions.run(lambda c: (c.exec_driver_sql("DELETE FROM told_once"), 1 / 0))
        assert transactions.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM told_once").scalar_one()) == 1


def test_the_error_for_an_old_server_says_what_is_needed() -> None:
    assert "13 or newer" in str(ServerTooOld(12, 13))


def _all_words(error: BaseException | None) -> str:
    """What a log would show of an error and of those behind it."""
    words = ""
    while error is not None:
        words += f"{error!r} {error}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return words
