"""The turns of all conversations: claimed as they become due, worked on side by side, committed once.

One turn a conversation at a time, in the order of its questions, and at most ``max_parallel_turns`` altogether. Each
is held by a lease that is renewed while it is worked on; what a holder does after it lost the lease is not kept. A
turn that fails stops no other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection

from manager.decisions.policy import StewardPolicy
from manager.ids import TurnId
from manager.ledger import turns
from manager.ledger.turns import ClaimedTurn
from manager.ports import ChatReader, HostTools, Runtime
from manager.service.concluding import Conclusion
from manager.service.holding import Hold
from manager.service.investigating import Investigation
from manager.service.outcomes import Lost, Outcome
from manager.service.storage_patience import patiently
from manager.service.telling import Telling
from returns.ids import Millis
from returns.ledger.wakeups import TURNS
from returns.ports import Clock, Elsewhere, StorageUnavailable, Transactions
from returns.service.speaking import nowhere

_log: Final = logging.getLogger(__name__)

LONGEST_WAIT_S: Final = 15.0
"""Between two looks, whatever the next due time says: a clock may jump."""

SHORT_WAIT_S: Final = 1.0
"""Where a turn is due and could not be claimed: whoever was in the way may go without a word."""

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
        new_id: Callable[[str], str],
        elsewhere: Elsewhere = nowhere,
    ) -> None:
        """``elsewhere`` says whose turns are left to other gateways."""
        self._elsewhere = elsewhere
        self._transactions = transactions
        self._clock = clock
        self._policy = policy
        self._owner = owner
        self._investigation = Investigation(transactions, clock, policy, runtime, hosttools, reader, new_id)
        self._conclusion = Conclusion(policy, telling)
        self._wakeup = transactions.subscribe(TURNS)
        self._held: dict[tuple[TurnId, int], Hold] = {}
        self._last_pass_at: Millis | None = None

    @property
    def last_pass_at(self) -> Millis | None:
        """When the database was last asked for due turns, successfully."""
        return self._last_pass_at

    async def run(self) -> None:
        """Work on turns, for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                wait_s = STORAGE_PAUSE_S
                try:
                    claimed, wait_s = await self._pass()
                    for turn in claimed:
                        held = self._held[turn.turn_id, turn.fence] = Hold()
                        group.create_task(self._work(turn, held))
                except StorageUnavailable:
                    _log.warning("turns wait for the database")
                await self._wakeup.wait(wait_s)

    async def _pass(self) -> tuple[tuple[ClaimedTurn, ...], float]:
        """Claim what is due and there is room for, and let go of what is held no longer; how long to wait then."""
        now = self._clock.now()
        free = self._policy.max_parallel_turns - len(self._held)
        in_hand = frozenset(self._held)

        def look(
            connection: Connection,
        ) -> tuple[tuple[ClaimedTurn, ...], frozenset[tuple[TurnId, int]], Millis | None, bool]:
            elsewhere = self._elsewhere(connection)
            claimed = turns.claim_due(
                connection,
                owner=self._owner,
                now=now,
                lease_ms=self._policy.lease_ms,
                limit=free,
                places=self._policy.max_parallel_turns,
                apps=self._policy.apps,
                elsewhere=elsewhere,
            )
            left = len(claimed) < free and turns.left_due(connection, now, elsewhere)
            return claimed, turns.lost(connection, in_hand), turns.next_due(connection, now), left

        claimed, gone, due_at, left = await self._transactions.run(look)
        for key in gone & self._held.keys():
            self._held[key].let_go()
        self._last_pass_at = now
        wait_s = LONGEST_WAIT_S if due_at is None else min(max((due_at - now) / 1000, 0.001), LONGEST_WAIT_S)
        return claimed, min(wait_s, SHORT_WAIT_S) if left else wait_s

    async def _work(self, turn: ClaimedTurn, held: Hold) -> None:
        try:
            await self._conclude(turn, await self._work_under_lease(turn, held))
        finally:
            del self._held[turn.turn_id, turn.fence]
            self._wakeup.ring()

    async def _conclude(self, turn: ClaimedTurn, outcome: Outcome) -> None:
        try:
            await self._commit(outcome)
        except StorageUnavailable:
            _log.warning("turn %s could not be committed; its lease runs out and it is taken up again", turn.turn_id)
        except OutcomeNotCommitted as refused:
            _log.error("turn %s could not be ended: %s", turn.turn_id, type(refused.__cause__).__name__)
            await self._abandon(turn)

    async def _work_under_lease(self, turn: ClaimedTurn, held: Hold) -> Outcome:
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(self._keep(turn, held))
            outcome = await held.during(lambda: self._investigation.work_on(turn))
            keeper.cancel()
        return outcome or Lost()

    async def _keep(self, turn: ClaimedTurn, held: Hold) -> None:
        """Renew the lease; end the work when it is lost."""
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
                held.let_go()
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
