"""The configuration file, and the place of the data for commands that only read.

Nothing heavy is imported here: a reading command starts in a fraction of the time that checking every key takes, and
works although a part of the configuration that it does not need is wrong.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeGuard

from gateway.settings_database import Database, database_of, database_url_problem
from gateway.settings_errors import Problem, SettingsError

PREFIX = "LARK_STEWARD__"
CONFIG = "LARK_STEWARD_CONFIG"
DEFAULT_FILE = Path("steward.toml")
LARGEST_FILE = 1 << 20

DATABASE_NAME = "steward.db"
DEFAULT_DATA_DIR = ".lark-steward"
SECTIONS = frozenset({"gateway", "apps", "steward", "returns", "retention"})
GATEWAY_KEYS = frozenset({"host", "hosts", "port", "data_dir", "database_url", "operator_token"})


def find_file(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read: as given, else as ``LARK_STEWARD_CONFIG`` says, else ``./steward.toml`` if it is there."""
    named = config or (Path(environ[CONFIG]) if environ.get(CONFIG) else None)
    if named is not None:
        return named
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def read_file(file: Path) -> dict[str, object]:
    """The file's tables. Raises ``SettingsError`` with what is wrong and where."""
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        raise SettingsError((Problem(str(file), "", f"cannot be read: {error.strerror}"),)) from None
    if len(content) > LARGEST_FILE:
        raise SettingsError((Problem(str(file), "", "is larger than 1 MiB: is it the right file?"),))
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SettingsError((Problem(str(file), "", f"is not UTF-8 (line {line})"),)) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError((Problem(str(file), "", f"is not TOML: {error}"),)) from None


def quick_database(config: Path | None, environ: Mapping[str, str]) -> Database | None:
    """The database that ``config`` and the environment lead to; None where only a full look at them can tell.

    Raises ``SettingsError`` when the file cannot be read.
    """
    file = find_file(config, environ)
    values = read_file(file) if file else {}
    gateway = values.get("gateway", {})
    if not SECTIONS.issuperset(values) or not _is_table(gateway) or not GATEWAY_KEYS.issuperset(gateway):
        return None
    here = {name for name in environ if name.startswith(f"{PREFIX}GATEWAY")}
    if not here <= {f"{PREFIX}GATEWAY__{key.upper()}" for key in GATEWAY_KEYS}:
        return None
    data_dir = environ.get(f"{PREFIX}GATEWAY__DATA_DIR", gateway.get("data_dir", DEFAULT_DATA_DIR))
    database_url = environ.get(f"{PREFIX}GATEWAY__DATABASE_URL", gateway.get("database_url", ""))
    if not isinstance(data_dir, str) or not isinstance(database_url, str):
        return None
    if database_url and database_url_problem(database_url) is not None:
        return None
    return database_of(database_url, anchored(file, Path(data_dir)) / DATABASE_NAME)


def anchored(file: Path | None, path: Path) -> Path:
    """A path of the configuration made absolute: it starts at the file's folder, or at the working directory."""
    with contextlib.suppress(RuntimeError):  # of a home that there is not: then it is a folder of that name
        path = path.expanduser()
    return ((file.parent if file else Path()) / path).absolute()


def _is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)
