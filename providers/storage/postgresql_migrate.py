"""Migrations of a PostgreSQL database, under a lock that all starting gateways take."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy.exc import SQLAlchemyError

from providers.storage.errors import ServerTooOld
from providers.storage.migrate import PATIENCE_MS, bring_up, is_behind, known_versions
from providers.storage.postgresql_connections import Patient, Source
from providers.storage.postgresql_errors import not_connected, sqlstate, storage_failure
from returns.ports import StorageUnavailable

ANSWER_S: Final = 10.0

_PATIENT: Final = (
    f"SELECT set_config('lock_timeout', '{PATIENCE_MS}', false), set_config('statement_timeout', '0', false), "
    "set_config('idle_in_transaction_session_timeout', '60000', false)"
)
"""Changing a large table takes its time, and whoever starts meanwhile waits."""


def upgrade(url: str, script_location: Path) -> bool:
    """See ``migrate.upgrade``."""
    try:
        with Source(url).connect(time.monotonic() + ANSWER_S) as connection:
            if not is_behind(connection, known_versions(script_location)):
                return False
        return bring_up(Source(url, _be_patient).engine, script_location)
    except (SQLAlchemyError, psycopg.Error, ServerTooOld) as error:
        raise _unavailable(error) from None  # the driver's words may hold the address


def _be_patient(connection: Patient) -> None:
    connection.execute(_PATIENT.encode())
    connection.autocommit = False


def _unavailable(error: Exception) -> StorageUnavailable:
    if sqlstate(error) is None:
        return not_connected(error)
    return storage_failure(error, alive=True) or StorageUnavailable(
        f"the database could not be brought to the newest version (SQLSTATE {sqlstate(error)}); nothing was changed"
    )
