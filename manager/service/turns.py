"""The turns of all conversations: claimed as they become due, worked on side by side, committed once.

One turn a conversation at a time, in the order of its questions, and at most ``max_parallel_turns`` altogether. Each
is held by a lease that is renewed while it is worked on; what a holder does after it lost the lease is not kept. A
turn that fails stops no other.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from sqlalchemy import Connection

from manager.decisions.policy import StewardPolicy
from manager.ledger import turns
from manager.ledger.turns import ClaimedTurn
from manager.ports import ChatReader, HostTools, Runtime
from manager.service.concluding import Conclusion
from manager.service.investigating import Investigation
from manager.service.outcomes import Lost, Outcome
from manager.service.storage_patience import patiently
from manager.service.telling import Telling
from returns.ids import Millis
from returns.ledger.wakeups import TURNS
from returns.ports import Clock, StorageUnavailable, Transactions

_log: Final = logging.getLogger(__name__)

LONGEST_WAIT_S: Final = 30.0
"""Between two looks, whatever the next due time says: a clock may jump."""

STORAGE_PAUSE_S: Final = 1.0
RENEWALS_A_LEASE: Final = 3


class OutcomeNotCommitted(Exception):
    """The ledger refused a turn's outcome; the cause is the error."""

    code = "outcome_not_committed"


class Turns:
    """Runs turns until it is cancelled."""

    def __init__(
        self,
        transactions: Transactions,
        clock: Clock,
        policy: StewardPolicy,
        runtime: Runtime,
        hosttools: HostTools,
        reader: ChatReader,
        telling: Telling,
        owner: str,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._policy = policy
        self._owner = owner
        self._investigation = Investigation(transactions, clock, policy, runtime, hosttools, reader)
        self._conclusion = Conclusion(policy, telling)
        self._wakeup = transactions.subscribe(TURNS)
        self._last_pass_at: Millis | None = None

    @property
    def last_pass_at(self) -> Millis | None:
        """When the database was last asked for due turns, successfully."""
        return self._last_pass_at

    async def run(self) -> None:
        """Work on turns, for ever."""
        async with asyncio.TaskGroup() as group:
            running: set[asyncio.Task[None]] = set()
            while True:
                wait_s = STORAGE_PAUSE_S
                try:
                    claimed, wait_s = await self._pass(self._policy.max_parallel_turns - len(running))
                    for turn in claimed:
                        task = group.create_task(self._work(turn))
                        running.add(task)
                        task.add_done_callback(running.discard)
                        task.add_done_callback(self._look_again)
                except StorageUnavailable:
                    _log.warning("turns wait for the database")
                await self._wakeup.wait(wait_s)

    def _look_again(self, _task: asyncio.Task[None]) -> None:
        self._wakeup.ring()

    async def _pass(self, free: int) -> tuple[tuple[ClaimedTurn, ...], float]:
        now = self._clock.now()

        def claim(connection: Connection) -> tuple[tuple[ClaimedTurn, ...], Millis | None]:
            claimed = turns.claim_due(
                connection, owner=self._owner, now=now, lease_ms=self._policy.lease_ms, limit=free
            )
            return claimed, turns.next_due(connection, now)

        claimed, due_at = await self._transactions.run(claim) if free > 0 else ((), None)
        self._last_pass_at = now
        wait_s = LONGEST_WAIT_S if due_at is None else min(max((due_at - now) / 1000, 0.001), LONGEST_WAIT_S)
        return claimed, wait_s

    async def _work(self, turn: ClaimedTurn) -> None:
        outcome = await self._work_under_lease(turn)
        try:
            await self._commit(outcome)
        except StorageUnavailable:
            _log.warning("turn %s could not be committed; its lease runs out and it is taken up again", turn.turn_id)
        except OutcomeNotCommitted as refused:
            _log.error("turn %s could not be ended: %s", turn.turn_id, type(refused.__cause__).__name__)
            await self._abandon(turn)

    async def _work_under_lease(self, turn: ClaimedTurn) -> Outcome:
        held = asyncio.timeout(None)
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(self._keep(turn, held))
            try:
                async with held:
                    return await self._investigation.work_on(turn)
            except TimeoutError:  # the keeper ended it
                return Lost()
            finally:
                keeper.cancel()

    async def _keep(self, turn: ClaimedTurn, held: asyncio.Timeout) -> None:
        """Renew the lease; end the work as soon as it is lost, by recall, by correction or to another gateway."""
        while True:
            await asyncio.sleep(self._policy.lease_ms / 1000 / RENEWALS_A_LEASE)
            until = Millis(self._clock.now() + self._policy.lease_ms)
            try:
                keeps = await self._transactions.run(
                    lambda each, until=until: turns.renew(each, turn.turn_id, turn.fence, until)
                )
            except StorageUnavailable:
                continue
            if not keeps:
                held.reschedule(asyncio.get_running_loop().time())
                return

    async def _commit(self, outcome: Outcome) -> None:
        now = self._clock.now()
        try:
            await patiently(self._transactions, lambda each: self._conclusion.commit(each, outcome, now))
        except StorageUnavailable:
            raise
        except Exception as error:
            raise OutcomeNotCommitted("the ledger refused a turn's outcome") from error

    async def _abandon(self, turn: ClaimedTurn) -> None:
        now = self._clock.now()
        try:
            await patiently(self._transactions, lambda each: self._conclusion.abandon(each, turn, now))
        except StorageUnavailable:
            _log.warning("turn %s could not be ended; its lease runs out", turn.turn_id)
