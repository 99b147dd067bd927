"""The pump: carries parts through their machine, woken by commits and by the next due time.

Each pass reads what is due, as much of it as the pace and the places allow to start now, and starts those steps side by
side: sends of different chats, at most one a chat, readings, and searches, at most one a place. Nothing is kept in
memory that a crash could lose; what a pass does not know, the next one reads.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from returns.decisions.policy import ReturnsPolicy
from returns.decisions.retry import longest_ms
from returns.delivery import State
from returns.ids import AppName, ChatKey, Millis, PartId, ThreadId
from returns.ledger import leases
from returns.ledger.due import Asked, Due, Front, front, pull_in, put_back
from returns.ledger.lanes import LANES, SEARCH, SEND, VERIFY, Lane
from returns.ledger.wakeups import RETURNS
from returns.ports import (
    Api,
    Authority,
    Call,
    Clock,
    DeliveryProvider,
    Pacing,
    Permit,
    StorageUnavailable,
    Transactions,
    Wait,
)
from returns.service.aside import set_aside
from returns.service.attempt import deliver
from returns.service.containing import Contained, describe
from returns.service.ending import Ending
from returns.service.local_pacing import LocalPacing
from returns.service.speaking import Speaking, nowhere
from returns.service.tools import Sleep, Tools
from returns.service.verify import look

PARALLEL = 512
"""So many sends run side by side: about what an app may send until the first one has timed out."""

READINGS = 64
"""So many messages are read side by side."""

SEARCHES = 16
"""So many histories are read side by side."""

SPARE = 4
"""One place in so many is kept from what could not be read the last time: what hangs does not hold up the rest."""

NEW_APP = 8
"""So many parts of an app that was not seen before are started at once."""

LONGEST_WAIT_S = 5.0
"""How long a pass waits at most, so that a clock that jumped is noticed."""

SHORTEST_PACE_S = 0.02
"""A pass that waits for the pace waits at least so long: then several may start together."""

STORAGE_FIRST_S = 0.2
STORAGE_LONGEST_S = 5.0

_APIS = {SEND: Api.SENDS, VERIFY: Api.READS, SEARCH: Api.LISTS}

_log = logging.getLogger(__name__)


class Pump:
    """Delivers what is committed, for as long as it runs."""

    def __init__(
        self,
        transactions: Transactions,
        provider: DeliveryProvider,
        authority: Authority,
        clock: Clock,
        policy: ReturnsPolicy,
        owner: str,
        *,
        parallel: int = PARALLEL,
        sleep: Sleep = asyncio.sleep,
        pacing: Pacing | None = None,
        speaking: Speaking | None = None,
    ) -> None:
        """``owner`` names this gateway's holds; ``sleep`` waits for seconds; ``pacing`` is by default in memory.

        ``speaking`` is this gateway among several; None: all that is due is its own.
        """
        pace = LocalPacing(policy, clock) if pacing is None else pacing
        self._tools = Tools(transactions, provider, authority, clock, policy, owner, pace, sleep)
        self._most = {SEND: parallel, VERIFY: min(parallel, READINGS), SEARCH: min(parallel, SEARCHES)}
        self._speaking = speaking
        self._elsewhere = nowhere if speaking is None else speaking.elsewhere
        self._ending = Ending()
        self._wakeup = transactions.subscribe(RETURNS)
        self._sending: dict[ChatKey, PartId] = {}
        self._reading: set[PartId] = set()
        self._places: set[tuple[ChatKey, ThreadId | None]] = set()
        """Whose histories are being read; the parts that are looked for there are in ``_reading`` too."""
        self._apps: set[AppName] = set()
        self._steps: dict[Lane, Counter[AppName]] = {lane: Counter() for lane in LANES}
        """How many steps of each app are under way."""
        self._again: Counter[Lane] = Counter()
        """How many of them are for what could not be read the last time."""
        self._paced: dict[ChatKey, Millis] = {}
        """Chats that must wait for their pace, and until when."""
        self._storage_delay_s = STORAGE_FIRST_S
        self.last_pass_at: Millis | None = None
        """When a pass last read the database; None before the first."""

    async def run(self) -> None:
        """Deliver until the end comes. Cancelling leaves a send that is under way to its lease."""
        async with asyncio.TaskGroup() as group:
            while not self._ending.begun:
                with Contained() as contained:
                    wait_s = await self._pass(group)
                    await self._wakeup.wait(wait_s)
                if contained.fault is not None:
                    await self._endure(contained.fault)

    async def end(self, within_s: float) -> None:
        """Begin nothing more, and let the sends that are under way end, at most so long."""
        self._ending.begin()
        self._wakeup.ring()
        await self._ending.wait(within_s)

    @property
    def sends_under_way(self) -> int:
        """How many attempts are committed whose outcome is not."""
        return self._ending.under_way

    async def _pass(self, group: asyncio.TaskGroup) -> float:
        """Start what is due and return the seconds until something else may be."""
        tools, now = self._tools, self._tools.clock.now()
        if self.last_pass_at is None or now < self.last_pass_at:
            await tools.transactions.run(lambda c: pull_in(c, tools.owner, now, longest_ms(tools.policy)))
            self._paced.clear()
        self._paced = {chat: until for chat, until in self._paced.items() if until > now}
        asked, waits = self._asked(now)
        waits += [until - now for until in self._paced.values()]
        fronts = await tools.transactions.read(lambda c: self._fronts(c, asked, now))
        self.last_pass_at = now
        for each, found in zip(asked, fronts, strict=True):
            self._apps.update(found.apps)
            waits += await self._begin(group, each.lane, found.due, now)
            if found.next_at is not None:
                waits.append(found.next_at - now)
        if await self._put_back(fronts, now):
            return 0.0
        return min([max(wait / 1000, SHORTEST_PACE_S) for wait in waits] + [LONGEST_WAIT_S])

    def _fronts(self, connection: Connection, asked: Sequence[Asked], now: Millis) -> list[Front]:
        """What of each lane is due, and is not left to other gateways."""
        elsewhere = self._elsewhere(connection)
        return [front(connection, replace(each, elsewhere=elsewhere), now) for each in asked]

    def _asked(self, now: Millis) -> tuple[list[Asked], list[int]]:
        """What there is room for in each lane, and how long an app's pace is closed."""
        searching = len(self._places)
        free = {
            SEND: self._most[SEND] - len(self._sending),
            VERIFY: self._most[VERIFY] - (len(self._reading) - searching),
            SEARCH: self._most[SEARCH] - searching,
        }
        taken: dict[Lane, Collection[object]] = {
            SEND: frozenset((*self._sending, *self._paced)),
            VERIFY: frozenset(self._reading),
            SEARCH: frozenset(self._places),
        }
        waits: list[int] = []
        asked: list[Asked] = []
        for lane in LANES:
            rooms: dict[AppName, int] = {}
            for app in self._apps:
                room = self._tools.pacing.room(app, _APIS[lane])
                if isinstance(room, Wait):
                    waits.append(room.ms)
                rooms[app] = 0 if isinstance(room, Wait) else room
            if free[lane] > 0:
                again = self._most[lane] - self._most[lane] // SPARE - self._again[lane]
                asked.append(
                    Asked(lane, free[lane], rooms, NEW_APP, taken[lane], Counter(self._steps[lane]), unread=again)
                )
        return asked, waits

    async def _begin(self, group: asyncio.TaskGroup, lane: Lane, due: Sequence[Due], now: Millis) -> list[int]:
        """Start what gets a permit; how long the others have to wait for one."""
        if lane == SEARCH:  # each page of a history is a call of its own
            self._start(group, lane, [(part, None) for part in due])
            return []
        ends = [part for part in due if part.state is State.SENDING]
        self._start(group, lane, [(part, None) for part in ends])
        calls = [part for part in due if part.state is not State.SENDING]
        if not calls:
            return []
        answers = await self._tools.pacing.take(
            [Call(part.app, _APIS[lane], part.chat_key if lane == SEND else None) for part in calls]
        )
        given = list(zip(calls, answers, strict=True))
        self._start(group, lane, [(part, answer) for part, answer in given if isinstance(answer, Permit)])
        waits = [(part, answer.ms) for part, answer in given if isinstance(answer, Wait)]
        if lane == SEND:
            self._paced.update({part.chat_key: Millis(now + ms) for part, ms in waits})
        return [ms for _, ms in waits]

    async def _put_back(self, fronts: Sequence[Front], now: Millis) -> bool:
        """Put back what stands behind other parts, so that it hides nothing; whether there was any."""
        behind = [due for found in fronts for due in found.behind]
        if not behind:
            return False
        until = Millis(now + self._tools.policy.retry_max_ms)
        await self._tools.transactions.run(lambda c: put_back(c, behind, now, until))
        return True

    def _start(self, group: asyncio.TaskGroup, lane: Lane, due: Collection[tuple[Due, Permit | None]]) -> None:
        for part, permit in due:
            self._steps[lane][part.app] += 1
            self._again[lane] += part.unread
            if lane == SEND:
                self._sending[part.chat_key] = part.part_id
            else:
                self._reading.add(part.part_id)
            if lane == SEARCH:
                self._places.add(part.place)
            group.create_task(self._handle(lane, part, permit))

    async def _handle(self, lane: Lane, due: Due, permit: Permit | None) -> None:
        """One step of one part. Whatever goes wrong stays with it."""
        try:
            with Contained() as contained:
                await self._step(lane, due, permit)
                self._storage_delay_s = STORAGE_FIRST_S
            if contained.fault is not None:
                await self._put_off(due, contained.fault)
        finally:
            self._steps[lane][due.app] -= 1
            self._again[lane] -= due.unread
            if lane == SEND:
                del self._sending[due.chat_key]
            else:
                self._reading.discard(due.part_id)
            if lane == SEARCH:
                self._places.discard(due.place)
            self._wakeup.ring()

    async def _step(self, lane: Lane, due: Due, permit: Permit | None = None) -> None:
        tools = self._tools
        if lane != SEND:
            await look(tools, due.part_id, due.app, permit)
        elif due.state is State.SENDING:
            now = tools.clock.now()
            await tools.transactions.run(lambda c: leases.expire(c, due.part_id, now))
        else:
            ending, speaking = self._ending, self._speaking
            await deliver(tools, due.part_id, due.app, due.chat_key, permit, ending=ending, speaking=speaking)

    async def _put_off(self, due: Due, fault: Exception) -> None:
        """Look at the part later; if even that cannot be stored, wait before the next pass sees it."""
        if isinstance(fault, StorageUnavailable):
            await self._endure(fault)
            return
        with Contained() as contained:
            await set_aside(self._tools, due.part_id, fault)
        if contained.fault is not None:
            await self._endure(contained.fault)

    async def _endure(self, fault: Exception) -> None:
        """Wait before trying again, longer each time until a pass succeeds."""
        _log.warning("the way back waits: %s", describe(fault))
        delay_s = self._storage_delay_s
        self._storage_delay_s = min(delay_s * 2, STORAGE_LONGEST_S)
        await self._tools.sleep(delay_s)
