"""The timeline: what happened to a request, in order. Nothing private goes in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from sqlalchemy import Connection, bindparam, func, insert, select

from manager.ids import RequestId
from manager.ledger.tables import facts
from returns.ids import Millis
from returns.ledger.prepared import Prepared

_JSON: Final = json.JSONEncoder(ensure_ascii=False)
_RECORD: Final = Prepared(insert(facts), ("request_id", "revision", "at", "fact", "detail"))
_COUNT: Final = Prepared(
    select(func.count().label("times")).where(
        facts.c.request_id == bindparam("request"), facts.c.fact == bindparam("fact")
    )
)
_HAPPENED: Final = Prepared(
    select(facts.c.seq).where(facts.c.request_id == bindparam("request"), facts.c.fact == bindparam("fact"))
)


def record(
    connection: Connection,
    request: RequestId,
    revision: int,
    at: Millis,
    fact: str,
    detail: Mapping[str, str | int | bool | None] | None = None,
) -> None:
    """Add one fact; ``detail`` holds no provider id, no body and no secret."""
    _RECORD.defer(
        connection,
        {
            "request_id": request,
            "revision": revision,
            "at": at,
            "fact": fact,
            "detail": _JSON.encode(dict(detail or {})),
        },
    )


def count(connection: Connection, request: RequestId, fact: str) -> int:
    """How often the fact stands in the request's timeline."""
    row = _COUNT.first(connection, {"request": request, "fact": fact})
    return 0 if row is None else cast("int", row["times"])


def happened(connection: Connection, request: RequestId, fact: str) -> bool:
    """Whether the fact stands in the request's timeline."""
    return _HAPPENED.first(connection, {"request": request, "fact": fact}) is not None
