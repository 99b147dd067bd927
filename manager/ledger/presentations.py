"""Presentations: which turn of the receiver has a revision. The newest holds the fence, the others are replaced."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from manager.ids import AttemptId, PeerId, RequestId
from manager.ledger.tables import presentations
from returns.ids import Millis


def add(
    connection: Connection,
    *,
    attempt_id: AttemptId,
    request_id: RequestId,
    revision: int,
    peer_id: PeerId,
    turn: str | None,
    now: Millis,
) -> int:
    """Keep a presentation; how many earlier ones of the revision it replaced."""
    replaced = connection.execute(
        update(presentations)
        .where(
            presentations.c.request_id == request_id,
            presentations.c.revision == revision,
            presentations.c.replaced.is_(False),
        )
        .values(replaced=True)
    )
    connection.execute(
        insert(presentations).values(
            attempt_id=attempt_id,
            request_id=request_id,
            revision=revision,
            peer_id=peer_id,
            turn=turn,
            at=now,
            replaced=False,
        )
    )
    return replaced.rowcount


def made(connection: Connection, attempt_id: str, request_id: RequestId, peer_id: PeerId) -> bool:
    """Whether the attempt was ever one of this peer at this request."""
    row = connection.execute(
        select(presentations.c.attempt_id).where(
            presentations.c.attempt_id == attempt_id,
            presentations.c.request_id == request_id,
            presentations.c.peer_id == peer_id,
        )
    ).first()
    return row is not None
