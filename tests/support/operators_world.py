"""One request with everything around it that a long history needs: several pumps, corrections, recalls, a steward."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from sqlalchemy import Connection, select

from gateway.inbox.asking import asking
from gateway.inbox.reading import get_item
from manager.decisions.brief import Brief
from manager.decisions.operators import Act, Kind, OperatorRefused, Outcome
from manager.decisions.work import Work, WorkEvent
from manager.ids import ConversationId, OpenId, RequestId, TurnId
from manager.ledger import requests, revisions, turns
from manager.ledger.facts import record
from manager.ledger.routes import QuestionRoute
from manager.ledger.tables import operator_commands
from manager.ledger.turns import NewTurn
from manager.service.operators import Operators
from manager.service.recalling import take_back
from returns.ids import ChatId, MessageId
from returns.ledger.tables import parts
from returns.ports import Transactions
from tests.support.operators import WHO, Desk
from tests.support.operators_chat import Chat, SaysRecalled
from tests.support.returns import APP, POLICY, WatchedPump, route

LEASE_OVER_MS = POLICY.lease_ms + 1_000
SETTLE_MS = 2_000
IDLE_MS = 250
SHORTLY_S = 0.0005
MOST_MOVES = 400


class CountedPump(WatchedPump):
    """Counts the passes that began and those that ended."""

    begun = 0
    ended = 0

    async def _pass(self, group: asyncio.TaskGroup) -> float:
        self.begun += 1
        try:
            return await super()._pass(group)
        finally:
            self.ended = self.begun


class World(Desk):
    """One question, its corrections and answers, an operator, and up to two gateways that deliver."""

    def __init__(self, transactions: Transactions, give_up_after_ms: int) -> None:
        super().__init__(transactions, replace(POLICY, settle_ms=SETTLE_MS, give_up_after_ms=give_up_after_ms))
        self.provider: Chat = Chat(self.clock)
        self.authority = SaysRecalled(self.new_id)
        self.acting = Operators(self.authority, self.new_id, give_up_after_ms=60_000)
        self.worker = self.new_worker()
        self.request = RequestId("")
        self.words: dict[int, tuple[str, ...]] = {}
        """What each revision was answered with, a part each."""
        self.asked: dict[int, str] = {}
        """The message of each revision's question."""
        self.resends: dict[str, int] = {}
        """The operator's resends, and the revision that each was for."""
        self.cancelled = False
        self.pumps: list[CountedPump] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._waits = False
        """Whether an order of the operator's may wait."""

    # Gateways

    def start_pump(self) -> None:
        """One more gateway delivers."""
        owner = f"gateway {len(self.pumps) + 1}"
        pump = CountedPump(self.transactions, self.provider, self.authority, self.clock, self.policy, owner)
        self.pumps.append(pump)
        self._tasks.append(asyncio.create_task(pump.run()))

    async def stop_pumps(self) -> None:
        """As a shutdown does. Fails if one had ended by itself."""
        ended = [task for task in self._tasks if task.done()]
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert not ended, f"a pump ended: {[task.exception() for task in ended]}"

    @property
    def busy(self) -> int:
        return sum(len(pump._sending) + len(pump._reading) for pump in self.pumps)

    async def quiet(self) -> None:
        """As of a house, for all pumps: a pass that begins while nothing is under way finds nothing to start."""
        while not self._has_ended:
            await self._under_way()
            before = [(pump, pump.begun) for pump in self.pumps]
            for pump in self.pumps:
                pump.started = False
                pump._wakeup.ring()
            while any(pump.ended <= begun for pump, begun in before):
                if self._has_ended:
                    return
                await asyncio.sleep(SHORTLY_S)
            if not any(pump.started for pump in self.pumps):
                return

    async def _under_way(self) -> None:
        """Wait for what can end by itself."""
        while self.busy > self.provider.blocked:
            if self._has_ended:
                return
            await asyncio.sleep(SHORTLY_S)

    @property
    def _has_ended(self) -> bool:
        """Whether a pump ended, which it must not."""
        return any(task.done() for task in self._tasks)

    async def step(self) -> None:
        """Let everybody do what can be done at this moment."""
        await self.quiet()
        if self._waits:
            waiting, finished = await self.worker._pass()
            self._waits = waiting > 0
            if finished:
                await self.quiet()

    async def go_on(self, moves: int, ms: int | None = None) -> None:
        """Let time pass: so many moves of the clock, by default each to the next moment at which something is due."""
        for _ in range(moves):
            await self.step()
            self.clock.move(ms or await self._to_next() or IDLE_MS)

    async def settled(self) -> None:
        """Let time pass until nothing waits in a lane, nor a command for what is read. Fails if that never comes."""
        for _ in range(MOST_MOVES):
            await self.step()
            if not await self.move():
                return
        raise AssertionError("something waits for ever")

    async def move(self) -> bool:
        """Move the clock to the next moment at which something is due; False where nothing waits for any."""
        ms = await self._to_next()
        if ms is None and not self._waits:
            return False
        self.clock.move(ms or IDLE_MS)
        return True

    async def _to_next(self) -> int | None:
        """Milliseconds until the next part is due, ``IDLE_MS`` if all are; None where none is in a lane."""
        now = self.clock.now()
        due = await self.transactions.read(
            lambda c: c.execute(select(parts.c.due_at).where(parts.c.lane.is_not(None))).scalars().all()
        )
        return min((at - now for at in due if at > now), default=IDLE_MS) if due else None

    # Those who ask, and the steward

    async def ask(self, words: tuple[str, ...]) -> None:
        """The question, which is answered with these parts."""
        self.request = await self.question()
        self.asked[1] = f"om_q{self.request}"
        await self.transactions.run(lambda c: self._queue_turn(c, 1))
        await self.answer(words)

    async def correct(self, name: str) -> None:
        """The question is corrected by the message ``name``."""
        asked = QuestionRoute(APP, ChatId("oc_1"), None, MessageId(name), OpenId("ou_a"), name)
        brief, now = Brief(purpose="And there?"), self.clock.now()

        def work(connection: Connection) -> None:
            revision = requests.open_revision(
                connection, self.request, question="And there?", brief=brief, route=asked, now=now
            )
            self._queue_turn(connection, revision)

        await self.transactions.run(work)

    async def recall(self, name: str) -> None:
        """The message ``name`` is taken back."""
        self.provider.gone.add(name)
        now = self.clock.now()
        await self.transactions.run(lambda c: take_back(c, self.new_id, APP, MessageId(name), now))

    async def answer(self, words: tuple[str, ...]) -> int | None:
        """The steward answers what is open with these parts; the revision, or None where nothing is open."""
        now = self.clock.now()

        def work(connection: Connection) -> tuple[int, str] | None:
            view = requests.current(connection, self.request)
            if view.newest.work is not Work.OPEN:
                return None
            revisions.work(connection, view.newest, WorkEvent.RESOLVE)
            record(connection, self.request, view.revision, now, "resolved", {"by": "steward"})
            return view.revision, requests.route_of(connection, self.request, view.revision).message_id

        found = await self.transactions.run(work)
        if found is None:
            return None
        revision, message = found
        self.asked[revision], self.words[revision] = message, tuple(f"{word} of {revision}" for word in words)
        way, asked_at = route(reply_to=message), self.provider.clock.now()
        await self.put(*self.words[revision], subject=self.request, revision=revision, to=way, asked_at=asked_at)
        return revision

    def _queue_turn(self, connection: Connection, revision: int) -> None:
        """Left behind by every question: it is what a question that stands again gets its next turn from."""
        now = self.clock.now()
        turn = TurnId(self.new_id("u"))
        turns.queue(connection, NewTurn(turn, ConversationId("c_1"), self.request, revision, now, 0, False, None), now)

    # The operator

    async def order(self, act: Act) -> str:
        """What the operator is told at once: the outcome so far, or the code of the refusal."""
        revision = (await self.item())["revision"]
        try:
            carried = await self.act(self.request, act, WHO)
        except OperatorRefused as refusal:
            return f"refused: {refusal.code}"
        kind = (await self.command(carried)).kind
        if kind == Kind.RESEND.value:
            self.resends.setdefault(carried.command_id, revision)
        self.cancelled |= kind == Kind.CANCEL.value
        self._waits |= carried.outcome is None
        return "waits" if carried.outcome is None else carried.outcome.value

    async def last_outcome(self) -> str | None:
        """What the newest command came to; None while it waits."""
        newest = select(operator_commands.c.outcome).order_by(operator_commands.c.seq.desc()).limit(1)
        return await self.transactions.read(lambda c: c.execute(newest).scalar_one())

    async def carried_out(self) -> dict[str, int]:
        """The resends for which something was sent anew, and the revision of each."""
        rows = await self.transactions.read(
            lambda c: c.execute(select(operator_commands.c.command_id, operator_commands.c.outcome)).all()
        )
        queued = {row.command_id for row in rows if row.outcome == Outcome.QUEUED.value}
        return {command: revision for command, revision in self.resends.items() if command in queued}

    async def item(self) -> dict:
        return await self.transactions.read(lambda c: get_item(asking(c), self.request))


@asynccontextmanager
async def world(opened: AbstractAsyncContextManager[Transactions], give_up_after_ms: int) -> AsyncIterator[World]:
    """A world whose first pump runs."""
    async with opened as transactions:
        home = World(transactions, give_up_after_ms)
        home.start_pump()
        try:
            yield home
        finally:
            await home.stop_pumps()
