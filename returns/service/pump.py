"""The pump: carries parts through their machine, woken by commits and by the next due time.

Each pass reads what is due and starts a bounded number of steps side by side: sends of different chats, at most one a
chat, and readings. Nothing is kept in memory that a crash could lose; what a pass does not know, the next one reads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from sqlalchemy import Connection

from returns.decisions.policy import ReturnsPolicy
from returns.decisions.retry import longest_ms
from returns.delivery import State
from returns.ids import AppName, ChatKey, Millis, PartId
from returns.ledger import faults, leases
from returns.ledger.due import Due, Excluded, next_due, pull_in
from returns.ledger.lanes import SEND, VERIFY, Lane
from returns.ledger.wakeups import RETURNS
from returns.ports import Authority, Clock, DeliveryProvider, StorageUnavailable, Transactions
from returns.service.attempt import deliver
from returns.service.containing import Contained, describe
from returns.service.tools import CHAT, LISTS, READS, SENDS, Sleep, Tools, pace_of
from returns.service.verify import look

PARALLEL = 16
"""So many sends, and so many readings, run side by side."""

LONGEST_WAIT_S = 5.0
"""How long a pass waits at most, so that a clock that jumped is noticed."""

STORAGE_FIRST_S = 0.2
STORAGE_LONGEST_S = 5.0

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
    ) -> None:
        """``owner`` names this gateway's holds; ``sleep`` waits for seconds."""
        pace = pace_of(policy)
        self._tools = Tools(transactions, provider, authority, clock, policy, owner, pace, sleep)
        self._parallel = parallel
        self._wakeup = transactions.subscribe(RETURNS)
        self._sending: dict[ChatKey, PartId] = {}
        self._reading: set[PartId] = set()
        self._storage_delay_s = STORAGE_FIRST_S
        self.last_pass_at: Millis | None = None
        """When a pass last read the database; None before the first."""

    async def run(self) -> None:
        """Deliver for ever. Cancelling leaves a send that is under way to its lease."""
        async with asyncio.TaskGroup() as group:
            while True:
                with Contained() as contained:
                    wait_s = await self._pass(group)
                    await self._wakeup.wait(wait_s)
                if contained.fault is not None:
                    await self._endure(contained.fault)

    async def _pass(self, group: asyncio.TaskGroup) -> float:
        """Start what is due and return the seconds until something else may be."""
        tools, now = self._tools, self._tools.clock.now()
        if self.last_pass_at is None or now < self.last_pass_at:
            await tools.transactions.run(lambda c: pull_in(c, now, longest_ms(tools.policy)))
        chats, apps = tools.pace.closed(CHAT, now), tools.pace.closed(SENDS, now)
        busy = (*self._sending, *(ChatKey(chat) for chat in chats))
        to_send = Excluded(chats=busy, apps=[AppName(app) for app in apps])
        slow = tools.pace.closed(READS, now) | tools.pace.closed(LISTS, now)
        to_read = Excluded(parts=self._reading, apps=[AppName(app) for app in slow])
        sends = self._parallel - len(self._sending)
        reads = self._parallel - len(self._reading)
        due_sends, due_reads = await tools.transactions.read(
            lambda c: (_next(c, SEND, sends, to_send), _next(c, VERIFY, reads, to_read))
        )
        self.last_pass_at = now
        self._start(group, SEND, [due for due in due_sends[:sends] if due.due_at <= now])
        self._start(group, VERIFY, [due for due in due_reads[:reads] if due.due_at <= now])
        waits = [*chats.values(), *apps.values(), *slow.values()]
        waits += [due.due_at - now for due in (*due_sends, *due_reads) if due.due_at > now]
        return min([wait / 1000 for wait in waits] + [LONGEST_WAIT_S])

    def _start(self, group: asyncio.TaskGroup, lane: Lane, due: Collection[Due]) -> None:
        for part in due:
            if lane == SEND:
                self._sending[part.chat_key] = part.part_id
            else:
                self._reading.add(part.part_id)
            group.create_task(self._handle(lane, part))

    async def _handle(self, lane: Lane, due: Due) -> None:
        """One step of one part. Whatever goes wrong stays with it."""
        try:
            with Contained() as contained:
                await self._step(lane, due)
                self._storage_delay_s = STORAGE_FIRST_S
            if contained.fault is not None:
                await self._put_off(due, contained.fault)
        finally:
            if lane == SEND:
                del self._sending[due.chat_key]
            else:
                self._reading.discard(due.part_id)
            self._wakeup.ring()

    async def _step(self, lane: Lane, due: Due) -> None:
        tools = self._tools
        if lane == VERIFY:
            await look(tools, due.part_id, due.app)
        elif due.state is State.SENDING:
            now = tools.clock.now()
            await tools.transactions.run(lambda c: leases.expire(c, due.part_id, now))
        else:
            await deliver(tools, due.part_id, due.app, due.chat_key)

    async def _put_off(self, due: Due, fault: Exception) -> None:
        """Look at the part later; if even that cannot be stored, wait before the next pass sees it."""
        if isinstance(fault, StorageUnavailable):
            await self._endure(fault)
            return
        told = describe(fault)
        _log.error("handling part %s failed by a fault: %s", due.part_id, told)
        tools, now = self._tools, self._tools.clock.now()
        with Contained() as contained:
            await tools.transactions.run(lambda c: faults.put_off(c, due.part_id, told, now, tools.policy))
        if contained.fault is not None:
            await self._endure(contained.fault)

    async def _endure(self, fault: Exception) -> None:
        """Wait before trying again, longer each time until a pass succeeds."""
        _log.warning("the way back waits: %s", describe(fault))
        delay_s = self._storage_delay_s
        self._storage_delay_s = min(delay_s * 2, STORAGE_LONGEST_S)
        await self._tools.sleep(delay_s)


def _next(connection: Connection, lane: Lane, room: int, excluded: Excluded) -> tuple[Due, ...]:
    """What there is room for, and one more, to know when something is due next."""
    return next_due(connection, lane, room + 1, excluded) if room > 0 else ()
