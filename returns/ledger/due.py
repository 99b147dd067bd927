"""What the pump has to look at next. The cost follows what is pending, never what is stored.

Of the parts that wait to be sent, only the head of each chat is due: the first in the order of its return and its
position. A part that somebody is sending keeps its chat to itself. Parts that wait to be read hold nobody up.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, exists, or_, select, update

from returns.delivery import State
from returns.ids import AppName, ChatKey, Millis, PartId
from returns.ledger.lanes import SEND, VERIFY, Lane
from returns.ledger.parts import Part
from returns.ledger.prepared import Prepared, listed, size_for
from returns.ledger.tables import parts

_BEFORE: Final = Prepared(
    select(parts.c.part_id)
    .where(
        parts.c.lane == SEND,
        parts.c.chat_key == bindparam("chat"),
        parts.c.part_id != bindparam("part"),
        or_(
            parts.c.return_seq < bindparam("seq"),
            and_(parts.c.return_seq == bindparam("seq"), parts.c.position < bindparam("position")),
            parts.c.state == State.SENDING.value,
        ),
    )
    .limit(1)
)


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
    chats, apps, left_out = sorted(excluded.chats), sorted(excluded.apps), sorted(excluded.parts)
    prepared = _prepared(lane, size_for(len(chats)), size_for(len(apps)), size_for(len(left_out)))
    asked = {"limit": limit, **listed("chat", chats), **listed("app", apps), **listed("part", left_out)}
    return tuple(
        Due(
            PartId(cast("str", row["part_id"])),
            ChatKey(cast("str", row["chat_key"])),
            AppName(cast("str", row["app"])),
            State(row["state"]),
            Millis(cast("int", row["due_at"])),
        )
        for row in prepared.rows(connection, asked)
    )


@lru_cache(maxsize=256)
def _prepared(lane: Lane, chats: int, apps: int, left_out: int) -> Prepared:
    """The query for so many names of each kind."""
    excluded = Excluded([ChatKey("")] * chats, [AppName("")] * apps, [PartId("")] * left_out)
    return Prepared(statement(lane, 0, excluded))


def statement(lane: Lane, limit: int, excluded: Excluded) -> Select[str, str, str, str, int]:
    """The query of ``next_due``."""
    query = select(parts.c.part_id, parts.c.chat_key, parts.c.app, parts.c.state, parts.c.due_at).where(
        parts.c.lane == lane
    )
    if lane == SEND:
        query = query.where(or_(parts.c.state == State.SENDING.value, ~_behind()))
    kinds = (
        ("chat", parts.c.chat_key, excluded.chats),
        ("app", parts.c.app, excluded.apps),
        ("part", parts.c.part_id, excluded.parts),
    )
    for name, column, left_out in kinds:
        if left_out:
            query = query.where(
                column.not_in([bindparam(each, value) for each, value in listed(name, left_out).items()])
            )
    return query.order_by(parts.c.due_at).limit(bindparam("limit", limit))


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
    place = {"chat": part.chat_key, "part": part.part_id, "seq": part.return_seq, "position": part.position}
    return _BEFORE.first(connection, place) is None


def pull_in(connection: Connection, now: Millis, longest_ms: int) -> int:
    """Make due what lies further ahead than any delay of ours: the clock went back. Returns how many parts."""
    pulled = connection.execute(
        update(parts)
        .where(parts.c.lane.in_((SEND, VERIFY)), parts.c.due_at > now + longest_ms)
        .values(due_at=now, lease_until=None)
    )
    return pulled.rowcount
