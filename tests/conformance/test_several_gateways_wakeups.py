"""What one gateway commits wakes the loops of another, which would else look again only in an hour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection

from manager.decisions.assessment import Assessment
from manager.decisions.decision import Audience, Delegate
from manager.decisions.peer_writes import Assess, Conclude, Outcome, Present
from manager.ids import PeerId, RequestId
from manager.ledger import peers, requests, tables
from manager.service import turns as turns_service
from manager.service.authority import StewardAuthority
from manager.service.handover import DecidedTurn, apply_decision
from manager.service.peer_inbox import PeerInbox
from providers.storage.postgresql import PostgresTransactions
from returns.ledger.tables import parts
from returns.ledger.wakeups import RETURNS, announce
from returns.service import pump as pump_service
from returns.service.pump import Pump
from tests.support import postgresql
from tests.support.racing import LIMIT_S, Two, two_gateways
from tests.support.returns import POLICY, FakeProvider
from tests.support.turns import Ids, ManualClock, World, message

HOUR_S = 3600.0


@pytest.fixture(autouse=True)
def nobody_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump_service, "LONGEST_WAIT_S", HOUR_S)
    monkeypatch.setattr(turns_service, "LONGEST_WAIT_S", HOUR_S)


@pytest.fixture
def url(postgresql_server: postgresql.Server) -> Iterator[str]:
    with postgresql_server.migrated() as found:
        yield found


@pytest.fixture
async def two(url: str) -> AsyncIterator[Two]:
    async with two_gateways(url) as both:
        yield both


@asynccontextmanager
async def running(loop: Any) -> AsyncIterator[None]:
    task = asyncio.ensure_future(loop)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(look: Any) -> Any:
    async with asyncio.timeout(LIMIT_S):
        found = look()
        while not found:
            await asyncio.sleep(0.005)
            found = look()
        return found


def pump(transactions: PostgresTransactions, provider: FakeProvider, clock: Any) -> Pump:
    return Pump(transactions, provider, StewardAuthority("say_nothing", clock, Ids("pump")), clock, POLICY, "other")


async def asleep(loop: Any) -> None:
    """The loop has looked once, found nothing, and waits."""
    await until(lambda: loop.last_pass_at is not None)
    await asyncio.sleep(0.2)  # whatever rang at its start is over


async def handed_over(at: World) -> RequestId:
    """A question that a peer accepted, at one gateway."""
    await at.accept(message("@_user_1 ask atlas about things"))
    (row,) = await at.rows(tables.requests)

    def work(connection: Connection) -> RequestId:
        peers.add(
            connection,
            peer_id=PeerId("p_atlas"),
            name="atlas",
            mode=peers.Mode.ATTACHED_HOST,
            audience=Audience.SHARED,
            goal=None,
            responsibilities=("things",),
            examples=(),
            digest=peers.token_digest("atlas"),
            now=at.clock.now(),
        )
        view = requests.current(connection, RequestId(row["request_id"]))
        assert view is not None
        turn = DecidedTurn(view.request_id, 1, view.conversation_id, view.audience, view.language)
        apply_decision(connection, turn, Delegate("atlas", "things"), at.telling(), at.clock.now())
        return view.request_id

    return await at.transactions.run(work)


async def write(at: World, key: str, write_it: Any) -> None:
    inbox = PeerInbox(at.transactions, at.clock, at.ids, at.telling())
    atlas = await at.transactions.read(lambda c: peers.by_id(c, PeerId("p_atlas")))
    assert atlas is not None
    reply = await inbox.write(atlas, key, key, write_it)
    assert reply.status == 200, reply


async def test_a_result_that_came_to_a_gateway_whose_pump_stands_is_sent_by_another(two: Two) -> None:
    clock = ManualClock()
    provider = FakeProvider(clock)
    here = World(two.one, clock=clock)
    request = await handed_over(here)
    await write(here, "1", Present(request, 1, None))
    await write(here, "2", Assess(request, 1, Assessment.ACCEPTED))
    sending = pump(two.other, provider, clock)
    async with running(sending.run()):
        await until(lambda: len(provider.sends) == 1)  # that it was handed over
        await until_settled(here)
        await asleep(sending)
        await write(here, "3", Conclude(request, 1, Outcome.RESOLVED, "It is done."))
        await until(lambda: len(provider.sends) == 2)


async def until_settled(here: World) -> None:
    async def settled() -> bool:
        here.clock.advance(1_000)
        await here.transactions.run(look_again)
        return all(row["state"] == "delivered" for row in await here.rows(parts))

    await here.until(settled)


def look_again(connection: Connection) -> None:
    announce(connection, RETURNS)


async def test_a_question_that_came_to_a_gateway_whose_turns_stand_is_answered_by_another(two: Two) -> None:
    clock = ManualClock()
    here, there = World(two.one, clock=clock, ids=Ids("a")), World(two.other, clock=clock, ids=Ids("b"))
    loop = there.turns("other")
    async with running(loop.run()):
        await asleep(loop)
        await here.accept(message("@_user_1 where is main?", created_at=clock.now()))
        await until(lambda: there.runtime.questions)
    assert there.runtime.questions == ["where is main?"]


async def test_a_peer_that_waits_at_one_gateway_hears_of_what_another_stored(two: Two) -> None:
    here, there = World(two.one), World(two.other)
    waiting = asyncio.ensure_future(
        PeerInbox(there.transactions, there.clock, there.ids, there.telling()).page(
            PeerId("p_atlas"), only_open=True, after=None, limit=10, wait_s=LIMIT_S
        )
    )
    await asyncio.sleep(0.1)
    request = await handed_over(here)
    (held,) = await waiting
    assert held.view.request_id == request


async def test_a_turn_that_somebody_was_in_the_way_of_is_claimed_although_nobody_says_so(two: Two) -> None:
    clock = ManualClock()
    here, there = World(two.one, clock=clock), World(two.other, clock=clock)
    await here.accept(message("@_user_1 where is main?", created_at=clock.now()))
    loop = there.turns("other")
    async with await psycopg.AsyncConnection.connect(two.url) as another:
        await another.execute("SELECT 1 FROM conversations FOR UPDATE")
        async with running(loop.run()):
            await until(lambda: loop.last_pass_at is not None)
            assert there.runtime.questions == []
            await another.rollback()
            await until(lambda: there.runtime.questions)
