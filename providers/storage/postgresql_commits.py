"""What became of a COMMIT whose answer was lost: asked on another connection, by the transaction's number.

The server tells of recent transactions (``pg_xact_status``, https://www.postgresql.org/docs/current/functions-info.html).
A number means nothing on a server that went another way since, such as a standby that was promoted before it had all:
so the timeline is compared, too. A transaction still under way may yet commit: it is waited for, and nothing is ended.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from typing import Final

import psycopg

from providers.storage.errors import ServerTooOld
from providers.storage.postgresql_connections import TIMELINE, connect

PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 0.25

_STATUS: Final = f"SELECT {TIMELINE}, pg_xact_status(%s::xid8)"


class Fate(Enum):
    """What became of a transaction."""

    COMMITTED = "committed"
    """All of it is kept."""
    ABORTED = "aborted"
    """Nothing of it is kept."""
    NOT_KNOWN = "not_known"
    """It could not be found out."""


@dataclass(frozen=True, slots=True)
class Committing:
    """A transaction whose COMMIT was sent."""

    xid: str
    timeline: str | None
    """Of the server that it was sent to."""


def look_up(address: str, committing: Committing, until: float) -> Fate:
    """Ask until it is known, or until the moment ``until`` of the monotonic clock."""
    pause = PAUSE_S
    while True:
        fate = _ask(address, committing, until)
        if fate is not None:
            return fate
        if time.monotonic() + pause >= until:
            return Fate.NOT_KNOWN
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_S)


def _ask(address: str, committing: Committing, until: float) -> Fate | None:
    """None: not known yet."""
    try:
        connection = connect(address, until)
    except (psycopg.Error, ServerTooOld):
        return None
    try:
        row = connection.execute(_STATUS, (committing.xid,)).fetchone()
    except psycopg.OperationalError:
        return None
    except psycopg.Error:  # a number from the future: another server's
        return Fate.NOT_KNOWN
    finally:
        connection.pgconn.finish()
    if row is None or row[0] is None:
        return None
    if row[0] != committing.timeline or row[1] is None:
        return Fate.NOT_KNOWN
    return None if row[1] == "in progress" else Fate(row[1])
