"""The one way in which a part changes its state.

``move`` asks the table, writes the row guarded by the state and the fence that it leaves, and in the same transaction
writes what follows from it: the facts, the parts behind it, the answer's summary and the wakeups.

One fact of a move says what a replay needs: its event, the state that it led to, and whatever else of the part's public
columns became another one. It is the fact of having been settled, where the move settled the part, and otherwise the
one that the caller tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, cast

from sqlalchemy import Connection, and_, bindparam, or_, select, update

from returns.delivery import ERRORS, Error, Event, State, advance
from returns.ids import Millis, ReturnId
from returns.ledger import answers
from returns.ledger.facts import Detail, Fact, record
from returns.ledger.lanes import SEND, lane_of
from returns.ledger.parts import Part
from returns.ledger.prepared import Prepared
from returns.ledger.repeating import Earlier, earlier, repeated_by
from returns.ledger.tables import parts
from returns.ledger.wakeups import RETURNS, RETURNS_SETTLED, announce

_NEXT: Final = Prepared(
    update(parts)
    .where(
        parts.c.return_id == bindparam("of_return"),
        parts.c.position == bindparam("at"),
        parts.c.state == State.QUEUED.value,
    )
    .values(lane=SEND, error=None, due_at=bindparam("now"), updated_at=bindparam("now")),
)

_GO_ON: Final = Prepared(
    update(parts)
    .where(
        parts.c.return_id == bindparam("of_return"),
        parts.c.position == bindparam("at"),
        parts.c.state.in_([bindparam("queued", State.QUEUED.value), bindparam("refused", State.RETRY_PENDING.value)]),
        or_(parts.c.lane.is_(None), and_(parts.c.lease_owner.is_(None), parts.c.lease_until.is_not(None))),
    )
    .values(lane=SEND, lease_until=None, due_at=parts.c.updated_at),
)
"""What stepped aside, or waited in its place, was due then, and keeps its place before what became due since."""

_SHOWN: Final = {"attempts": "attempt", "verification": "verification", "placement": "placement"}
"""Columns that a move may change, and what its fact calls them."""

_SETTLED: Final = {
    State.DELIVERED: Fact.DELIVERED,
    State.EXPLICIT_UNVERIFIED: Fact.UNVERIFIED,
    State.UNDELIVERABLE: Fact.UNDELIVERABLE,
    State.SUPERSEDED: Fact.SUPERSEDED,
}


@dataclass(frozen=True, slots=True)
class Told:
    """The fact that a move is told by."""

    fact: Fact
    detail: Detail = field(default_factory=dict[str, str | int | bool | None])


_first = parts.alias("first")
_FORWARD: Final = Prepared(
    update(parts)
    .where(
        parts.c.part_id
        == select(_first.c.part_id)
        .where(_first.c.lane == SEND, _first.c.chat_key == bindparam("chat"))
        .order_by(_first.c.return_seq, _first.c.position)
        .limit(1)
        .scalar_subquery(),
        parts.c.state == State.QUEUED.value,
        parts.c.due_at > bindparam("now"),
        or_(parts.c.lease_until.is_(None), parts.c.lease_until <= bindparam("now")),
    )
    .values(due_at=bindparam("now"))
)
"""The part that is now the first one of its chat was put back behind one that was before it or under way; it is due
(see ``due.put_back``)."""


def move(
    connection: Connection,
    part: Part,
    event: Event,
    now: Millis,
    *,
    due_at: Millis | None = None,
    error: Error | None = None,
    changes: Mapping[str, object] | None = None,
    told: Told | None = None,
) -> bool:
    """Apply ``event`` to the part as it was loaded; False if it is no longer in that state and under that fence.

    ``due_at`` is when to look at it next (now, if None); ``error`` stands instead of the event's own; ``changes`` are
    further columns; ``told`` is the fact that it is told by: a move that changes nothing to be seen needs none. Raises
    ``IllegalTransition`` and moves nothing if the table has no such move.
    """
    target = advance(part.state, event)
    left = error or ERRORS[event]
    values: dict[str, object] = {
        "state": target.value,
        "error": left.value if left else None,
        "needs_configuration": event is Event.REFUSED_CONFIGURATION,
        "lane": lane_of(target, left, part.lane),
        "due_at": now if due_at is None else due_at,
        "lease_owner": None,
        "lease_until": None,
        "updated_at": now,
        **(changes or {}),
    }
    if not write(connection, part, values):
        return False
    _tell(connection, part, _moved(event, target, values), now, told)
    _follow(connection, part, target, now)
    return True


def write(connection: Connection, part: Part, values: Mapping[str, object]) -> bool:
    """Write columns of the part as it was loaded; False if it is no longer in that state and under that fence."""
    leaves = {"of_part": part.part_id, "of_state": part.state.value, "of_fence": part.fence}
    return _writing(tuple(values)).run(connection, {**values, **leaves}) == 1


@lru_cache(maxsize=64)
def _writing(columns: tuple[str, ...]) -> Prepared:
    guarded = update(parts).where(
        parts.c.part_id == bindparam("of_part"),
        parts.c.state == bindparam("of_state"),
        parts.c.fence == bindparam("of_fence"),
    )
    return Prepared(guarded, columns)


def note(connection: Connection, part: Part, at: Millis, fact: Fact, detail: Detail | None = None) -> None:
    """Record a fact of this part."""
    record(connection, part.subject, part.return_id, part.position, at, fact, detail)


def refresh(connection: Connection, part: Part, now: Millis) -> None:
    """Recompute the summary of the part's answer."""
    if part.kind == "answer":
        answers.refresh(connection, part.subject, part.return_id, now)


