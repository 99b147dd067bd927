"""The clock of the database, which all its gateways have in common.

What is due, a lease and a settle time are noted by one gateway and judged by another: by machines' own clocks they
would be over too soon, or too late, by as much as those differ.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from returns.ids import Millis
from returns.ledger.paces import DatabaseClock, database_now
from returns.ports import Clock, StorageUnavailable, Transactions
from returns.service.tools import Sleep

EVERY_S: Final = 10.0
QUICK_MS: Final = 1_000
"""An answer that took longer says too little of the moment."""

SAME_MS: Final = 100
"""Clocks that differ by less are left as they are: time would not pass evenly."""

_log = logging.getLogger(__name__)


class SharedClock:
    """The machine's clock, set by the database's: measured at the start, and again every ten seconds."""

    def __init__(
        self, own: Clock, *, database_clock: DatabaseClock = database_now, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._own = own
        self._database_clock = database_clock
        self._sleep = sleep
        self._ahead_ms = 0

    def now(self) -> Millis:
        """The present moment."""
        return Millis(self._own.now() + self._ahead_ms)

    async def measure(self, transactions: Transactions) -> None:
        """Compare the clocks. Raises ``StorageUnavailable``."""
        before = self._own.now()
        there = await transactions.read(self._database_clock)
        after = self._own.now()
        ahead_ms = there - (before + after) // 2
        if not 0 <= after - before <= QUICK_MS or abs(ahead_ms - self._ahead_ms) < SAME_MS:
            return
        _log.warning("the clock of the database is %d ms ahead of this machine's; the gateway goes by it", ahead_ms)
        self._ahead_ms = ahead_ms

    async def run(self, transactions: Transactions) -> None:
        """Compare them for ever."""
        while True:
            await self._sleep(EVERY_S)
            try:
                await self.measure(transactions)
            except StorageUnavailable:
                continue
