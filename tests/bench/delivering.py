"""The whole way back over the local Lark: parts a second, reconciliations a second, commit to first byte."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, func, select

from gateway.system import Ids, SystemClock
from providers.lark import http
from providers.lark.client import LarkClient
from providers.lark.config import LarkApp
from providers.lark.delivery import LarkDelivery
from providers.storage.schema import create_all
from providers.storage.sqlite import SqliteTransactions
from returns.decisions.document import Text
from returns.decisions.policy import ReturnsPolicy
from returns.delivery import State
from returns.ids import AppName, ChatId, MessageId, Millis, ReturnId, SubjectId
from returns.ledger import attempts
from returns.ledger.lanes import LANES
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ledger.tables import parts
from returns.ports import Accepted, Locator, ReadOutcome, Route, Unknown, Verdict, WindowOutcome
from returns.service.pump import Pump
from tests.bench import sends
from tests.bench.lark_server import APP_ID, SECRET, Lark, lark_server
from tests.bench.report import Figure
from tests.bench.waiting import until

APP = AppName("default")
POLICY = ReturnsPolicy(
    readback_delay_ms=0, settle_ms=0, app_per_second=1_000_000, app_per_minute=10_000_000, chat_per_second=1_000_000
)
CHATS = 256
PARTS = 2_000
THEIR_SENDS = 150
UNKNOWN = 10_000
COMMITS = 200
PARTS_AIM = 2.0
FIRST_BYTE_AIM_MS = 20.0


class Allowed:
    """Everything may be told."""

    def verdict(self, _connection: Connection, _subject: SubjectId, _revision: int) -> Verdict:
        return Verdict.ALLOWED

    def question_recalled(self, _connection: Connection, _subject: SubjectId, _revision: int, _now: Millis) -> None:
        """Nothing is recalled."""


class Counting(LarkDelivery):
    """Counts the reads."""

    reads = 0

    async def read(self, app: AppName, locator: Locator) -> ReadOutcome:
        self.reads += 1
        return await super().read(app, locator)

    async def list_window(self, route: Route, since: Millis, cursor: str | None) -> WindowOutcome:
        self.reads += 1
        return await super().list_window(route, since, cursor)


@dataclass
class House:
    """A database, our client towards the local Lark, and a pump over both."""

    lark: Lark
    transactions: SqliteTransactions
    delivery: Counting
    clock: SystemClock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=Ids)

    def pump(self) -> Pump:
        return Pump(self.transactions, self.delivery, Allowed(), self.clock, POLICY, "bench")

    async def put(self, count: int) -> list[str]:
        """Commit so many answers of one part, in the chats in turn; the ids of their parts."""
        now = self.clock.now()

        def work(connection: Connection, first: int) -> None:
            for number in range(first, min(first + 100, count)):
                place = self.lark.places[number % len(self.lark.places)]
                return_id = ReturnId(self.ids.new("ret"))
                route = Route(APP, ChatId(place.chat_id), None, MessageId(place.question))
                words = (((Text(f"{sends.WORDS} ({return_id})"),),),)
                new = new_return(
                    return_id=return_id,
                    subject=SubjectId(f"r_{return_id}"),
                    revision=1,
                    kind=ReturnKind.ANSWER,
                    route=route,
                    documents=words,
                )
                enqueue(connection, new, now)

        for first in range(0, count, 100):
            await self.transactions.run(lambda c, first=first: work(c, first))
        query = select(parts.c.part_id).where(parts.c.state == State.QUEUED.value)
        return list(await self.transactions.read(lambda c: c.execute(query).scalars().all()))

    async def idle(self) -> bool:
        """Whether nothing is pending."""
        query = select(parts.c.part_id).where(parts.c.lane.in_(LANES)).limit(1)
        return await self.transactions.read(lambda c: c.execute(query).first()) is None

    async def drain(self) -> float:
        """Run the pump until nothing is pending; the seconds that took."""
        started = time.perf_counter()
        running = asyncio.create_task(self.pump().run())
        try:
            await until(self.idle, 0.05)
            took = time.perf_counter() - started
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        wrong = select(func.count()).select_from(parts).where(parts.c.state != State.DELIVERED.value)
        assert await self.transactions.read(lambda c: c.execute(wrong).scalar_one()) == 0
        return took


@asynccontextmanager
async def house(chats: int = CHATS) -> AsyncIterator[House]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steward.db"
        create_all(path)
        async with AsyncExitStack() as stack:
            lark = await stack.enter_async_context(lark_server(chats))
            transactions = await stack.enter_async_context(SqliteTransactions(path))
            app = LarkApp(APP, APP_ID, SECRET, lark.url)
            client = await stack.enter_async_context(LarkClient((app,), SystemClock()))
            yield House(lark, transactions, Counting(client))


async def parts_a_second() -> list[Figure]:
    """Committed, sent, located, read back and proved, against lark-oapi's client that only sends."""
    async with house() as home:
        await home.put(200)
        await home.drain()
        await home.put(PARTS)
        ours = PARTS / await home.drain()
        theirs = await sends.rate(sends.theirs(home.lark), home.lark, THEIR_SENDS, "parts")
    figure = Figure(
        "parts a second through the whole pump (two durable commits, send, locator, readback), limits off",
        ours,
        "/s",
        "lark-oapi's asynchronous client, sending alone",
        theirs,
        ours / theirs,
        f"≥ {PARTS_AIM:g}",
        ours / theirs >= PARTS_AIM,
    )
    return [figure]


