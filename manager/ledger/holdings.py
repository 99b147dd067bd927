"""What a peer holds, as it may read it: only its own, oldest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from sqlalchemy import Connection, RowMapping, Select, and_, exists, func, or_, select

from manager.decisions import brief as briefs
from manager.decisions.work import Work
from manager.ids import PeerId, RequestId
from manager.ledger.revisions import RevisionView, view_of
from manager.ledger.tables import peers, requests, revision_bodies, revisions
from returns.ids import Millis
from returns.ledger.prepared import Row

STEWARD: Final = "steward"


@dataclass(frozen=True, slots=True)
class Held:
    """A request as it stands in its receiver's list."""

    seq: int
    intent: str
    sender: str
    """``steward``, or the name of the peer who delegated."""
    parent: RequestId | None
    purpose: str
    view: RevisionView


def page(
    connection: Connection, receiver: PeerId, *, only_open: bool, after: tuple[Millis, int] | None, limit: int
) -> tuple[Held, ...]:
    """At most ``limit`` requests of a receiver after a position (the time it was stored, the request's ``seq``)."""
    query = _select().where(revisions.c.receiver == receiver)
    if only_open:
        query = query.where(revisions.c.work == Work.OPEN.value, revisions.c.revision == requests.c.revision)
    else:
        newer = revisions.alias()
        query = query.where(
            ~exists().where(
                newer.c.request_id == revisions.c.request_id,
                newer.c.receiver == receiver,
                newer.c.revision > revisions.c.revision,
            )
        )
    if after is not None:
        at, seq = after
        # said so that an index can begin at the position
        query = query.where(revisions.c.stored_at >= at, or_(revisions.c.stored_at > at, requests.c.seq > seq))
    rows = connection.execute(query.order_by(revisions.c.stored_at, requests.c.seq).limit(limit)).mappings()
    return tuple(_held(row) for row in rows)


def one(connection: Connection, request_id: RequestId, reader: PeerId) -> Held | None:
    """The newest revision that the reader received, or, of a request that it delegated, the newest; None otherwise."""
    mine = or_(
        revisions.c.receiver == reader,
        and_(requests.c.from_peer == reader, revisions.c.revision == requests.c.revision),
    )
    query = _select().where(revisions.c.request_id == request_id, mine)
    row = connection.execute(query.order_by(revisions.c.revision.desc()).limit(1)).mappings().first()
    return None if row is None else _held(row)


def lineage(connection: Connection, request_id: RequestId) -> frozenset[PeerId]:
    """Everyone who asked or holds a request or any of its ancestors."""
    found: set[PeerId] = set()
    at: RequestId | None = request_id
    while at is not None:
        row = connection.execute(
            select(requests.c.parent_id, requests.c.from_peer).where(requests.c.request_id == at)
        ).first()
        receivers = connection.execute(select(revisions.c.receiver).where(revisions.c.request_id == at)).scalars()
        found.update(cast("PeerId", receiver) for receiver in receivers if receiver is not None)
        if row is not None and row.from_peer is not None:
            found.add(cast("PeerId", row.from_peer))
        at = None if row is None else cast("RequestId | None", row.parent_id)
    return frozenset(found)


def open_children(connection: Connection, parent: RequestId) -> int:
    """How many open requests were made under a parent."""
    query = (
        select(func.count())
        .select_from(requests)
        .join(
            revisions,
            and_(revisions.c.request_id == requests.c.request_id, revisions.c.revision == requests.c.revision),
        )
        .where(requests.c.parent_id == parent, revisions.c.work == Work.OPEN.value)
    )
    return connection.execute(query).scalar() or 0


def _select() -> Select[tuple[object, ...]]:
    return (
        select(
            revisions,
            requests.c.seq,
            requests.c.intent,
            requests.c.parent_id,
            peers.c.name.label("from_name"),
            revision_bodies.c.brief,
        )
        .select_from(revisions)
        .join(requests, requests.c.request_id == revisions.c.request_id)
        .join(
            revision_bodies,
            and_(
                revision_bodies.c.request_id == revisions.c.request_id,
                revision_bodies.c.revision == revisions.c.revision,
            ),
        )
        .outerjoin(peers, peers.c.peer_id == requests.c.from_peer)
    )


def _held(get: RowMapping) -> Held:
    return Held(
        seq=cast("int", get["seq"]),
        intent=cast("str", get["intent"]),
        sender=cast("str | None", get["from_name"]) or STEWARD,
        parent=cast("RequestId | None", get["parent_id"]),
        purpose=briefs.from_json(cast("str", get["brief"])).purpose,
        view=view_of(cast("Row", get)),
    )
