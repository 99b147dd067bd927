"""The databases that a gateway can stand on, made for one run and gone after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support import postgresql

DATABASES = ("sqlite", "postgresql")


@contextmanager
def opened(database: str) -> Iterator[str]:
    """What to write as ``gateway.database_url``: empty for SQLite. Raises ``postgresql.NoServer``."""
    if database == "sqlite":
        yield ""
        return
    server = postgresql.start()
    try:
        with server.empty() as url:
            yield url
    finally:
        server.close()
