"""A desk for operators' tests: questions, their answers, a pump, a provider and the worker, over one database."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, select

from gateway.inbox.asking import asking
from gateway.inbox.reading import show_request
from manager.decisions.brief import Brief
from manager.decisions.decision import Audience
from manager.decisions.operators import Act, OperatorRefused
from manager.decisions.work import WorkEvent
from manager.ids import ConversationId, OpenId, RequestId
from manager.ledger import operators, requests, revisions
from manager.ledger.facts import record
from manager.ledger.routes import QuestionRoute
from manager.ledger.tables import facts, operator_commands
from manager.service.operators import Operators
from manager.service.operators_taking import Carried
from manager.service.operators_worker import OperatorsWorker
from returns.ids import ChatId, MessageId
from tests.support.replay import check_replay
from tests.support.returns import APP, POLICY, House, route
from tests.support.storage import transactions as opened_transactions

WHO = "kim"


class Desk(House):
    """A house with requests and an operator."""

    def __init__(self, transactions: object, policy: object = POLICY) -> None:
        super().__init__(transactions, policy)
        self._ids = itertools.count(1)
        self.acting = Operators(self.authority, self.new_id, 60_000)
        self.worker = self.new_worker()

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self._ids)}"

    def new_worker(self) -> OperatorsWorker:
        return OperatorsWorker(self.transactions, self.clock, self.acting)

    async def question(self, *, private: bool = False, text: str = "Where is it?") -> RequestId:
        """A question was received."""
        request = RequestId(self.new_id("r"))
        now = self.clock.now()
        await self.transactions.run(
            lambda c: requests.create_request(
                c,
                request_id=request,
                conversation_id=ConversationId("c_1"),
                app=APP,
                private=private,
                audience=Audience.PRIVATE if private else Audience.SHARED,
                asked_at=now,
                language="en",
                late=False,
                question=text,
                brief=Brief(purpose=text),
                route=QuestionRoute(APP, ChatId("oc_1"), None, MessageId(f"om_q{request}"), OpenId("ou_a"), "d" * 64),
                now=now,
            )
        )
        return request

    async def answered(self, *words: str, private: bool = False) -> RequestId:
        """A question whose answer is queued in these parts."""
        request = await self.question(private=private)

        def resolve(connection: Connection) -> None:
            view = requests.current(connection, request)
            revisions.work(connection, view.newest, WorkEvent.RESOLVE)
            record(connection, request, 1, self.clock.now(), "resolved", {"by": "steward"})

        await self.transactions.run(resolve)
        asked_at = self.provider.clock.now()
        await self.put(*words, subject=request, to=route(reply_to=f"om_q{request}"), asked_at=asked_at)
        return request

    async def act(self, request: str, act: Act, who: str = WHO) -> Carried:
        """As a command or the API does it."""
        now = self.clock.now()
        return await self.transactions.run(lambda c: self.acting.carry_out(c, RequestId(request), act, who, now))

    async def refused(self, request: str, act: Act) -> str:
        """The code that it is refused with."""
        try:
            carried = await self.act(request, act)
        except OperatorRefused as refused:
            return refused.code
        raise AssertionError(f"it was not refused: {carried}")

    async def outcome(self, carried: Carried) -> str:
        """What a command came to, once it is known; the clock moves on meanwhile."""

        async def known() -> bool:
            await self.worker._pass()
            return (await self.command(carried)).pending is None

        await self.until(known)
        return (await self.command(carried)).outcome

    async def command(self, carried: Carried) -> object:
        table = operator_commands
        return await self.transactions.read(
            lambda c: c.execute(select(table).where(table.c.command_id == carried.command_id)).one()
        )

    async def waiting(self) -> int:
        return len(await self.transactions.read(lambda c: operators.waiting(c, 100)))

    async def shown(self, request: str) -> dict:
        return await self.transactions.read(lambda c: show_request(asking(c), request))

    async def acts(self, request: str) -> list[tuple[str, dict]]:
        """The facts that operators left."""
        rows = await self.transactions.read(
            lambda c: c.execute(select(facts).where(facts.c.request_id == request).order_by(facts.c.seq)).all()
        )
        return [(row.fact, json.loads(row.detail)) for row in rows if row.fact.startswith("operator_")]


@asynccontextmanager
async def desk(folder: Path, **policy: object) -> AsyncIterator[Desk]:
    """A desk whose pump runs; at its end folding the facts gives the tables."""
    async with opened_transactions(folder) as transactions:
        home = Desk(transactions, replace(POLICY, settle_ms=2_000, **policy))
        task = asyncio.create_task(home.pump.run())
        home.stopped = task.done
        try:
            yield home
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await transactions.read(check_replay)
