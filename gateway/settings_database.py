"""Where the data is: an SQLite file, or a PostgreSQL server whose address (``gateway.database_url``) is checked here.

Nothing heavy is imported: the reading commands start through this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

SCHEMES: Final = ("postgresql", "postgresql+psycopg")
FORM: Final = "postgresql://user:password@host/name"
ESCAPES: Final = "in a password write @ as %40, / as %2F, : as %3A, ? as %3F"
SQLITE: Final = "leave it empty for SQLite in gateway.data_dir"
SECRET_PARAMETERS: Final = frozenset({"password", "sslpassword"})


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A file in the data folder, for one gateway."""

    path: Path

    @property
    def url(self) -> str:
        """The file's address, as the storage takes it."""
        return f"sqlite:///{self.path}"

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A database that several gateways share."""

    url: str = field(repr=False)
    """``postgresql://…``, as the storage takes it. Secret: it may hold a password."""

    def __str__(self) -> str:
        """Host and name, for people; no user, no password."""
        parts = urlsplit(self.url)
        host = parts.hostname or dict(parse_qsl(parts.query)).get("host", "this machine")
        return f"database {unquote(parts.path[1:])} on {host}"


Database: TypeAlias = SqliteFile | PostgresServer


def database_of(database_url: str, sqlite_file: Path) -> Database:
    """The database of a checked ``database_url``; empty means the file."""
    if not database_url:
        return SqliteFile(sqlite_file)
    _scheme, _, rest = database_url.partition(":")
    return PostgresServer(f"postgresql:{rest}")


def database_url_problem(database_url: str) -> str | None:
    """What is wrong with a ``database_url`` that is not empty; never quotes it, for it may hold a password."""
    if database_url.strip() != database_url or any(c.isspace() or not c.isprintable() for c in database_url):
        return "holds a space or a character that cannot be printed"
    scheme = database_url.partition(":")[0].lower()
    if scheme == "postgres":
        return f"begins with postgres://: write postgresql://, as in {FORM}"
    if scheme not in SCHEMES or "://" not in database_url:
        return f"is not the address of a PostgreSQL database ({FORM}): {SQLITE}"
    if "#" in database_url:
        return "holds a #: in a user's name or a password write it as %23"
    try:
        parts = urlsplit(database_url)
        _port = parts.port
    except ValueError:
        return f"is not an address: it is like {FORM}; {ESCAPES}"
    return _problem(parts)


def _problem(parts: SplitResult) -> str | None:
    if not parts.hostname and "host" not in dict(parse_qsl(parts.query)):
        return f"names no host: it is like {FORM}"
    name = parts.path[1:]
    if not name or "/" in name:
        return f"names no database: it is like {FORM}; {ESCAPES}"
    if "@" in name or "@" in parts.query.split("=")[0]:
        return f"has its parts in an order that makes no sense: it is like {FORM}; {ESCAPES}"
    return None


def secrets_of_url(database_url: str) -> tuple[str, ...]:
    """What no message may show of a ``database_url``: it itself, and its password however it is written."""
    if not database_url:
        return ()
    found = [database_url]
    user_info = database_url.partition("://")[2].rpartition("@")[0]
    passwords = [user_info.partition(":")[2]]
    passwords += [value for key, value in parse_qsl(database_url.partition("?")[2]) if key in SECRET_PARAMETERS]
    for password in passwords:
        found += [password, unquote(password)]
    return tuple(dict.fromkeys(secret for secret in found if secret))
