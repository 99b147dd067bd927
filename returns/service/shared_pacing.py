"""Pacing for all gateways of one database together: what each of them calls is counted there.

The windows and their meaning are those of ``decisions.pacing``; they are made anew from what was counted, in a short
transaction that nobody else of the same app and API is in. Permits are taken for all calls of a pass at once, and ends
are told together, so that the cost follows what is called. Who has to wait asks again only after that wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import count as counter

from sqlalchemy import Connection

from returns.decisions.policy import ReturnsPolicy
from returns.ids import AppName, Millis
from returns.ledger import paces
from returns.ledger.paces import DatabaseClock, Gate, database_now
from returns.ports import Api, Call, Clock, Permit, StorageUnavailable, Transactions, Wait
from returns.service.local_pacing import CHAT, names_of, pace_of

FEW = 16
"""So many permits of an API are asked for at once."""

PRUNED_EACH = 64
"""After about so many calls, those that no window reaches any more are removed."""

_log = logging.getLogger(__name__)


class SharedPacing:
    """A ``returns.ports.Pacing`` over the database. ``holder`` names this gateway's calls, at most 60 characters."""

    def __init__(
        self,
        transactions: Transactions,
        policy: ReturnsPolicy,
        clock: Clock,
        holder: str,
        *,
        database_clock: DatabaseClock = database_now,
    ) -> None:
        self._transactions = transactions
        self._policy = policy
        self._clock = clock
        self._holder = holder
        self._database_clock = database_clock
        self._numbers = counter(1)
        self._closed: dict[tuple[AppName, Api], tuple[Millis, Millis]] = {}
        """When an API was found closed, and until when, by our clock."""
        self._ended: list[Permit] = []
        self._telling = False

    def room(self, app: AppName, api: Api) -> int | Wait:
        """A few, unless it is known that the API is closed."""
        found = self._closed.get((app, api))
        now = self._clock.now()
        if found is not None and found[0] <= now < found[1]:
            return Wait(found[1] - now)
        return min(FEW, self._policy.app_per_second)

    async def take(self, calls: Sequence[Call]) -> Sequence[Permit | Wait]:
        """Count each call that may start now, those of one API in one transaction."""
        answers: dict[int, Permit | Wait] = {}
        for app, api in dict.fromkeys((call.app, call.api) for call in calls):
            of_api = {at: call for at, call in enumerate(calls) if (call.app, call.api) == (app, api)}
            answers |= await self._take(app, api, of_api)
        return [answers[at] for at in range(len(calls))]

    async def _take(self, app: AppName, api: Api, calls: Mapping[int, Call]) -> dict[int, Permit | Wait]:
        numbers = {at: next(self._numbers) for at in calls}
        first, longest_ms = min(calls), self._policy.retry_max_ms

        def take(connection: Connection) -> tuple[dict[int, Permit | Wait], int]:
            gate = paces.hold(connection, app, api, self._database_clock, longest_ms)
            answers, wait_ms = self._decide(app, api, gate, calls, numbers)
            given = {answer.number: answer.call.chat for answer in answers.values() if isinstance(answer, Permit)}
            paces.count(connection, app, api, self._holder, given, gate.now)
            if numbers[first] % PRUNED_EACH < len(numbers):
                paces.prune(connection, app, api, gate.now)
            return answers, wait_ms

        answers, wait_ms = await self._transactions.run(take)
        now = self._clock.now()
        self._closed[app, api] = (now, Millis(now + wait_ms))
        return answers

    def _decide(
        self, app: AppName, api: Api, gate: Gate, calls: Mapping[int, Call], numbers: Mapping[int, int]
    ) -> tuple[dict[int, Permit | Wait], int]:
        """The answers, and how long the whole API is closed after them."""
        pace = pace_of(self._policy)
        now = gate.now
        whole = (api.value, app)
        ends = [min(call.at, now) for call in gate.calls if not call.running]
        starts = [min(call.at, now) for call in gate.calls if call.running]
        pace.load(whole, ends, starts, now)
        if gate.paused_until > now:
            pace.pause(whole, min(gate.paused_until - now, self._policy.retry_max_ms), now)
        chats = {call.chat for call in calls.values() if call.chat is not None}
        for counted in gate.calls:
            if counted.chat is not None and counted.chat in chats:
                at = [min(counted.at, now)]
                pace.load((CHAT, counted.chat), [] if counted.running else at, at if counted.running else [], now)
        answers: dict[int, Permit | Wait] = {}
        for at, call in calls.items():
            wait_ms = pace.take(names_of(call), now)
            answers[at] = Wait(wait_ms) if wait_ms else Permit(call, now, numbers[at])
        return answers, pace.wait_ms([whole], now)

    async def end(self, permit: Permit) -> None:
        """Tell the end; those that come while others are told are told together."""
        self._ended.append(permit)
        if self._telling:
            return
        self._telling = True
        try:
            while self._ended:
                ended, self._ended = self._ended, []
                await self._tell(lambda c, ended=ended: self._end(c, ended))
        finally:
            self._telling = False

    async def give_back(self, permit: Permit) -> None:
        """Count the call no more."""
        await self._tell(lambda c: paces.take_back(c, self._holder, permit.number))

    async def pause(self, app: AppName, api: Api, wait_ms: int) -> None:
        """Allow no call of the API for so long, to nobody."""
        now = self._clock.now()
        self._closed[app, api] = (now, Millis(now + wait_ms))
        longest_ms = max(wait_ms, self._policy.retry_max_ms)
        await self._tell(lambda c: paces.pause(c, app, api, wait_ms, self._database_clock, longest_ms))

    def _end(self, connection: Connection, ended: Sequence[Permit]) -> None:
        now = self._database_clock(connection)
        for permit in ended:
            paces.end(connection, self._holder, permit.number, permit.call.app, permit.call.api, now)

    async def _tell(self, tell: Callable[[Connection], None]) -> None:
        try:
            await self._transactions.run(tell)
        except StorageUnavailable:
            _log.warning("the pace could not be told to the database; what is not told counts for a while longer")
