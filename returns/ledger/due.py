"""What the pump has to look at next. The cost follows what is started, neither what is pending nor what is stored.

Of the parts that wait to be sent, only the head of each chat is due: the first in the order of its return and its
position. A part that somebody is sending keeps its chat to itself. What stands behind another part of its chat is put
back when a look comes upon it, and brought forward when that part leaves (``moves``); whether a part may be sent is
decided by ``is_head`` alone. Parts that wait to be read hold nobody up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, cast

from sqlalchemy import Connection, Integer, Select, bindparam, exists, func, or_, select, update

from returns.delivery import Error, State
from returns.ids import AppName, ChatKey, Millis, PartId, ThreadId
from returns.ledger.lanes import LANES, SEARCH, SEND, Lane
from returns.ledger.locking import lock_chat
from returns.ledger.parts import Part
from returns.ledger.prepared import Prepared, Row
from returns.ledger.tables import parts, return_routes

MOST_ROWS: Final = 1024
"""The most rows that one look at an app's lane reads."""

MOST_BEHIND: Final = 512
"""After so many parts that stand behind others, those are put back first."""

MARGIN: Final = 8
"""So many more rows than are wanted are read at first, for those that are taken."""

REFUSED_BACK_MS: Final = 5_000
"""For so long a part that was refused before, and stands behind another one now, is not looked at."""

_others = parts.alias("others")
_BEHIND: Final = or_(
    select(_others.c.part_id)
    .where(_others.c.lane == SEND, _others.c.chat_key == parts.c.chat_key)
    .order_by(_others.c.return_seq, _others.c.position)
    .limit(1)
    .scalar_subquery()
    != parts.c.part_id,
    exists().where(
        _others.c.lane == SEND,
        _others.c.chat_key == parts.c.chat_key,
        _others.c.state == State.SENDING.value,
        _others.c.part_id != parts.c.part_id,
    ),
)
"""Whether another part of the send lane comes before this one of its chat, or is under way."""

_IS_BEHIND: Final = Prepared(select(parts.c.part_id).where(parts.c.part_id == bindparam("part"), _BEHIND))
_NEXT_APP: Final = Prepared(
    select(func.min(parts.c.app).label("app")).where(parts.c.lane == bindparam("lane"), parts.c.app > bindparam("app"))
)
_NEXT_DUE: Final = Prepared(
    select(func.min(parts.c.due_at).label("due_at")).where(
        parts.c.lane == bindparam("lane"), parts.c.app == bindparam("app"), parts.c.due_at > bindparam("now")
    )
)
_PUT_BACK: Final = Prepared(
    update(parts)
    .where(
        parts.c.part_id == bindparam("part"),
        parts.c.lane == SEND,
        parts.c.state == bindparam("of_state"),
        parts.c.due_at <= bindparam("now"),
        _BEHIND,
    )
    .values(due_at=bindparam("until"))
)
_PULL_IN: Final = Prepared(
    update(parts)
    .where(
        parts.c.lane.in_([bindparam(f"lane_{number}", lane) for number, lane in enumerate(LANES)]),
        parts.c.due_at > bindparam("latest"),
        or_(
            parts.c.state != State.SENDING.value,
            parts.c.lease_owner == bindparam("owner"),
            parts.c.updated_at > bindparam("now"),
        ),
    )
    .values(due_at=bindparam("now"), lease_until=None)
)


@dataclass(frozen=True, slots=True)
class Due:
    """A part to look at, and since when. The thread is private and only told of parts that are looked for."""

    part_id: PartId
    chat_key: ChatKey
    app: AppName
    state: State
    due_at: Millis
    thread_id: ThreadId | None = None
    unread: bool = False
    """Whether the last look could not read what it had to."""

    @property
    def place(self) -> tuple[ChatKey, ThreadId | None]:
        """Whose history shows it."""
        return self.chat_key, self.thread_id


@dataclass(frozen=True, slots=True)
class Asked:
    """How much of a lane a pass has room for."""

    lane: Lane
    most: int
    """In all."""
    rooms: Mapping[AppName, int]
    """For each app; 0 leaves it out."""
    other_apps: int
    """For each app that ``rooms`` does not name."""
    taken: Collection[object] = ()
    """What is under way: chats of parts to send, places of parts to look for, ids of parts to read."""
    under_way: Mapping[AppName, int] = field(default_factory=dict[AppName, int])
    """How many steps of each app are under way: the app with the fewest comes first, so that none takes all places."""
    elsewhere: Collection[AppName] = ()
    """Apps whose parts are left to other gateways."""
    unread: int = MOST_ROWS
    """In all, of those that could not be read the last time: what hangs leaves places to what does not."""


@dataclass(frozen=True, slots=True)
class Front:
    """What a look at a lane found."""

    due: tuple[Due, ...] = ()
    """To be started, the earliest first in each app; at most one a chat to send, and one a place to look for."""
    behind: tuple[Due, ...] = ()
    """Parts to be put back: another one of their chat stands before them."""
    apps: tuple[AppName, ...] = ()
    """Apps with parts in the lane, but those that are left to others."""
    next_at: Millis | None = None
    """When the next part is due that is not yet."""


