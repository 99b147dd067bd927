"""Questions asked on the database itself, wherever it is, read-only: no gateway is needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module

from gateway.inbox.file_reading import reading as reading_file
from gateway.inbox.reading import Ask
from gateway.settings_database import Database, PostgresServer, SqliteFile


def reading(database: Database) -> AbstractContextManager[Ask]:
    """Ask one consistent state of the database. Entering raises ``NoInbox``."""
    if isinstance(database, SqliteFile):
        return reading_file(database.path)
    # Only where it is needed: the driver takes as long to import as all the rest.
    reading_server: Callable[[PostgresServer], AbstractContextManager[Ask]] = import_module(
        "gateway.inbox.server_reading"
    ).reading
    return reading_server(database)
