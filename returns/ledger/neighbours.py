"""Parts of one place, claimed together: one reading of that place's history may settle them all.

A place is a chat, or a thread in it: what one history shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from sqlalchemy import Connection, bindparam, or_, select, update

from returns.decisions.keys import chat_key
from returns.decisions.policy import ReturnsPolicy
from returns.delivery import Error
from returns.ids import Millis
from returns.ledger.checks import Check, claim
from returns.ledger.lanes import SEARCH, Lane
from returns.ledger.locking import lock_chat
from returns.ledger.parts import from_row, selection
from returns.ledger.prepared import Prepared
from returns.ledger.tables import parts, return_routes
from returns.ports import Authority, Route

_OF_PLACE: Final = Prepared(
    selection()
    .join(return_routes, return_routes.c.return_id == parts.c.return_id)
    .where(
        parts.c.lane == bindparam("lane"),
        parts.c.chat_key == bindparam("chat"),
        return_routes.c.thread_id.is_not_distinct_from(bindparam("thread")),
        or_(parts.c.lease_until.is_(None), parts.c.lease_until <= bindparam("now")),
        or_(
            parts.c.due_at <= bindparam("now"),
            parts.c.error == Error.PROVIDER_VERIFICATION_UNAVAILABLE.value,  # it waits only because reading failed
        ),
    )
    .order_by(parts.c.return_seq, parts.c.position)
    .limit(bindparam("limit"))
)
_KEEP: Final = Prepared(
    update(parts)
    .where(
        parts.c.lane == SEARCH,
        parts.c.chat_key == bindparam("chat"),
        parts.c.due_at <= bindparam("now"),
        parts.c.return_id.in_(
            select(return_routes.c.return_id).where(
                return_routes.c.thread_id.is_not_distinct_from(bindparam("thread")),
                return_routes.c.return_id == parts.c.return_id,
            )
        ),
    )
    .values(due_at=bindparam("until"))
)


def claim_place(
    connection: Connection,
    lane: Lane,
    route: Route,
    owner: str,
    now: Millis,
    policy: ReturnsPolicy,
    authority: Authority,
    limit: int,
) -> Sequence[Check]:
    """Claim parts of the route's place that wait in the lane and that nobody holds, the oldest first.

    Those that are due, and those that wait only because a reading failed: whoever reads the place's history reads it
    for them too. What may no longer be told is settled on the way, as by ``checks.begin``.
    """
    lock_chat(connection, chat_key(route.app, route.chat_id))
    asked = {**_place(route), "lane": lane, "now": now, "limit": limit}
    rows = _OF_PLACE.rows(connection, asked)
    claims = [claim(connection, from_row(row), owner, now, policy, authority) for row in rows]
    return [check for check in claims if check is not None]


def keep_place(connection: Connection, route: Route, now: Millis, policy: ReturnsPolicy) -> int:
    """Keep parts of the place that are to be looked for out of the way of the pump while its history is read."""
    return _KEEP.run(connection, {**_place(route), "now": now, "until": now + policy.lease_ms})


def _place(route: Route) -> dict[str, object]:
    return {"chat": cast("str", chat_key(route.app, route.chat_id)), "thread": route.thread_id}
