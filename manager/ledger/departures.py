"""What happens to the requests of a peer that is taken out of the directory."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, select

from manager.decisions.work import Work
from manager.ids import PeerId, RequestId
from manager.ledger import requests
from manager.ledger.requests import Cancellation
from manager.ledger.revisions import load
from manager.ledger.tables import requests as request_rows
from manager.ledger.tables import revisions
from returns.ids import Millis


def cancel_held(connection: Connection, peer_id: PeerId, now: Millis) -> int:
    """Cancel every open request that the peer holds; how many.

    A peer that is gone cannot acknowledge, so what it was presented is cancelled at once, too.
    """
    rows = connection.execute(
        select(revisions.c.request_id)
        .join(request_rows, request_rows.c.request_id == revisions.c.request_id)
        .where(
            revisions.c.receiver == peer_id,
            revisions.c.work == Work.OPEN.value,
            revisions.c.revision == request_rows.c.revision,
        )
    ).scalars()
    held = [RequestId(cast("str", request_id)) for request_id in rows.all()]
    for request_id in held:
        outcome = requests.cancel(connection, request_id, now, by="operator", reason="the peer was removed")
        view = requests.current(connection, request_id)
        if outcome is Cancellation.REQUESTED and view is not None:
            requests.acknowledge_cancel(connection, view.newest, now, by="removal")
    _let_go(connection, peer_id, now)
    return len(held)


def _let_go(connection: Connection, peer_id: PeerId, now: Millis) -> None:
    """What the peer was asked to stop because another revision stands: nobody is left to say that it did."""
    asked = (revisions.c.receiver == peer_id, revisions.c.work == Work.OPEN.value)
    rows = connection.execute(select(revisions.c.request_id, revisions.c.revision).where(*asked)).all()
    for row in rows:
        requests.current(connection, row.request_id, lock=True)
        view = load(connection, row.request_id, row.revision, lock=True)
        if view is not None and view.work is Work.OPEN:
            requests.acknowledge_cancel(connection, view, now, by="removal")