def _moved(event: Event, target: State, values: Mapping[str, object]) -> Detail:
    """What a replay needs of a move."""
    changed = {name: cast("str | int | None", values[column]) for column, name in _SHOWN.items() if column in values}
    return {
        "event": event.value,
        "state": target.value,
        "error": cast("str | None", values["error"]),
        "needs_configuration": True if values["needs_configuration"] else None,
        **changed,
    }


def _tell(connection: Connection, part: Part, moved: Detail, now: Millis, told: Told | None) -> None:
    """Record the move with the fact that it is told by, or with that of the part's being settled."""
    settled = _SETTLED.get(State(moved["state"]))
    if settled is not None:
        if told is not None:
            note(connection, part, now, told.fact, told.detail)
        note(connection, part, now, settled, moved)
    elif told is not None:
        note(connection, part, now, told.fact, {**told.detail, **moved})
    elif _shows(part, moved):
        note(connection, part, now, Fact.MOVED, moved)


def _shows(part: Part, moved: Detail) -> bool:
    """Whether the part looks different after a move that changed no more than its state."""
    before = (part.state.value, part.error.value if part.error else None, part.needs_configuration)
    return before != (moved["state"], moved["error"], bool(moved["needs_configuration"]))


def _follow(connection: Connection, part: Part, target: State, now: Millis) -> None:
    """What the move means for the parts behind this one, for the answer and for who waits."""
    if part.state is State.SENDING or (part.lane == SEND and lane_of(target) != SEND):
        _FORWARD.run(connection, {"chat": part.chat_key, "now": now})
    if target is State.DELIVERED:
        release_next(connection, part, now)
        for return_id, position in repeated_by(connection, part):
            _go_on(connection, return_id, position)
            _release(connection, return_id, position + 1, now)
    elif target in (State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE):
        for return_id, position in repeated_by(connection, part):
            _go_on(connection, return_id, position)
        if earlier(connection, part) is Earlier.DELIVERED:
            release_next(connection, part, now)
        else:
            _mark_held(connection, part, Error.EARLIER_PART_UNVERIFIED, now)
    elif part.state is State.EXPLICIT_UNVERIFIED:  # it is looked at again
        _mark_held(connection, part, None, now)
    refresh(connection, part, now)
    announce(connection, RETURNS)
    if target not in (State.SENDING, State.VERIFICATION_REQUIRED):  # it can no longer echo unrecognised
        announce(connection, RETURNS_SETTLED)


def step_aside(connection: Connection, part: Part, now: Millis) -> None:
    """Let others of the chat go on until what the part repeats is settled, which is being read."""
    if write(connection, part, {"lane": None}):
        _FORWARD.run(connection, {"chat": part.chat_key, "now": now})
        announce(connection, RETURNS)


def wait_in_place(connection: Connection, part: Part, until: Millis) -> None:
    """Let nothing of the chat go on before what the part repeats was looked for; it is asked again ``until`` then.

    A lease without an owner says so.
    """
    write(connection, part, {"lease_until": until, "lease_owner": None, "due_at": until})


def _go_on(connection: Connection, return_id: ReturnId, position: int) -> None:
    _GO_ON.run(connection, {"of_return": return_id, "at": position})


def release_next(connection: Connection, part: Part, now: Millis) -> None:
    """The next part of the return takes its place in the chat's queue."""
    _release(connection, part.return_id, part.position + 1, now)


def _release(connection: Connection, return_id: ReturnId, position: int, now: Millis) -> None:
    _NEXT.run(connection, {"of_return": return_id, "at": position, "now": now})


def _mark_held(connection: Connection, part: Part, error: Error | None, now: Millis) -> None:
    """Say of the queued parts behind this one whether they are stopped by it or only wait for it."""
    connection.execute(
        update(parts)
        .where(
            parts.c.return_id == part.return_id,
            parts.c.position > part.position,
            parts.c.state == State.QUEUED.value,
        )
        .values(error=error.value if error else None, updated_at=now)
    )
