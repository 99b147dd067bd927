"""The timeline: what happened to a request, in order. Nothing private goes in."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import Connection, insert

from manager.ids import RequestId
from manager.ledger.tables import facts
from returns.ids import Millis


def record(
    connection: Connection,
    request: RequestId,
    revision: int,
    at: Millis,
    fact: str,
    detail: Mapping[str, str | int | bool | None] | None = None,
) -> None:
    """Add one fact; ``detail`` holds no provider id, no body and no secret."""
    connection.execute(
        insert(facts).values(
            request_id=request,
            revision=revision,
            at=at,
            fact=fact,
            detail=json.dumps(dict(detail or {}), ensure_ascii=False),
        )
    )
