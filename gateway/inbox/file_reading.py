"""Questions asked on the database file itself, read-only, by the standard library: no gateway is needed."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from gateway.inbox.items import Row
from gateway.inbox.reading import Ask

BUSY_TIMEOUT_S = 5.0


class NoInbox(Exception):
    """There is nothing to read: no database yet, or one that this program cannot read. The message says what to do."""

    code = "no_database"


@contextmanager
def reading(path: Path) -> Generator[Ask]:
    """Ask one consistent state of the database at ``path``. Raises ``NoInbox``."""
    if not path.is_file() or path.stat().st_size == 0:
        raise NoInbox(f"there is no database at {path} yet: it is made by the first `lark-steward serve`")
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None
        )
        with closing(connection):
            connection.row_factory = sqlite3.Row
            connection.execute("BEGIN")
            yield _asking(connection)
    except sqlite3.Error as error:
        raise NoInbox(_reason(path, error)) from error


def _asking(connection: sqlite3.Connection) -> Ask:
    def ask(question: str, parameters: Mapping[str, object]) -> Sequence[Row]:
        return [dict(row) for row in connection.execute(question, parameters)]

    return ask


def _reason(path: Path, error: sqlite3.Error) -> str:
    said = str(error)
    if said.startswith(("no such table", "no such column")):
        return f"{path} was made by another version of lark-steward: start `lark-steward serve` once to migrate it"
    return f"{path} cannot be read: {said}"
