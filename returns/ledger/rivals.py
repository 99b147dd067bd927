"""Parts that one message could be just as well: with the same content, in the same place, not proved."""

from __future__ import annotations

from enum import Enum
from typing import Final

from sqlalchemy import Connection, bindparam, or_, select

from returns.delivery import State
from returns.ledger.lanes import LANES
from returns.ledger.parts import Part
from returns.ledger.prepared import Prepared, Row
from returns.ledger.tables import part_locators, parts, return_routes
from returns.ports import Route

_UNPROVED = (State.SENDING, State.VERIFICATION_REQUIRED, State.EXPLICIT_UNVERIFIED)

_RIVALS: Final = Prepared(
    select(parts.c.placement, parts.c.state, return_routes.c.reply_to, part_locators.c.part_id.label("located"))
    .join(return_routes, return_routes.c.return_id == parts.c.return_id)
    .outerjoin(part_locators, part_locators.c.part_id == parts.c.part_id)
    .where(
        or_(
            parts.c.lane.in_([bindparam(f"lane_{number}", lane) for number, lane in enumerate(LANES)]),
            parts.c.lane.is_(None),
        ),
        parts.c.chat_key == bindparam("chat"),
        parts.c.fingerprint == bindparam("fingerprint"),
        parts.c.part_id != bindparam("part"),
        parts.c.state.in_([bindparam(f"state_{number}", state.value) for number, state in enumerate(_UNPROVED)]),
        return_routes.c.thread_id.is_not_distinct_from(bindparam("thread")),
    )
)


class Rivals(Enum):
    """Whether a message that could be a part could be another part's just as well."""

    NONE = "none"
    OPEN = "open"
    """They are being sent, or where they are is said already and read next: that tells more."""
    UNPROVED = "unproved"
    """Of one of them nothing more will be known by itself."""


def rivals_of(connection: Connection, part: Part, route: Route) -> Rivals:
    """How the unproved parts stand that were attempted with the same content and place, whatever became of them since.

    Whenever that was: an answer that could not be proved may have arrived all the same, also where a wrong message is
    kept in its place, and the moment of an attempt is by a clock that may have been wrong.
    """
    asked = {
        "chat": part.chat_key,
        "fingerprint": part.fingerprint,
        "part": part.part_id,
        "thread": route.thread_id,
    }
    others = [other for other in _RIVALS.rows(connection, asked) if _same_parent(other, route)]
    if not others:
        return Rivals.NONE
    return Rivals.OPEN if all(_is_open(other) for other in others) else Rivals.UNPROVED


def _is_open(other: Row) -> bool:
    state = State(other["state"])
    return state is State.SENDING or (state is State.VERIFICATION_REQUIRED and other["located"] is not None)


def _same_parent(other: Row, route: Route) -> bool:
    """In a thread a parent says nothing; elsewhere the message answers the same one."""
    parent = other["reply_to"] if other["placement"] == "reply" else None
    return route.thread_id is not None or parent == route.reply_to
