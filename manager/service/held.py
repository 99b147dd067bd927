"""Held events are judged again: when the steward learns who it is, and when what they might echo is settled.

Apps go side by side, so that an app whose Lark does not answer keeps nobody else's events waiting.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from pydantic import ValidationError

from manager.ids import OpenId
from manager.ledger import events
from manager.ledger.events import HELD_EVENTS, EventState, HeldEvent
from manager.service.receiving import Acceptance, Receiving
from returns.ids import AppName
from returns.ledger.wakeups import RETURNS_SETTLED
from returns.ports import StorageUnavailable, Transactions, Wakeup

_log: Final = logging.getLogger(__name__)

BATCH: Final = 100
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0


class HeldEvents:
    """Releases held events until it is cancelled. Those of an app that is not configured stay held."""

    def __init__(self, transactions: Transactions, receiving: Receiving) -> None:
        self._apps = [HeldOfApp(transactions, receiving, app) for app in receiving.apps]

    async def run(self) -> None:
        """Release events, for ever."""
        async with asyncio.TaskGroup() as group:
            for app in self._apps:
                group.create_task(app.run())


class HeldOfApp:
    """Releases the held events of one app, oldest first."""

    def __init__(self, transactions: Transactions, receiving: Receiving, app: AppName) -> None:
        self._transactions = transactions
        self._receiving = receiving
        self._app = app
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
                waiting = await self._release()
            except StorageUnavailable:
                waiting = True
            pause = min(pause * 2, LONGEST_PAUSE_S) if waiting else LONGEST_PAUSE_S
            if await wakeup.wait(pause):
                pause = FIRST_PAUSE_S

    async def _release(self) -> bool:
        """Judge every held event again; whether any is still held. Raises ``StorageUnavailable``.

        The app's own id is asked for once: while it cannot be learnt, all of them stay held.
        """
        async with self._one_at_a_time:
            batch = await self._held(after=0)
            own_id = await self._receiving.own_id(self._app) if batch else None
            if own_id is None:
                return bool(batch)
            waiting = False
            while batch:
                for held in batch:
                    waiting |= await self._judge_again(held, own_id) is Acceptance.HELD
                batch = await self._held(after=batch[-1].seq)
            return waiting

    async def _held(self, after: int) -> tuple[HeldEvent, ...]:
        return await self._transactions.read(lambda each: events.held(each, self._app, after, BATCH))

    async def _judge_again(self, held: HeldEvent, own_id: OpenId) -> Acceptance:
        try:
            return await self._receiving.judge_again(held, own_id)
        except ValidationError:
            _log.error("a held event (%d) cannot be read any more; it is parked", held.seq)
        await self._transactions.run(lambda each: events.settle(each, held.seq, EventState.PARKED, "held_unreadable"))
        return Acceptance.PARKED
