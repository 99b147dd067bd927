"""The calls that all gateways of a database made lately, counted one transaction after the other.

All moments are the database's, so that the gateways' clocks need not agree. A call counts from its start; whoever made
it tells its end; a call whose holder died counts from its start alone. Rows that no window reaches are removed as new
ones come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, cast

from sqlalchemy import BigInteger, Connection, bindparam, delete, func, insert, select, update
from sqlalchemy import cast as as_type

from returns.decisions.pacing import IN_FLIGHT_MS, MINUTE_MS
from returns.ids import AppName, ChatKey, Millis
from returns.ledger.inserting import or_yield
from returns.ledger.prepared import Prepared
from returns.ledger.tables import pace_calls, pace_gates
from returns.ports import Api

DatabaseClock: TypeAlias = Callable[[Connection], Millis]
"""The present moment by the clock of the database, not of the transaction's begin."""

REMEMBERED_MS: Final = MINUTE_MS + IN_FLIGHT_MS
"""No window reaches further back."""

SET_BACK_MS: Final = 1_000
"""What was counted so much later than now was counted before the database's clock was set back."""

FORGOTTEN_MS: Final = 10 * MINUTE_MS
"""A call whose end was not told for so long has none."""

_NOW: Final[Mapping[str, Prepared]] = {
    "sqlite": Prepared(select(as_type((func.julianday("now") - 2440587.5) * 86_400_000, BigInteger).label("now"))),
    "postgresql": Prepared(
        select(as_type(func.date_part("epoch", func.clock_timestamp()) * 1000, BigInteger).label("now"))
    ),
}
_GATE: Final = Prepared(
    select(pace_gates.c.paused_until)
    .where(pace_gates.c.app == bindparam("app"), pace_gates.c.api == bindparam("api"))
    .with_for_update()
)
_OPEN: Final = or_yield(pace_gates, ("app", "api", "paused_until"))
_PAUSE: Final = Prepared(
    update(pace_gates)
    .where(
        pace_gates.c.app == bindparam("of_app"),
        pace_gates.c.api == bindparam("of_api"),
        pace_gates.c.paused_until < bindparam("until"),
    )
    .values(paused_until=bindparam("until"))
)
_PAUSE_LESS: Final = Prepared(
    update(pace_gates)
    .where(pace_gates.c.app == bindparam("of_app"), pace_gates.c.api == bindparam("of_api"))
    .values(paused_until=bindparam("until"))
)
_CALLS: Final = Prepared(
    select(pace_calls.c.chat_key, pace_calls.c.counted_at, pace_calls.c.running)
    .where(
        pace_calls.c.app == bindparam("app"),
        pace_calls.c.api == bindparam("api"),
        pace_calls.c.counted_at > bindparam("since"),
    )
    .order_by(pace_calls.c.counted_at)
)
_COUNT: Final = Prepared(insert(pace_calls), ("holder", "number", "app", "api", "chat_key", "counted_at", "running"))
_END: Final = Prepared(
    update(pace_calls)
    .where(pace_calls.c.holder == bindparam("by"), pace_calls.c.number == bindparam("of"))
    .values(counted_at=bindparam("now"), running=False)
)
_SET_BACK: Final = Prepared(
    update(pace_calls)
    .where(
        pace_calls.c.app == bindparam("of_app"),
        pace_calls.c.api == bindparam("of_api"),
        pace_calls.c.counted_at > bindparam("now"),
    )
    .values(counted_at=bindparam("now"))
)
_TAKE_BACK: Final = Prepared(
    delete(pace_calls).where(pace_calls.c.holder == bindparam("by"), pace_calls.c.number == bindparam("of"))
)
_PRUNE: Final = Prepared(
    delete(pace_calls).where(
        pace_calls.c.app == bindparam("app"),
        pace_calls.c.api == bindparam("api"),
        pace_calls.c.counted_at < bindparam("before"),
        pace_calls.c.running == bindparam("running"),
    )
)


@dataclass(frozen=True, slots=True)
class Counted:
    """A call that the provider may still count."""

    at: int
    """Its start while it runs, then its end."""
    running: bool
    chat: ChatKey | None


@dataclass(frozen=True, slots=True)
class Gate:
    """An API of an app, held until the end of the transaction."""

    now: Millis
    paused_until: Millis
    calls: Sequence[Counted]


def database_now(connection: Connection) -> Millis:
    """The present moment by the database's own clock."""
    return Millis(cast("int", _NOW[connection.dialect.name].only(connection, {})["now"]))


def hold(connection: Connection, app: AppName, api: Api, clock: DatabaseClock, longest_ms: int) -> Gate:
    """Keep all others from counting calls of the API, and see what was counted.

    What the database's clock says was later than now, it said before it was set back: it is written down as just now,
    so that it counts for its window and no longer. ``longest_ms`` is the longest pause that there can be.
    """
    name = {"app": app, "api": api.value}
    gate = _GATE.first(connection, name)
    if gate is None:
        _OPEN[connection.dialect.name].run(connection, {**name, "paused_until": 0})
        gate = _GATE.only(connection, name)
    now = clock(connection)
    rows = _CALLS.rows(connection, {**name, "since": now - REMEMBERED_MS})
    counted = [
        Counted(cast("int", row["counted_at"]), bool(row["running"]), cast("ChatKey | None", row["chat_key"]))
        for row in rows
    ]
    calls = [replace(call, at=min(call.at, now)) for call in counted]
    paused_until = min(cast("int", gate["paused_until"]), now + longest_ms)
    named = {"of_app": app, "of_api": api.value}
    if any(call.at > now + SET_BACK_MS for call in counted):
        _SET_BACK.run(connection, {**named, "now": now})
    if paused_until < cast("int", gate["paused_until"]):
        _PAUSE_LESS.run(connection, {**named, "until": paused_until})
    return Gate(now, Millis(paused_until), calls)


def prune(connection: Connection, app: AppName, api: Api, now: Millis) -> None:
    """Remove the calls of the API that no window reaches any more."""
    name = {"app": app, "api": api.value}
    _PRUNE.run(connection, {**name, "before": now - REMEMBERED_MS, "running": False})
    _PRUNE.run(connection, {**name, "before": now - FORGOTTEN_MS, "running": True})


def count(
    connection: Connection, app: AppName, api: Api, holder: str, calls: Mapping[int, ChatKey | None], now: Millis
) -> None:
    """Count calls that start now, by their numbers."""
    rows = [
        {
            "holder": holder,
            "number": number,
            "app": app,
            "api": api.value,
            "chat_key": chat,
            "counted_at": now,
            "running": True,
        }
        for number, chat in calls.items()
    ]
    if rows:
        _COUNT.run_many(connection, rows)


def end(connection: Connection, holder: str, number: int, app: AppName, api: Api, now: Millis) -> None:
    """The call ended: the provider may have counted it as late as now, however long ago it began."""
    if _END.run(connection, {"by": holder, "of": number, "now": now}) == 0:
        count(connection, app, api, holder, {number: None}, now)
        _END.run(connection, {"by": holder, "of": number, "now": now})


def take_back(connection: Connection, holder: str, number: int) -> None:
    """The call was not made."""
    _TAKE_BACK.run(connection, {"by": holder, "of": number})


def pause(connection: Connection, app: AppName, api: Api, wait_ms: int, clock: DatabaseClock, longest_ms: int) -> None:
    """Let nobody call the API for so long."""
    gate = hold(connection, app, api, clock, longest_ms)
    _PAUSE.run(connection, {"of_app": app, "of_api": api.value, "until": gate.now + wait_ms})
