"""Forgets what is over and old, by small steps: other work goes in between, and a step that was lost is done again.

Which requests and events are old is read beside the other readers; only the forgetting itself takes part in the
writing, at most ``ROWS`` rows in a transaction, and rests as long as it worked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from sqlalchemy import Connection

from manager.decisions.retention import RetentionPolicy, may_forget, youngest
from manager.ids import RequestId
from manager.ledger import idempotency, requests, retention
from manager.ledger.events import EventState
from returns.ids import Millis
from returns.ports import Clock, Transactions

T = TypeVar("T")

ROWS: Final = 100
"""The most rows that one transaction forgets."""

AT_ONCE: Final = 50
"""So many requests are looked at in one reading."""

LEAST_REST_S: Final = 0.01
MOST_REST_S: Final = 5.0

Sleep: TypeAlias = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a run forgot."""

    requests: int = 0
    """Requests of which no text is kept any more."""
    texts: int = 0
    """Rows of their texts."""
    events: int = 0
    keys: int = 0
    """Idempotency keys whose time is over."""


class Retention:
    """Forgets by ``policy``. Several gateways may do so at once."""

    def __init__(
        self, transactions: Transactions, clock: Clock, policy: RetentionPolicy, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._policy = policy
        self._sleep = sleep

    async def run(self) -> Pruned:
        """Forget all that may be forgotten now. Raises ``StorageUnavailable``; what was forgotten before stays so."""
        whole, texts = await self._texts()
        return Pruned(whole, texts, await self._events(), await self._keys())

    async def _texts(self) -> tuple[int, int]:
        now = self._clock.now()
        until = youngest(self._policy, now)
        after: int | None = 0
        whole = rows = 0
        while until is not None and after is not None:
            old, after = await self._transactions.read(
                lambda each, after=after: _old_requests(each, after, until, self._policy, now)
            )
            while old:
                done, forgotten = await self._step(lambda each, old=old: _forget(each, old, self._policy, now))
                old = old[done:]
                whole, rows = whole + done, rows + forgotten
        return whole, rows

    async def _events(self) -> int:
        now, policy = self._clock.now(), self._policy
        limits = {
            EventState.ACCEPTED: policy.events_ms,
            EventState.IGNORED: policy.events_ms,
            EventState.PARKED: policy.set_aside_ms,
            EventState.LATE: policy.set_aside_ms,
            EventState.ALARM: policy.set_aside_ms,
        }
        gone = 0
        for state, limit in limits.items():
            if limit is not None:
                gone += await self._events_in(state, Millis(now - limit))
        return gone

    async def _events_in(self, state: EventState, until: Millis) -> int:
        after: int | None = 0
        gone = 0
        while after is not None:
            old, after = await self._transactions.read(
                lambda each, after=after: retention.old_events(each, state, until, after, ROWS // 2)
            )
            if old:
                gone += await self._step(lambda each, old=old: retention.forget_events(each, old))
        return gone

    async def _keys(self) -> int:
        gone = 0
        while True:
            step = await self._step(lambda each: idempotency.purge(each, self._clock.now(), ROWS))
            gone += step
            if step < ROWS:
                return gone

    async def _step(self, work: Callable[[Connection], T]) -> T:
        """One transaction, and a rest as long as it took."""
        began = self._clock.now()
        done = await self._transactions.run(work)
        took_s = (self._clock.now() - began) / 1000
        await self._sleep(min(max(took_s, LEAST_REST_S), MOST_REST_S))  # a clock may jump
        return done


def _old_requests(
    connection: Connection, after: int, until: Millis, policy: RetentionPolicy, now: Millis
) -> tuple[tuple[RequestId, ...], int | None]:
    """Requests behind ``after`` that may be forgotten, and where to go on; None where the rest is too young."""
    kept = retention.keeping(connection, after, AT_ONCE)
    old = [each.request_id for each in kept if each.asked_at <= until]
    found = tuple(each for each in old if _may_go(connection, each, policy, now))
    return found, kept[-1].seq if len(kept) == AT_ONCE and old else None


def _may_go(connection: Connection, request: RequestId, policy: RetentionPolicy, now: Millis) -> bool:
    view = requests.current(connection, request)
    return view is not None and may_forget(
        retention.standing(connection, request, view.revision, view.parent_id), policy, now
    )


def _forget(
    connection: Connection, old: tuple[RequestId, ...], policy: RetentionPolicy, now: Millis
) -> tuple[int, int]:
    """Forget of the first requests as much as one transaction may; how many of them are done with, and the rows."""
    rows = done = 0
    for request in old:
        if rows >= ROWS:
            break
        forgotten = retention.forget(connection, request, policy, now, ROWS - rows)
        rows += forgotten.rows
        if not forgotten.complete:
            break
        done += 1
    return done, rows
