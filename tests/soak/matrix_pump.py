"""Cells of the fault matrix that no outside observer can catch: the real pump and Lark client, ended at that await."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Row, select

from gateway.migrations import SCRIPTS
from gateway.system import SystemClock
from providers.lark.client import LarkClient
from providers.lark.config import LarkApp
from providers.lark.delivery import LarkDelivery
from providers.lark_double.model import App, Message, UuidRepeat
from providers.lark_double.server import LarkDouble
from providers.storage.migrate import sqlite_url, upgrade
from providers.storage.sqlite import SqliteTransactions
from returns.decisions.document import Document
from returns.decisions.policy import ReturnsPolicy
from returns.ids import AppName, ChatId, IdempotencyKey, MessageId, ReturnId, SubjectId
from returns.ledger import leases
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ledger.tables import answers
from returns.ports import MayLeave, Route, SendOutcome
from returns.service.pump import Pump
from tests.soak.faults import ELSEWHERE, HTTP_TIMEOUT_S, OFFLINE, Trouble
from tests.soak.matrix_process import Case
from tests.soak.outcomes import How, Moment, Outcome
from tests.soak.waiting import until
from tests.support.returns import FakeAuthority, text

POLICY = ReturnsPolicy(
    readback_delay_ms=400,
    settle_ms=2_500,
    give_up_after_ms=12_000,
    lease_ms=5_000,
    retry_first_ms=200,
    retry_max_ms=1_000,
)
APP = AppName("default")
WITHIN_S = 90.0
SETTLED = {"delivered", "explicit_unverified", "undeliverable", "superseded"}


class Dying(LarkDelivery):
    """A delivery whose process ends after the attempt is committed and before its first byte leaves."""

    def __init__(self, client: LarkClient) -> None:
        super().__init__(client)
        self.reached: set[MessageId | None] = set()

    async def send(
        self, route: Route, document: Document, key: IdempotencyKey, may_leave: MayLeave | None = None
    ) -> SendOutcome:
        self.reached.add(route.reply_to)
        await asyncio.Event().wait()
        raise AssertionError("nobody wakes the dead")

    async def dead(self, count: int) -> bool:
        """Whether so many sends have come to their end."""
        return len(self.reached) >= count


@dataclass
class Rig:
    """What a pump needs, and a Lark that it talks to."""

    lark: LarkDouble
    app: App
    client: LarkClient
    transactions: SqliteTransactions

    @asynccontextmanager
    async def pumping(self, delivery: LarkDelivery, owner: str) -> AsyncIterator[None]:
        """A pump's life; it ends as abruptly as the block."""
        pump = Pump(self.transactions, delivery, FakeAuthority(), SystemClock(), POLICY, owner)
        task = asyncio.create_task(pump.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def queue(self, case: Case) -> None:
        """Commit an answer to the case's question."""
        question = case.question
        assert question is not None
        route = Route(APP, ChatId(case.chat.chat_id), None, MessageId(question.message_id))
        answer = new_return(
            return_id=ReturnId(f"t_{question.message_id}"[:40]),
            subject=_subject(question),
            revision=1,
            kind=ReturnKind.ANSWER,
            route=route,
            documents=(text("the answer"),),
        )
        now = SystemClock().now()
        await self.transactions.run(lambda connection: enqueue(connection, answer, now))

    async def take_over(self) -> None:
        """What the only gateway of a database does when it starts."""
        now = SystemClock().now()
        await self.transactions.run(lambda connection: leases.release_all(connection, now))

    async def outcome(self, case: Case) -> Outcome:
        """The case's answer once it is over, held against what Lark has."""
        assert case.question is not None
        subject = _subject(case.question)
        query = select(answers).where(answers.c.subject_id == subject)

        async def over() -> Row[tuple[object, ...]] | None:
            row = await self.transactions.read(lambda connection: connection.execute(query).one())
            return row if row.status in SETTLED or row.needs_operator else None

        row = await until(over, WITHIN_S)
        assert row is not None
        made, sent = self.lark.sends(case.chat, committed=True), self.lark.sends(case.chat)
        needs_operator = bool(row.needs_operator)
        how = How.PUMP.value
        return Outcome(row.status, row.error, row.verification, needs_operator, len(made), len(sent), how)


def _subject(question: Message) -> SubjectId:
    return SubjectId(f"r_{question.message_id}"[:40])


@asynccontextmanager
async def rig(folder: Path) -> AsyncIterator[Rig]:
    """A database, a local Lark and a client of it."""
    path = folder / "steward.db"
    upgrade(sqlite_url(path), SCRIPTS)
    async with LarkDouble.start() as lark, SqliteTransactions(path) as transactions:
        lark.knobs.uuid_repeat = UuidRepeat.IGNORED
        app = lark.app("cli_matrix", "secret-of-the-matrix")
        apps = [LarkApp(APP, app.app_id, app.app_secret, lark.url)]
        async with LarkClient(apps, SystemClock(), HTTP_TIMEOUT_S) as client:
            yield Rig(lark, app, client, transactions)


async def before_bytes_cells(folder: Path, troubles: Sequence[Trouble]) -> dict[str, Outcome]:
    """How each answer ends when its process dies right before the first byte of its send."""
    async with rig(folder) as here:
        other = here.lark.create_chat(ELSEWHERE, ["lin"], [here.app])
        here.lark.say(other, "lin", "something else")
        cases = [Case(each, here.lark.create_chat(each.name, ["lin"], [here.app])) for each in troubles]
        for case in cases:
            case.question = here.lark.say(case.chat, "lin", "a question")
            case.trouble.arm(here.lark, case.chat)
            await here.queue(case)
        dying = Dying(here.client)
        async with here.pumping(dying, "first"):
            await until(lambda: dying.dead(len(cases)), WITHIN_S)
        await here.take_over()
        async with here.pumping(LarkDelivery(here.client), "second"):
            return {case.trouble.name: await here.outcome(case) for case in cases}


async def offline_cells(folder: Path) -> dict[Moment, Outcome]:
    """How an answer ends that is due while Lark cannot be reached: undisturbed, and killed while it waits."""
    found: dict[Moment, Outcome] = {}
    for moment in (Moment.NEVER, Moment.BEFORE_ATTEMPT):
        place = folder / moment.name
        place.mkdir()
        async with rig(place) as here:
            case = Case(Trouble(OFFLINE, lambda _lark, _chat: None), here.lark.create_chat("c", ["lin"], [here.app]))
            case.question = here.lark.say(case.chat, "lin", "a question")
            await here.queue(case)
            await here.lark.go_offline()
            async with here.pumping(LarkDelivery(here.client), "first"):
                await _waiting(here, case)
                if moment is Moment.NEVER:
                    await here.lark.go_online()
                    found[moment] = await here.outcome(case)
            if moment is not Moment.NEVER:
                await here.take_over()
                await here.lark.go_online()
                async with here.pumping(LarkDelivery(here.client), "second"):
                    found[moment] = await here.outcome(case)
    return found


async def _waiting(here: Rig, case: Case) -> None:
    """Wait until it is said that the provider is offline."""
    assert case.question is not None
    query = select(answers.c.error).where(answers.c.subject_id == _subject(case.question))

    async def told() -> str | None:
        return await here.transactions.read(lambda connection: connection.execute(query).scalar_one())

    await until(told, WITHIN_S)
