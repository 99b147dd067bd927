"""Finishes what operators asked for, once it is known what was read. Any gateway does it, each command once."""

from __future__ import annotations

import logging
from typing import Final

from sqlalchemy import Connection

from manager.ledger import operators
from manager.ledger.operators import COMMANDS, Command
from manager.service.operators import AlreadyClosed, Operators
from returns.ledger.wakeups import RETURNS_SETTLED
from returns.ports import Clock, StorageUnavailable, Transactions
from returns.service.containing import Contained, describe

BATCH: Final = 100
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 2.0
IDLE_S: Final = 5.0
"""A command that was stored without a word to us is seen after this."""

_log: Final = logging.getLogger(__name__)


class OperatorsWorker:
    """Runs until it is cancelled. What waited when a gateway was killed is taken up by the next one."""

    def __init__(self, transactions: Transactions, clock: Clock, acting: Operators) -> None:
        self._transactions = transactions
        self._clock = clock
        self._acting = acting
        self._stored = transactions.subscribe(COMMANDS)
        self._settled = transactions.subscribe(RETURNS_SETTLED)

    async def run(self) -> None:
        """Finish commands, for ever."""
        pause = FIRST_PAUSE_S
        while True:
            waiting, finished = await self._pass()
            if not waiting:
                pause = FIRST_PAUSE_S
                await self._stored.wait(IDLE_S)
                continue
            pause = FIRST_PAUSE_S if finished else min(pause * 2, LONGEST_PAUSE_S)
            await self._settled.wait(pause)

    async def _pass(self) -> tuple[int, int]:
        """How many commands wait now, and how many were finished."""
        after = waiting = finished = 0
        try:
            while True:
                batch = await self._transactions.read(lambda each, after=after: self._look(each, after))
                for command, ready in batch:
                    after = command.seq
                    over = ready and await self._finish(command)
                    finished += over
                    waiting += not over
                if len(batch) < BATCH:
                    return waiting, finished
        except StorageUnavailable:
            _log.warning("operators' commands wait for the database")
            return 1, 0

    def _look(self, connection: Connection, after: int) -> list[tuple[Command, bool]]:
        """Commands that wait, and whether each may be over: what only waits costs no transaction that writes."""
        now = self._clock.now()
        batch = operators.waiting(connection, BATCH, after)
        return [(command, self._acting.is_ready(connection, command, now)) for command in batch]

    async def _finish(self, command: Command) -> bool:
        now = self._clock.now()

        def work(connection: Connection) -> bool:
            return self._acting.finish(connection, command, now) is not None

        with Contained() as contained:
            return await self._transactions.run(work)
        match contained.fault:
            case AlreadyClosed():
                return True
            case StorageUnavailable():
                raise contained.fault
            case None:
                return False
            case fault:
                _log.error("command %s could not be finished by a fault: %s", command.command_id, describe(fault))
                return False
