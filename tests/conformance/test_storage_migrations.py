"""The migrations lead to the tables that the rooms declare, once, whoever starts first, forward only."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import MetaData, create_engine, inspect

import manager.ledger.tables
import returns.ledger.tables
from gateway.migrations import SCRIPTS
from providers.storage.errors import DatabaseTooNew, UnsupportedDatabase
from providers.storage.migrate import known_versions, sqlite_url, upgrade
from providers.storage.schema import create_all
from returns.ports import StorageUnavailable
from tests.support.storage import migrated


def declared() -> MetaData:
    everything = MetaData()
    for metadata in (manager.ledger.tables.metadata, returns.ledger.tables.metadata):
        for table in metadata.sorted_tables:
            table.to_metadata(everything)
    return everything


def shape(path: Path) -> dict[str, object]:
    """Every table's columns, keys, constraints and indexes, as the database itself tells them."""
    inspector = inspect(create_engine(f"sqlite:///{path}"))
    return {
        name: (
            [
                (c["name"], str(c["type"]), c["nullable"], c["default"], c["primary_key"])
                for c in inspector.get_columns(name)
            ],
            inspector.get_pk_constraint(name)["constrained_columns"],
            sorted(tuple(u["column_names"]) for u in inspector.get_unique_constraints(name)),
            sorted(
                (tuple(f["constrained_columns"]), f["referred_table"], str(f["options"]))
                for f in inspector.get_foreign_keys(name)
            ),
            sorted((i["name"] or "", tuple(i["column_names"]), i["unique"]) for i in inspector.get_indexes(name)),
        )
        for name in inspector.get_table_names()
        if name != "alembic_version"
    }


def test_the_migrated_schema_is_the_declared_one(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{migrated(tmp_path)}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, declared()) == []
    engine.dispose()


def test_migrating_and_making_all_tables_give_the_same_database(tmp_path: Path) -> None:
    made = tmp_path / "made.db"
    create_all(made)
    assert shape(migrated(tmp_path)) == shape(made)


def test_a_second_start_has_nothing_to_do(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "steward.db")
    assert upgrade(url, SCRIPTS) is True
    assert upgrade(url, SCRIPTS) is False


def test_a_database_at_the_newest_version_does_not_import_alembic(tmp_path: Path) -> None:
    path = migrated(tmp_path)
    program = (
        "import sys; from pathlib import Path; from gateway.migrations import SCRIPTS;"
        "from providers.storage.migrate import sqlite_url, upgrade;"
        "upgrade(sqlite_url(Path(sys.argv[1])), SCRIPTS); print('alembic' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_the_file_is_private_and_in_wal_mode(tmp_path: Path) -> None:
    path = migrated(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = migrated(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    before = shape(path)
    with pytest.raises(DatabaseTooNew, match=r"version 9999.*up to 0\d+.*nothing was changed"):
        upgrade(sqlite_url(path), SCRIPTS)
    assert shape(path) == before


def test_a_failing_migration_leaves_nothing(tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    (scripts / "versions").mkdir(parents=True)
    (scripts / "env.py").write_text((SCRIPTS / "env.py").read_text())
    (scripts / "versions" / "0001_half.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\nrevision = '0001'\ndown_revision = None\n"
        "def upgrade():\n    op.create_table('half', sa.Column('a', sa.Integer()))\n    raise ZeroDivisionError\n"
    )
    path = tmp_path / "x.db"
    with pytest.raises(ZeroDivisionError):
        upgrade(sqlite_url(path), scripts)
    assert sqlite3.connect(path).execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_only_the_missing_migrations_run(tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    (scripts / "versions").mkdir(parents=True)
    (scripts / "env.py").write_text((SCRIPTS / "env.py").read_text())
    for number, before in ((1, "None"), (2, "'0001'")):
        (scripts / "versions" / f"000{number}_t.py").write_text(
            f"import sqlalchemy as sa\nfrom alembic import op\nrevision = '000{number}'\ndown_revision = {before}\n"
            f"def upgrade():\n    op.create_table('t{number}', sa.Column('a', sa.Integer()))\n"
        )
        assert upgrade(sqlite_url(tmp_path / "x.db"), scripts) is True
    assert known_versions(scripts) == ("0001", "0002")
    tables = inspect(create_engine(sqlite_url(tmp_path / "x.db"))).get_table_names()
    assert {"t1", "t2"} < set(tables)


def test_starting_together_is_safe(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "steward.db")
    program = (
        "import sys; from gateway.migrations import SCRIPTS; from providers.storage.migrate import upgrade;"
        "sys.stdin.readline(); print(upgrade(sys.argv[1], SCRIPTS))"
    )
    racers = [
        subprocess.Popen([sys.executable, "-c", program, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said: list[str] = []
    threads = [threading.Thread(target=lambda r=racer: said.append(r.communicate("go\n")[0])) for racer in racers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["False\n", "False\n", "True\n"]


@pytest.mark.parametrize("url", ["mysql://ann:secret@localhost/x", "secret@nowhere", "postgresql://a:secret@h:port/x"])
def test_another_kind_of_address_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(UnsupportedDatabase, match=r"not available|cannot be read") as refused:
        upgrade(url, SCRIPTS)
    assert "secret" not in str(refused.value)


def test_a_folder_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="cannot be used"):
        upgrade(sqlite_url(tmp_path / "no" / "x.db"), SCRIPTS)


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(os.urandom(8192))
    with pytest.raises(StorageUnavailable, match="not an SQLite database"):
        upgrade(sqlite_url(path), SCRIPTS)
