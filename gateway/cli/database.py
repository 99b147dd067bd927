"""The database for commands that work on it directly, whether a gateway runs or not."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click

from gateway.cli.config_option import config_of
from gateway.cli.output import USAGE, fail
from gateway.migrations import SCRIPTS
from gateway.settings import SettingsError, load
from gateway.system import environment
from providers.storage.errors import DatabaseTooNew, NoDatabase, UnsupportedDatabase
from providers.storage.migrate import sqlite_url, upgrade
from providers.storage.sync import SyncTransactions, open_sqlite
from returns.ports import StorageUnavailable

PRIVATE_FOLDER = 0o700


@contextmanager
def database(ctx: click.Context) -> Generator[SyncTransactions]:
    """The configured database, made and migrated where that is needed.

    Ends the command with 2 for a bad configuration, with 1 where the database cannot be used.
    """
    path = _path(config_of(ctx))
    try:
        fresh = not path.exists()
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        upgrade(sqlite_url(path), SCRIPTS)
        if fresh:
            click.echo(f"Made a new database: {path}", err=True)
        with open_sqlite(path) as transactions:
            yield transactions
    except (DatabaseTooNew, NoDatabase, UnsupportedDatabase, StorageUnavailable) as error:
        fail(f"{error.code}: {error}")
    except OSError as error:
        fail(f"the data folder {path.parent} cannot be used: {error.strerror}")


def _path(config: Path | None) -> Path:
    try:
        settings = load(config, environment())
    except SettingsError as error:
        fail(str(error), USAGE)
    if settings.gateway.database_url.get_secret_value():
        fail("gateway.database_url: this command works on SQLite in gateway.data_dir only", USAGE)
    return settings.database_path
