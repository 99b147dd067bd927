"""When a peer's result is rendered: once, for what will be told, one of a peer at a time and few in all."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Connection

from manager.decisions.peer_writes import Conclude, Outcome
from manager.ids import AttemptId, RequestId
from manager.ledger import requests
from manager.service.peer_inbox import PeerInbox, Reply
from manager.service.rendering_desks import MOST_AT_ONCE
from manager.service.telling import Telling
from returns.decisions.document import Document
from returns.ports import Transactions
from tests.support.handover import House, PeerSide, house

T = TypeVar("T")


class Watched(Telling):
    """Says what is rendered, and lets nothing go on before the test opens it."""

    def __init__(self, new_id: Callable[[str], str]) -> None:
        super().__init__(lambda document: len(repr(document)), 20_000, new_id)
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self.open = threading.Event()
        self.begun = asyncio.Semaphore(0)
        self.rendered: list[str] = []
        self.at_once = self.most = 0

    def documents(self, markdown: str) -> tuple[Document, ...]:
        with self._lock:
            self.rendered.append(markdown.rsplit("\n\n", maxsplit=1)[-1])
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        self._loop.call_soon_threadsafe(self.begun.release)
        assert self.open.wait(30)
        with self._lock:
            self.at_once -= 1
        return super().documents(markdown)


class Counted:
    """Real transactions that say when one has ended; whoever ran it is at its next waiting place by then."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self.read, self.subscribe = transactions.read, transactions.subscribe
        self.ended = asyncio.Semaphore(0)

    async def run(self, work: Callable[[Connection], T]) -> T:
        try:
            return await self._transactions.run(work)
        finally:
            self.ended.release()


class Stage:
    """An inbox with peers, what they hold, and eyes on it."""

    def __init__(self, home: House) -> None:
        self.home = home
        self.telling = Watched(home.new_id)
        self.transactions = Counted(home.transactions)
        self.inbox = PeerInbox(self.transactions, home.clock, home.new_id, self.telling)

    async def write(self, side: PeerSide, write: Conclude, key: str = "k", digest: str = "d") -> Reply:
        peer = await self.inbox.authenticate(side.token)
        assert peer is not None
        return await self.inbox.write(peer, key, digest, write)

    async def accepted(self, side: PeerSide) -> RequestId:
        request = await self.home.handed(side.name)
        await side.accept(request)
        return request

    async def tried(self, times: int) -> None:
        for _ in range(times):
            await self.transactions.ended.acquire()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with asyncio.timeout(60), house(tmp_path) as home:
        made = Stage(home)
        try:
            yield made
        finally:
            made.telling.open.set()  # or the loop would wait for its threads


def result(request: RequestId, text: str = "found", *, revision: int = 1, attempt: str | None = None) -> Conclude:
    return Conclude(request, revision, Outcome.RESOLVED, text, None if attempt is None else AttemptId(attempt))


async def nowhere(stage: Stage, side: PeerSide) -> Conclude:
    return result(RequestId("r_nowhere"))


async def of_another(stage: Stage, side: PeerSide) -> Conclude:
    return result(await stage.accepted(await stage.home.peer("boris")))


async def not_presented(stage: Stage, side: PeerSide) -> Conclude:
    return result(await stage.home.handed(side.name))


async def not_assessed(stage: Stage, side: PeerSide) -> Conclude:
    request = await stage.home.handed(side.name)
    await side.post(request, "presented")
    return result(request)


async def not_accepted(stage: Stage, side: PeerSide) -> Conclude:
    request = await stage.home.handed(side.name)
    await side.post(request, "presented")
    assert (await side.post(request, "assessment", assessment="rejected", reason="no")).status == 200
    return result(request)


async def concluded(stage: Stage, side: PeerSide) -> Conclude:
    request = await stage.accepted(side)
    assert (await side.post(request, "result", outcome="resolved", text="first")).status == 200
    return result(request)


async def of_an_older_revision(stage: Stage, side: PeerSide) -> Conclude:
    request = await stage.accepted(side)
    await stage.home.correct(request, "What else?")
    return result(request)


async def of_no_revision(stage: Stage, side: PeerSide) -> Conclude:
    return result(await stage.accepted(side), revision=7)


async def of_an_older_attempt(stage: Stage, side: PeerSide) -> Conclude:
    request = await stage.home.handed(side.name)
    first = await side.accept(request)
    assert (await side.post(request, "presented")).status == 200
    return result(request, attempt=first)


async def cancelled(stage: Stage, side: PeerSide) -> Conclude:
    request = await stage.accepted(side)
    await cancel(stage, request)
    return result(request)


async def cancel(stage: Stage, request: RequestId) -> None:
    def work(connection: Connection) -> None:
        requests.cancel(connection, request, stage.home.clock.now(), by="operator", reason="not wanted any more")

    await stage.home.transactions.run(work)


@pytest.mark.parametrize(
    ("refused", "status", "code"),
    [
        (nowhere, 404, "not_found"),
        (of_another, 404, "not_found"),
        (not_presented, 409, "not_presented"),
        (not_assessed, 409, "not_assessed"),
        (not_accepted, 409, "not_assessed"),
        (concluded, 409, "already_final"),
        (of_an_older_revision, 409, "revision_conflict"),
        (of_no_revision, 409, "revision_conflict"),
        (of_an_older_attempt, 409, "stale_attempt"),
        (cancelled, 409, "already_final"),
    ],
)
async def test_what_is_refused_is_not_rendered(
    stage: Stage, refused: Callable[[Stage, PeerSide], Awaitable[Conclude]], status: int, code: str
) -> None:
    stage.telling.open.set()
    side = await stage.home.peer("atlas")
    reply = await stage.write(side, await refused(stage, side))
    assert (reply.status, f'"code": "{code}"' in reply.body) == (status, True), reply
    assert stage.telling.rendered == []


