"""Sentences that a person is told only once."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, delete, select

from manager.ids import OpenId
from manager.ledger.inserting import insert_new
from manager.ledger.tables import told_once
from returns.ids import AppName, Millis
from returns.ledger.prepared import Prepared

NOT_OWNER = "not_owner"

_TOLD: Final = Prepared(
    select(told_once.c.at).where(
        told_once.c.app == bindparam("app"),
        told_once.c.open_id == bindparam("person"),
        told_once.c.what == bindparam("what"),
    )
)
_FORGET: Final = Prepared(
    delete(told_once).where(
        told_once.c.app == bindparam("app"),
        told_once.c.open_id == bindparam("person"),
        told_once.c.what == bindparam("what"),
    )
)


def was_told(connection: Connection, app: AppName, person: OpenId, what: str) -> bool:
    """Whether the person was told."""
    return _TOLD.first(connection, {"app": app, "person": person, "what": what}) is not None


def tell(connection: Connection, app: AppName, person: OpenId, what: str, now: Millis) -> bool:
    """Note that the person is told now; False when somebody told them before."""
    return insert_new(connection, told_once, [{"app": app, "open_id": person, "what": what, "at": now}]) == 1


def forget(connection: Connection, app: AppName, person: OpenId, what: str) -> None:
    """It was not told after all: the next occasion is the first one again."""
    _FORGET.run(connection, {"app": app, "person": person, "what": what})
