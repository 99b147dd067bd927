"""Questions asked on a PostgreSQL server, read-only, by its driver alone: that starts in half the time of a port."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Final, LiteralString, cast

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.errors import UndefinedColumn, UndefinedTable
from psycopg.rows import dict_row

from gateway.inbox.file_reading import NoInbox
from gateway.inbox.items import Row
from gateway.inbox.reading import Ask
from gateway.settings_database import PostgresServer

CONNECT_TIMEOUT_S: Final = 5
STATEMENT_TIMEOUT_MS: Final = 15_000
LIVENESS: Final[Mapping[str, int]] = {
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""A server that has vanished is noticed: seconds, and the last one in ms."""
PARAMETER: Final = re.compile(r"(?<!:):([a-z_]+)")


class InboxUnavailable(NoInbox):
    """The server cannot be reached, or does not let us read. The message says what to do."""

    code = "unavailable"


@contextmanager
def reading(server: PostgresServer) -> Generator[Ask]:
    """Ask one consistent state of the server's database. Raises ``NoInbox`` or ``InboxUnavailable``."""
    try:
        with psycopg.connect(make_conninfo(server.url, connect_timeout=CONNECT_TIMEOUT_S, **LIVENESS)) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            connection.execute("SELECT set_config('statement_timeout', %s, true)", (str(STATEMENT_TIMEOUT_MS),))
            yield _asking(connection)
    except (UndefinedTable, UndefinedColumn):
        raise NoInbox(
            f"the {server} holds no tables of this version of lark-steward: start `lark-steward serve` once"
        ) from None
    except psycopg.Error as error:
        raise InboxUnavailable(f"the {server} cannot be read: {_reason(error)}") from None


def _asking(connection: psycopg.Connection) -> Ask:
    def ask(question: str, parameters: Mapping[str, object]) -> Sequence[Row]:
        with connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(_in_the_drivers_way(question), dict(parameters)).fetchall()

    return ask


def _in_the_drivers_way(question: str) -> LiteralString:
    """``:name`` as ``%(name)s``. The questions are constants of this package."""
    return cast("LiteralString", PARAMETER.sub(r"%(\1)s", question.replace("%", "%%")))


def _reason(error: psycopg.Error) -> str:
    """What is wrong, in words without what is secret: the driver's own may hold the address."""
    tell: Callable[[BaseException], Exception] = import_module(
        "providers.storage.postgresql_errors"
    ).not_connected  # only now: it takes as long to import as all the rest
    return str(tell(error))