def front(connection: Connection, asked: Asked, now: Millis) -> Front:
    """What of a lane is due and may be started."""
    found: list[Due] = []
    behind: list[Due] = []
    next_at: Millis | None = None
    apps = tuple(app for app in apps_of(connection, asked.lane) if app not in asked.elsewhere)
    for app in sorted(apps, key=lambda each: asked.under_way.get(each, 0)):
        room = min(asked.rooms.get(app, asked.other_apps), asked.most - len(found))
        if room <= 0:
            continue
        again = asked.unread - sum(due.unread for due in found)
        of_app, put_back = _of_app(connection, replace(asked, unread=again), app, room, now)
        found += of_app
        behind += put_back
        later = _NEXT_DUE.only(connection, {"lane": asked.lane, "app": app, "now": now})["due_at"]
        if later is not None and (next_at is None or cast("int", later) < next_at):
            next_at = Millis(cast("int", later))
    return Front(tuple(found), tuple(behind), apps, next_at)


def apps_of(connection: Connection, lane: Lane) -> tuple[AppName, ...]:
    """The apps that have parts in the lane, by one step of the index each."""
    found: list[AppName] = []
    after = ""
    while (app := _NEXT_APP.only(connection, {"lane": lane, "app": after})["app"]) is not None:
        after = cast("str", app)
        found.append(AppName(after))
    return tuple(found)


def _of_app(connection: Connection, asked: Asked, app: AppName, room: int, now: Millis) -> tuple[list[Due], list[Due]]:
    """Read on until there is enough or nothing more, so that what is taken hides nothing."""
    limit = room + MARGIN
    while True:
        rows = _rows(connection, asked.lane, app, now, limit)
        due, behind = _startable(asked, rows, room)
        if len(due) == room or len(rows) < limit or limit >= MOST_ROWS or len(behind) >= MOST_BEHIND:
            return due, behind
        limit = min(limit * 4, MOST_ROWS)


def _startable(asked: Asked, rows: Sequence[Row], room: int) -> tuple[list[Due], list[Due]]:
    found: list[Due] = []
    behind: list[Due] = []
    begun: set[object] = set()
    again = asked.unread
    for row in rows:
        due = _due(row)
        if row.get("behind") and not _lost(due):
            behind.append(due)
            continue
        key = _taken_by(asked.lane, due)
        if key in begun or key in asked.taken or (due.unread and again <= 0):
            continue
        begun.add(key)
        found.append(due)
        again -= due.unread
        if len(found) == room:
            break
    return found, behind


def _lost(due: Due) -> bool:
    """Whether it is an attempt that lost its holder: that stands behind nothing."""
    return due.state is State.SENDING


def _taken_by(lane: Lane, due: Due) -> object:
    """What of the part is under way when it is: see ``Asked.taken``."""
    match lane:
        case "send":
            return due.chat_key
        case "verify":
            return due.part_id
        case "search":
            return due.place


def statement(lane: Lane) -> Select[*tuple[object, ...]]:
    """The query for the parts of an app's lane that are due, the earliest first."""
    columns = [
        parts.c.part_id,
        parts.c.chat_key,
        parts.c.app,
        parts.c.state,
        parts.c.error,
        parts.c.due_at,
    ]
    query = select(*columns)
    if lane == SEND:
        query = select(*columns, _BEHIND.label("behind"))
    elif lane == SEARCH:
        query = select(*columns, return_routes.c.thread_id).join(
            return_routes, return_routes.c.return_id == parts.c.return_id
        )
    chosen = (
        query.where(
            parts.c.lane == bindparam("lane"), parts.c.app == bindparam("app"), parts.c.due_at <= bindparam("now")
        )
        .order_by(parts.c.due_at)
        .limit(bindparam("limit", type_=Integer))
    )
    return cast("Select[*tuple[object, ...]]", chosen)


@lru_cache(maxsize=4)
def _prepared(lane: Lane) -> Prepared:
    return Prepared(statement(lane))


def _rows(connection: Connection, lane: Lane, app: AppName, now: Millis, limit: int) -> list[Row]:
    return _prepared(lane).rows(connection, {"lane": lane, "app": app, "now": now, "limit": limit})


def _due(row: Row) -> Due:
    return Due(
        PartId(cast("str", row["part_id"])),
        ChatKey(cast("str", row["chat_key"])),
        AppName(cast("str", row["app"])),
        State(row["state"]),
        Millis(cast("int", row["due_at"])),
        cast("ThreadId | None", row.get("thread_id")),
        row["error"] == Error.PROVIDER_VERIFICATION_UNAVAILABLE.value,
    )


def is_head(connection: Connection, part: Part) -> bool:
    """Whether no other part of the chat comes before this one of the send lane or is under way."""
    return _IS_BEHIND.first(connection, {"part": part.part_id}) is None


def put_back(connection: Connection, behind: Collection[Due], now: Millis, until: Millis) -> None:
    """Look at parts later that stand behind others; when those leave, they are brought forward before that.

    Whether they still do is looked up under the lock of their chat, for nobody would notice that the other one has left
    in between. A part that was refused before is not brought forward, for it may have to wait for its own time: it is
    looked at again soon.
    """
    soon = min(now + REFUSED_BACK_MS, until)
    for chat in sorted({due.chat_key for due in behind}):  # all take the locks in one order
        lock_chat(connection, chat)
    rows = [
        {
            "part": due.part_id,
            "of_state": due.state.value,
            "now": now,
            "until": until if due.state is State.QUEUED else soon,
        }
        for due in behind
    ]
    _PUT_BACK.run_many(connection, rows)


def pull_in(connection: Connection, owner: str, now: Millis, longest_ms: int) -> int:
    """Make due what lies further ahead than any delay of ours: the clock went back. Returns how many parts.

    What another gateway is sending may lie further ahead, by a longer lease of its own: it is left alone, unless it was
    begun in what is the future now.
    """
    return _PULL_IN.run(connection, {"latest": now + longest_ms, "owner": owner, "now": now})
