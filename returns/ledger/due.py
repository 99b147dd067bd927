"""What the pump has to look at next. The cost follows what is pending, never what is stored.

Of the parts that wait to be sent, only the head of each chat is due: the first in the order of its return and its
position. A part that somebody is sending keeps its chat to itself. Parts that wait to be read hold nobody up.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, or_, select, update

from returns.delivery import State
from returns.ids import AppName, ChatKey, Millis, PartId
from returns.ledger.lanes import SEND, VERIFY, Lane
from returns.ledger.parts import Part
from returns.ledger.tables import parts


@dataclass(frozen=True, slots=True)
class Due:
    """A part to look at, and when."""

    part_id: PartId
    chat_key: ChatKey
    app: AppName
    state: State
    due_at: Millis


@dataclass(frozen=True, slots=True)
class Excluded:
    """What a pass leaves out for now."""

    chats: Collection[ChatKey] = ()
    apps: Collection[AppName] = ()
    parts: Collection[PartId] = ()


def next_due(connection: Connection, lane: Lane, limit: int, excluded: Excluded) -> tuple[Due, ...]:
    """The next parts of the lane, earliest first, due or not; among them at most one a chat in the send lane."""
    rows = connection.execute(statement(lane, limit, excluded)).all()
    return tuple(
        Due(PartId(part_id), ChatKey(chat_key), AppName(app), State(state), Millis(due_at))
        for part_id, chat_key, app, state, due_at in rows
    )


def statement(lane: Lane, limit: int, excluded: Excluded) -> Select[str, str, str, str, int]:
    """The query of ``next_due``."""
    query = select(parts.c.part_id, parts.c.chat_key, parts.c.app, parts.c.state, parts.c.due_at).where(
        parts.c.lane == lane
    )
    if lane == SEND:
        query = query.where(or_(parts.c.state == State.SENDING.value, ~_behind()))
    if excluded.chats:
        query = query.where(parts.c.chat_key.not_in(sorted(excluded.chats)))
    if excluded.apps:
        query = query.where(parts.c.app.not_in(sorted(excluded.apps)))
    if excluded.parts:
        query = query.where(parts.c.part_id.not_in(sorted(excluded.parts)))
    return query.order_by(parts.c.due_at).limit(limit)


def _behind() -> ColumnElement[bool]:
    """Whether another part of the chat comes first, or is under way."""
    other = parts.alias("other")
    return exists(
        select(other.c.part_id).where(
            other.c.lane == SEND,
            other.c.chat_key == parts.c.chat_key,
            other.c.part_id != parts.c.part_id,
            or_(
                other.c.return_seq < parts.c.return_seq,
                and_(other.c.return_seq == parts.c.return_seq, other.c.position < parts.c.position),
                other.c.state == State.SENDING.value,
            ),
        )
    )


def is_head(connection: Connection, part: Part) -> bool:
    """Whether no other part of the chat comes before this one or is under way."""
    before = connection.execute(
        select(parts.c.part_id)
        .where(
            parts.c.lane == SEND,
            parts.c.chat_key == part.chat_key,
            parts.c.part_id != part.part_id,
            or_(
                parts.c.return_seq < part.return_seq,
                and_(parts.c.return_seq == part.return_seq, parts.c.position < part.position),
                parts.c.state == State.SENDING.value,
            ),
        )
        .limit(1)
    ).one_or_none()
    return before is None


def pull_in(connection: Connection, now: Millis, longest_ms: int) -> int:
    """Make due what lies further ahead than any delay of ours: the clock went back. Returns how many parts."""
    pulled = connection.execute(
        update(parts)
        .where(parts.c.lane.in_((SEND, VERIFY)), parts.c.due_at > now + longest_ms)
        .values(due_at=now, lease_until=None)
    )
    return pulled.rowcount