async def reconciliations() -> list[Figure]:
    """Parts that were accepted and whose answers were lost: settled by reading alone."""
    async with house() as home:
        queued = await home.put(UNKNOWN)
        waiting = iter(queued)

        async def lose() -> None:
            for part in waiting:
                now = home.clock.now()
                attempt = await home.transactions.run(
                    lambda c, part=part, now=now: attempts.begin(c, part, "lost", now, POLICY, Allowed())
                )
                if attempt is None:  # another part of its chat is under way
                    later.append(part)
                    continue
                outcome = await home.delivery.send(attempt.route, attempt.document, attempt.key)
                assert isinstance(outcome, Accepted)
                await home.transactions.run(
                    lambda c, attempt=attempt: attempts.conclude(c, attempt, Unknown("lost"), home.clock.now(), POLICY)
                )

        later: list[str] = []
        while queued:
            waiting, later = iter(queued), []
            async with asyncio.TaskGroup() as group:
                for _ in range(64):
                    group.create_task(lose())
            queued = later
        home.delivery.reads = 0
        took = await home.drain()
    rate, reads = UNKNOWN / took, home.delivery.reads / UNKNOWN
    return [
        Figure(
            f"reconciliations a second, {UNKNOWN:,} unknown parts in {CHATS} chats, by reading alone, limits off",
            rate,
            "/s",
            "the provider's own limit for reading histories",
            50,
            rate / 50,
            "≥ 1",
            rate >= 50,
        ),
        Figure(
            "reads for one reconciled part",
            reads,
            "",
            "one history and one readback for each part",
            2,
            reads / 2,
            "≤ 0.5",
            reads / 2 <= 0.5,
        ),
    ]


async def first_byte() -> list[Figure]:
    """From the durable commit of an answer to the first byte of its send."""
    left: list[float] = []

    leave = http._leave

    async def note(*event: object) -> None:
        left.append(time.perf_counter())
        await leave(*event)

    http._leave = note
    took: list[float] = []
    try:
        async with house(64) as home:
            running = asyncio.create_task(home.pump().run())
            for _ in range(COMMITS):
                left.clear()
                await home.put(1)
                committed = time.perf_counter()
                await until(home.idle, 0.002)
                took.append(next(each for each in left) - committed)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            theirs = await _their_first_byte(home.lark)
    finally:
        http._leave = leave
    ours = statistics.median(took) * 1000
    figure = Figure(
        "from the commit of an answer to the first byte of its send (the attempt's own commit in between), median",
        ours,
        "ms",
        "lark-oapi's asynchronous client, from the call to the first byte",
        theirs,
        ours / theirs,
        f"< {FIRST_BYTE_AIM_MS:g} ms",
        ours < FIRST_BYTE_AIM_MS,
    )
    return [figure]


async def _their_first_byte(lark: Lark) -> float:
    """Milliseconds from the call of lark-oapi's client until its first byte arrives somewhere."""
    arrived: list[float] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        arrived.append(time.perf_counter())
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    warm = sends.theirs(lark)
    await warm(lark.places[0], "warm-first-byte")  # it has its token now, and goes elsewhere without asking again
    send = sends.theirs(Lark(f"http://127.0.0.1:{port}", lark.places), fresh=False)
    took: list[float] = []
    for number in range(20):
        started = time.perf_counter()
        seen = len(arrived)
        await asyncio.gather(send(lark.places[0], f"first-{number}"), return_exceptions=True)
        if len(arrived) > seen:
            took.append(arrived[seen] - started)
    server.close()
    return statistics.median(took) * 1000
