"""Held events are judged again: when the steward learns who it is, and when what they might echo is settled."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from pydantic import ValidationError

from manager.ledger import events
from manager.ledger.events import HELD_EVENTS, EventState, HeldEvent
from manager.service.receiving import Acceptance, Receiving
from returns.ledger.wakeups import RETURNS_SETTLED
from returns.ports import StorageUnavailable, Transactions, Wakeup

_log: Final = logging.getLogger(__name__)

BATCH: Final = 100
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0


class HeldEvents:
    """Releases held events until it is cancelled."""

    def __init__(self, transactions: Transactions, receiving: Receiving) -> None:
        self._transactions = transactions
        self._receiving = receiving
        self._wakeups = (transactions.subscribe(RETURNS_SETTLED), transactions.subscribe(HELD_EVENTS))
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """Release events, for ever."""
        async with asyncio.TaskGroup() as group:
            for wakeup in self._wakeups:
                group.create_task(self._watch(wakeup))

    async def _watch(self, wakeup: Wakeup) -> None:
        pause = FIRST_PAUSE_S
        while True:
            try:
                waiting = await self.release()
            except StorageUnavailable:
                waiting = 1
            pause = min(pause * 2, LONGEST_PAUSE_S) if waiting else LONGEST_PAUSE_S
            if await wakeup.wait(pause):
                pause = FIRST_PAUSE_S

    async def release(self) -> int:
        """Judge every held event again; how many are still held. Raises ``StorageUnavailable``."""
        async with self._one_at_a_time:
            after, waiting = 0, 0
            while True:
                batch = await self._transactions.read(lambda each, after=after: events.held(each, after, BATCH))
                for held in batch:
                    after = held.seq
                    waiting += await self._judge_again(held) is Acceptance.HELD
                if len(batch) < BATCH:
                    return waiting

    async def _judge_again(self, held: HeldEvent) -> Acceptance:
        try:
            return await self._receiving.judge_again(held)
        except ValidationError:
            _log.error("a held event (%d) cannot be read any more; it is parked", held.seq)
        await self._transactions.run(lambda each: events.settle(each, held.seq, EventState.PARKED, "held_unreadable"))
        return Acceptance.PARKED
