"""The database for commands that work on it directly, whether a gateway runs or not."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import click

from gateway.cli.config_option import config_of
from gateway.cli.output import USAGE, fail
from gateway.migrations import SCRIPTS
from gateway.settings import Settings, SettingsError, load
from gateway.settings_database import SqliteFile
from gateway.system import environment
from providers.storage.errors import DatabaseTooNew, NoDatabase, ServerTooOld, UnsupportedDatabase
from providers.storage.migrate import upgrade
from providers.storage.sync import SyncTransactions, open_database
from returns.ports import StorageUnavailable

PRIVATE_FOLDER = 0o700


@contextmanager
def database(ctx: click.Context) -> Generator[SyncTransactions]:
    """The configured database, migrated; an SQLite file is made where it is missing.

    Ends the command with 2 for a bad configuration, with 1 where the database cannot be used.
    """
    settings = _settings(ctx)
    configured = settings.database
    try:
        fresh = isinstance(configured, SqliteFile) and not configured.path.exists()
        if fresh:
            settings.gateway.data_dir.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        upgrade(configured.url, SCRIPTS)
        if fresh:
            click.echo(f"Made a new database: {configured}", err=True)
        with open_database(configured.url) as transactions:
            yield transactions
    except (DatabaseTooNew, NoDatabase, ServerTooOld, UnsupportedDatabase, StorageUnavailable) as error:
        fail(f"{error.code}: {error}")
    except OSError as error:
        fail(f"the data folder {settings.gateway.data_dir} cannot be used: {error.strerror}")


def _settings(ctx: click.Context) -> Settings:
    try:
        return load(config_of(ctx), environment())
    except SettingsError as error:
        fail(str(error), USAGE)
