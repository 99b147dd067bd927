"""Events as they arrived, and the keys by which each is taken once.

A key is claimed in the transaction that stores what the event leads to, so that of any number of copies, on any number
of gateways, exactly one leads to anything. Keys are kept for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, cast

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from manager.decisions.inbound import Envelope
from manager.ids import RequestId
from manager.ledger.inserting import new_only
from manager.ledger.tables import event_bodies, event_keys, events
from returns.ids import AppName, Millis
from returns.ledger.deferring import deferred
from returns.ledger.prepared import Prepared, Row, listed, names, size_for
from returns.ledger.wakeups import announce

HELD_EVENTS = "held_events"
"""The topic of events that wait to be judged again."""

KEYS_AT_ONCE = 256
LONGEST_KEY = 200
LONGEST_NAME = 120
LONGEST_TYPE = 80


class EventState(Enum):
    """What became of an event."""

    ACCEPTED = "accepted"
    """It led to a turn, a correction or a change of a chat."""
    IGNORED = "ignored"
    """It asks nothing of the steward; ``reason`` says why."""
    HELD = "held"
    """Not known yet; it is judged again. Its body is kept until then."""
    PARKED = "parked"
    """Of a known type and not as documented; its body is kept for whoever looks at it."""
    LATE = "late"
    """Answered and said to be late, or a control word that expired."""
    ALARM = "alarm"
    """Another body under the name of an event that was taken before."""


# Statements that run for every event are made once: making one costs more than running it.
_TAKE: Final = new_only(event_keys, ("app", "key", "seq", "body_digest", "at"))
_STORE: Final = Prepared(
    insert(events),
    (
        "seq",
        "app",
        "event_id",
        "event_type",
        "state",
        "reason",
        "created_at",
        "received_at",
        "request_id",
        "body_digest",
    ),
)
_NUMBERS: Final = {
    # there, the only one that writes is the one that asks
    "sqlite": Prepared(select((func.coalesce(func.max(events.c.seq), 0) + 1).label("seq"))),
    "postgresql": Prepared(select(func.nextval(func.pg_get_serial_sequence("events", "seq")).label("seq"))),
}
_OF_SEQ: Final = select(events.c.state).where(events.c.seq == bindparam("seq"))
_STATE: Final = Prepared(_OF_SEQ)
_LOCKED: Final = Prepared(_OF_SEQ.with_for_update())


@dataclass(frozen=True, slots=True)
class Claim:
    """Who took a key."""

    seq: int
    body_digest: str


@dataclass(frozen=True, slots=True)
class HeldEvent:
    """An event to be judged again."""

    seq: int
    app: AppName
    body: str
    received_at: Millis


def key(kind: str, value: str) -> str:
    """The key of one kind for a value; a value that is too long stands as its digest."""
    plain = f"{kind}:{value}"
    return plain if len(plain) <= LONGEST_KEY else f"{kind}:sha256:{hashlib.sha256(value.encode()).hexdigest()}"


def claims(connection: Connection, app: AppName, keys: Sequence[str]) -> dict[str, Claim]:
    """Those of the keys (at least one) that are taken, and by whom."""
    return {
        cast("str", row["key"]): Claim(cast("int", row["seq"]), cast("str", row["body_digest"]))
        for start in range(0, len(keys), KEYS_AT_ONCE)
        for row in _read(connection, app, keys[start : start + KEYS_AT_ONCE])
    }


def _read(connection: Connection, app: AppName, keys: Sequence[str]) -> list[Row]:
    return _taken(size_for(len(keys))).rows(connection, {"app": app, **listed("key", keys)})


@lru_cache(maxsize=32)
def _taken(count: int) -> Prepared:
    return Prepared(
        select(event_keys.c.key, event_keys.c.seq, event_keys.c.body_digest).where(
            event_keys.c.app == bindparam("app"), event_keys.c.key.in_(names("key", count))
        )
    )


def claim(connection: Connection, app: AppName, keys: Sequence[str], taken: Claim, now: Millis) -> bool:
    """Take all the keys; False when somebody else took one at the same time (then roll back)."""
    return claim_all(connection, [(app, one, taken) for one in keys], now)


def claim_all(connection: Connection, wanted: Sequence[tuple[AppName, str, Claim]], now: Millis) -> bool:
    """As ``claim``, for keys of several events."""
    rows = [  # in one order everywhere, so that two gateways that take the same events do not wait for each other
        {"app": app, "key": one, "seq": taken.seq, "body_digest": taken.body_digest, "at": now}
        for app, one, taken in sorted(wanted, key=lambda each: each[:2])
    ]
    return not rows or _TAKE[connection.dialect.name].run_many(connection, rows) == len(rows)


def store(
    connection: Connection,
    envelope: Envelope,
    state: EventState,
    reason: str | None,
    now: Millis,
    request: RequestId | None = None,
) -> int:
    """Store an event; its sequence number."""
    seq = _next_number(connection)
    _STORE.defer(
        connection,
        {
            "seq": seq,
            "app": envelope.app,
            "event_id": envelope.event_id[:LONGEST_NAME],
            "event_type": envelope.event_type[:LONGEST_TYPE],
            "state": state.value,
            "reason": reason,
            "created_at": envelope.created_at,
            "received_at": now,
            "request_id": request,
            "body_digest": envelope.body_digest,
        },
    )
    return seq


def _next_number(connection: Connection) -> int:
    """The sequence number of the next event."""
    waiting = deferred(connection)
    last = None if waiting is None else waiting.numbers.get(events.name)
    numbers = _NUMBERS[connection.dialect.name]
    seq = cast("int", numbers.only(connection, {})["seq"]) if last is None else last + 1
    if waiting is not None and connection.dialect.name == "sqlite":  # the last one is not written yet
        waiting.numbers[events.name] = seq
    return seq


def settle(
    connection: Connection, seq: int, state: EventState, reason: str | None = None, request: RequestId | None = None
) -> None:
    """Say what became of an event that is being taken or judged again."""
    connection.execute(
        update(events).where(events.c.seq == seq).values(state=state.value, reason=reason, request_id=request)
    )


def hold(connection: Connection, seq: int, body: str) -> None:
    """Keep what a held event is judged by, and ring for it."""
    keep_body(connection, seq, body)
    announce(connection, HELD_EVENTS)


def keep_body(connection: Connection, seq: int, body: str) -> None:
    """Keep what the event said."""
    connection.execute(insert(event_bodies).values(seq=seq, body=body))


def drop_body(connection: Connection, seq: int) -> None:
    """Forget what the event said."""
    connection.execute(delete(event_bodies).where(event_bodies.c.seq == seq))


def is_held(connection: Connection, seq: int) -> bool:
    """Whether the event still waits to be judged again; locks it, so that one gateway alone judges it."""
    return _state(_LOCKED, connection, seq) is EventState.HELD


def was_late(connection: Connection, seq: int) -> bool:
    """Whether the event came late."""
    return _state(_STATE, connection, seq) is EventState.LATE


def _state(query: Prepared, connection: Connection, seq: int) -> EventState | None:
    row = query.first(connection, {"seq": seq})
    return None if row is None else EventState(row["state"])


def held(connection: Connection, app: AppName, after: int, limit: int) -> tuple[HeldEvent, ...]:
    """Held events of the app behind the sequence number ``after``, oldest first."""
    query = (
        select(events.c.seq, events.c.app, events.c.received_at, event_bodies.c.body)
        .join(event_bodies, event_bodies.c.seq == events.c.seq)
        .where(events.c.state == EventState.HELD.value, events.c.app == app, events.c.seq > after)
        .order_by(events.c.seq)
        .limit(limit)
    )
    return tuple(
        HeldEvent(row.seq, AppName(row.app), row.body, Millis(row.received_at)) for row in connection.execute(query)
    )