async def test_a_finished_key_is_answered_without_rendering(stage: Stage) -> None:
    """Also where the request is one by now that would take a result."""
    stage.telling.open.set()
    side = await stage.home.peer("atlas")
    request = await stage.home.handed("atlas")
    too_early = await stage.write(side, result(request))
    assert too_early.status == 409
    await side.accept(request)
    assert await stage.write(side, result(request)) == too_early
    assert (await stage.write(side, result(request), digest="another")).status == 409
    assert stage.telling.rendered == []
    told = await stage.write(side, result(request), "new")
    assert (told.status, await stage.write(side, result(request), "new")) == (200, told)
    assert stage.telling.rendered == ["found"]


async def test_a_peers_request_is_not_rendered(stage: Stage) -> None:
    """The one who delegated reads the result."""
    stage.telling.open.set()
    atlas, boris = await stage.home.peer("atlas"), await stage.home.peer("boris")
    parent = await stage.accepted(atlas)
    body = {"to": "boris", "parent": parent, "intent": "delegate", "brief": {"purpose": "a part"}}
    made = await atlas.write("POST", "/requests", body)
    assert made.status == 201, made
    await boris.accept(made.body["request_id"])
    assert (await stage.write(boris, result(RequestId(made.body["request_id"])))).status == 200
    assert stage.telling.rendered == []


async def test_repetitions_share_one_rendering(stage: Stage) -> None:
    side = await stage.home.peer("atlas")
    request = await stage.accepted(side)
    async with asyncio.TaskGroup() as group:
        writes = [group.create_task(stage.write(side, result(request))) for _ in range(6)]
        await stage.tried(6)
        await stage.telling.begun.acquire()
        stage.telling.open.set()
    assert [write.result().status for write in writes] == [200] * 6
    assert len({write.result() for write in writes}) == 1
    assert stage.telling.rendered == ["found"]
    assert [kind for kind, _ in await stage.home.told(request)].count("answer") == 1


async def test_one_of_a_peer_at_a_time_and_few_in_all(stage: Stage) -> None:
    sides = [await stage.home.peer(name) for name in ("atlas", "boris", "clara", "dora")]
    held = [(side, await stage.accepted(side)) for side in sides for _ in range(3)]
    async with asyncio.TaskGroup() as group:
        writes = [
            group.create_task(stage.write(side, result(request, side.name), f"k{number}"))
            for number, (side, request) in enumerate(held)
        ]
        await stage.tried(len(held))
        for _ in range(MOST_AT_ONCE):
            await stage.telling.begun.acquire()
        assert max(Counter(stage.telling.rendered).values()) == 1
        stage.telling.open.set()
    assert [write.result().status for write in writes] == [200] * len(held)
    assert stage.telling.most == MOST_AT_ONCE
    first = Counter(stage.telling.rendered[: len(sides)])
    assert first == Counter(side.name for side in sides), "each peer has its turn before any has its second"


async def test_a_caller_who_stops_waiting_leaves_no_work_behind(stage: Stage) -> None:
    side = await stage.home.peer("atlas")
    first, second = await stage.accepted(side), await stage.accepted(side)
    async with asyncio.TaskGroup() as group:
        stays = group.create_task(stage.write(side, result(first, "first"), "k1"))
        await stage.telling.begun.acquire()
        leaves = group.create_task(stage.write(side, result(second, "second"), "k2"))
        await stage.tried(2)
        leaves.cancel()
        stage.telling.open.set()
    assert (leaves.cancelled(), stays.result().status) == (True, 200)
    assert stage.telling.rendered == ["first"]


async def test_a_rendering_whose_caller_went_away_is_taken_up(stage: Stage) -> None:
    """A thread cannot be ended: the repetition gets what it brings."""
    side = await stage.home.peer("atlas")
    request = await stage.accepted(side)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            await gone(group, stage, side, result(request))
        stays = group.create_task(stage.write(side, result(request)))
        await stage.tried(1)
        stage.telling.open.set()
    assert stays.result().status == 200
    assert stage.telling.rendered == ["found"]


async def test_nothing_is_rendered_beside_what_was_left_behind(stage: Stage) -> None:
    side = await stage.home.peer("atlas")
    first, second = await stage.accepted(side), await stage.accepted(side)
    async with asyncio.TaskGroup() as group:
        await gone(group, stage, side, result(first, "first"))
        other = group.create_task(stage.write(side, result(second, "second"), "k2"))
        await stage.tried(1)
        stage.telling.open.set()
    assert other.result().status == 200
    assert (stage.telling.rendered, stage.telling.most) == (["first", "second"], 1)


async def gone(group: asyncio.TaskGroup, stage: Stage, side: PeerSide, write: Conclude) -> None:
    """Somebody who has it rendered goes away."""
    leaves = group.create_task(stage.write(side, write))
    await stage.tried(1)
    leaves.cancel()
    await asyncio.wait([leaves])
    assert leaves.cancelled()


async def test_the_last_word_is_the_transactions(stage: Stage) -> None:
    """What was found before the rendering may be otherwise after it."""
    side = await stage.home.peer("atlas")
    request = await stage.accepted(side)
    async with asyncio.TaskGroup() as group:
        write = group.create_task(stage.write(side, result(request)))
        await stage.telling.begun.acquire()
        await cancel(stage, request)
        stage.telling.open.set()
    reply = write.result()
    assert (reply.status, '"code": "already_final"' in reply.body) == (409, True)
    assert "late_result" in [fact for fact, _, _ in await stage.home.facts(request)]
