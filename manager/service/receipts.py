"""Receipts: each asker sees soon that the question arrived, whatever else waits. A receipt that fails fails alone."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from typing import Final

from sqlalchemy import Connection

from manager.decisions.admission import Converse
from manager.ledger import chats, conversations, receipts
from manager.ledger.chats import Chat
from manager.ledger.listening import converse
from manager.ledger.receipts import WantedReceipt
from manager.ports import ChatReader, Receipts
from manager.service.chat_facts import Reach, learn_reach
from returns.ledger.wakeups import TURNS
from returns.ports import Clock, Elsewhere, StorageUnavailable, Transactions
from returns.service.speaking import nowhere

_log: Final = logging.getLogger(__name__)

AT_ONCE: Final = 8
IN_HAND: Final = 64
PAUSES_S: Final = (0.5, 2.0)
"""Between the tries; there is one more try than pauses."""

TRY_LIMIT_S: Final = 5.0
LONGEST_WAIT_S: Final = 30.0
STORAGE_PAUSE_S: Final = 1.0


class ReceiptBroken(Exception):
    """A receipt failed by a fault of the program; the cause is the error."""

    code = "receipt_broken"


class _Leave(Enum):
    LEFT = "left"
    NOT_LEFT = "not_left"
    UNWELCOME = "unwelcome"


class ReceiptsWorker:
    """Leaves receipts until it is cancelled."""

    def __init__(
        self,
        transactions: Transactions,
        clock: Clock,
        receipts: Receipts,
        reader: ChatReader,
        owner: str | None = None,
        elsewhere: Elsewhere = nowhere,
    ) -> None:
        """``owner`` names this gateway where several share the work; None: it is the only one.

        ``elsewhere`` says whose receipts are left to others.
        """
        self._owner = owner
        self._elsewhere = elsewhere
        self._transactions = transactions
        self._clock = clock
        self._receipts = receipts
        self._reader = reader
        self._wakeup = transactions.subscribe(TURNS)

    async def run(self) -> None:
        """Leave receipts, for ever."""
        free = asyncio.Semaphore(AT_ONCE)
        in_hand: dict[asyncio.Task[None], WantedReceipt] = {}

        def done(task: asyncio.Task[None]) -> None:
            del in_hand[task]
            self._wakeup.ring()

        async with asyncio.TaskGroup() as group:
            while True:
                wait_s = LONGEST_WAIT_S
                try:
                    known = {each.turn_id for each in in_hand.values()}
                    now = self._clock.now()
                    for receipt in await self._transactions.read(
                        lambda each, now=now: receipts.wanted(each, now, IN_HAND, self._elsewhere(each))
                    ):
                        if receipt.turn_id not in known:
                            task = group.create_task(self._leave(receipt, free))
                            in_hand[task] = receipt
                            task.add_done_callback(done)
                except StorageUnavailable:
                    wait_s = STORAGE_PAUSE_S
                await self._wakeup.wait(wait_s)

    async def _leave(self, receipt: WantedReceipt, free: asyncio.Semaphore) -> None:
        try:
            async with free:
                if not await self._take(receipt):
                    return
                left = await self._tried(receipt)
            now = self._clock.now()
            if left is _Leave.UNWELCOME:
                await self._transactions.run(lambda each: receipts.drop(each, receipt))
            else:
                was_left = left is _Leave.LEFT
                await self._transactions.run(lambda each: receipts.settle(each, receipt, left=was_left, now=now))
        except StorageUnavailable:
            await asyncio.sleep(STORAGE_PAUSE_S)  # it stays wanted

    async def _take(self, receipt: WantedReceipt) -> bool:
        owner, now = self._owner, self._clock.now()
        return owner is None or await self._transactions.run(lambda each: receipts.take(each, receipt, owner, now))

    async def _tried(self, receipt: WantedReceipt) -> _Leave:
        for pause in (*PAUSES_S, 0.0):
            try:
                left = await self._try(receipt)
            except ReceiptBroken as broken:
                _log.error("the receipt of %s broke: %s", receipt.turn_id, type(broken.__cause__).__name__)
                return _Leave.NOT_LEFT
            if left is not _Leave.NOT_LEFT:
                return left
            await asyncio.sleep(pause)
        return _Leave.NOT_LEFT

    async def _try(self, receipt: WantedReceipt) -> _Leave:
        try:
            async with asyncio.timeout(TRY_LIMIT_S):
                welcome = await self._welcome(receipt)
                if welcome is not None:
                    return welcome
                left = await self._receipts.acknowledge(receipt.app, receipt.message_id)
        except TimeoutError:
            return _Leave.NOT_LEFT
        except (StorageUnavailable, asyncio.CancelledError):
            raise
        except Exception as error:
            raise ReceiptBroken("a receipt broke") from error
        return _Leave.LEFT if left else _Leave.NOT_LEFT

    async def _welcome(self, receipt: WantedReceipt) -> _Leave | None:
        """None when the receipt may be left: not in a chat that is, or may be, another tenant's too."""
        now = self._clock.now()

        def look(connection: Connection) -> tuple[Chat | None, Converse]:
            chat_ref = conversations.chat_of(connection, receipt.conversation_id)
            chat = None if chat_ref is None else chats.get(connection, chat_ref)
            return chat, converse(connection, receipt.app, receipt.conversation_id, now)

        chat, granted = await self._transactions.read(look)
        if chat is None or granted is Converse.REVOKED:
            return _Leave.UNWELCOME
        if chat.private or granted is Converse.OWNER:
            return None
        match await learn_reach(self._transactions, self._reader, chat):
            case Reach.OWN:
                return None
            case Reach.EXTERNAL:
                return _Leave.UNWELCOME
            case Reach.UNKNOWN | Reach.LEFT:
                return _Leave.NOT_LEFT
