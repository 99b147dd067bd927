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
_LAST: Final = Prepared(
    select(facts.c.detail)
    .where(
        facts.c.request_id == bindparam("request"),
        facts.c.revision == bindparam("revision"),
        facts.c.fact == bindparam("fact"),
    )
    .order_by(facts.c.seq.desc())
    .limit(1)
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


def last(connection: Connection, request: RequestId, revision: int, fact: str) -> Mapping[str, object] | None:
    """The detail of the last such fact of the revision; None where it did not happen."""
    row = _LAST.first(connection, {"request": request, "revision": revision, "fact": fact})
    return None if row is None else cast("Mapping[str, object]", json.loads(cast("str", row["detail"])))
