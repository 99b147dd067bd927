"""The hot operations, each through the real services, over a database in which much is over and a little is pending.

The tests count what the database does for them; the benchmark takes their time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from gateway.databases import open_database
from gateway.inbox import reading
from gateway.inbox.asking import asking
from gateway.inbox.reading import EVENT_STATES, STATUSES, Listing
from gateway.settings_database import SqliteFile
from manager.decisions.inbound import MessageReceived
from manager.decisions.retention import DAY_MS, RetentionPolicy
from manager.decisions.work import WorkEvent
from manager.ids import AttemptId, PeerId, RequestId
from manager.ledger import events, holdings, idempotency, peers, receipts, requests, revisions, turns
from manager.ledger.requests import create_child
from manager.service.retention import Retention
from providers.storage.sqlite import SqliteTransactions
from returns.ids import AppName, ChatId, MessageId, Millis, SubjectId, ThreadId
from returns.ledger import leases, operators, speaking
from returns.ledger.due import Asked, front
from returns.ledger.lanes import SEND
from returns.ledger.outbox import ReturnKind
from returns.ports import Unknown
from tests.support.history import PEER, last_asked
from tests.support.returns import House, route, text
from tests.support.turns import APP, World, message, misshapen, recall

ELSEWHERE = AppName("elsewhere")
CHATS = [ChatId(f"oc_h{1000 + number}") for number in range(40)]


@dataclass
class Scene:
    """A database in which much is over and a little is pending."""

    path: Path
    count: int
    transactions: SqliteTransactions
    world: World = field(init=False)
    home: House = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(self.transactions)
        self.world.clock.value = Millis(last_asked(self.count) + 60_000)
        self.home = House(self.transactions)
        self.home.clock.move(self.world.clock.value - self.home.clock.now())

    async def pending(self) -> None:
        """Parts of answers to questions that are in the tables, queued, each in a chat of its own."""
        for chat in CHATS[:8]:
            await self.home.put("the answer", to=route(chat, reply_to="om_x"))

    async def pump_pass(self) -> None:
        async with asyncio.TaskGroup() as group:
            await self.home.pump._pass(group)

    async def accept(self, *many: object) -> None:
        for each in many:
            await self.world.accept(each)

    async def turn(self) -> None:
        """Claim one turn, decide it and commit what it decided."""
        worker = self.world.turns()
        claimed, _ = await worker._pass()
        assert claimed
        for each in claimed:
            await worker._commit(await worker._investigation.work_on(each))

    async def delegated(self, number: int = 2) -> RequestId:
        """A request that a peer holds, made under one that is over."""

        def make(connection: Connection) -> RequestId:
            parent = requests.current(connection, RequestId(f"r_h{1000000000 + number}"))
            assert parent is not None
            child = RequestId(f"r_child_{number}")
            brief = revisions.body(connection, parent.request_id, 1).brief
            view = create_child(
                connection,
                request_id=child,
                parent=parent,
                from_peer=PeerId(PEER),
                intent="consultation",
                brief=brief,
                now=self.world.clock.now(),
            )
            revisions.assign_and_store(connection, view, PeerId(PEER), self.world.clock.now())
            return child

        return await self.transactions.run(make)

    async def run(self, work: Callable[[Connection], object]) -> None:
        await self.transactions.run(work)

    async def read(self, work: Callable[[Connection], object]) -> None:
        await self.transactions.read(work)


Operation = tuple[str, Callable[[Scene], Awaitable[object]], Callable[[Scene], Awaitable[object]]]


async def nothing(_scene: Scene) -> None:
    """Nothing has to be there first."""


def asked(**changes: object) -> MessageReceived:
    made = message(**{"chat_id": CHATS[0], **changes})
    return replace(made, message_id=MessageId(f"om_asked_{made.envelope.event_id}"))


async def start(scene: Scene) -> None:
    """All that a gateway does with the database before it opens its doors."""
    await scene.pending()
    await scene.accept(*(asked(chat_id=chat) for chat in CHATS[:4]))


async def started(scene: Scene) -> None:
    async with open_database(SqliteFile(scene.path), "gateway", scene.world.clock) as transactions:
        again = House(transactions)
        again.clock = scene.home.clock
        async with asyncio.TaskGroup() as group:
            await again.pump._pass(group)


async def sent(scene: Scene) -> None:
    await scene.pending()
    await scene.pump_pass()
    scene.home.clock.move(2_000)


async def unknown(scene: Scene) -> None:
    scene.home.provider.faults += [Unknown("lost")] * 8
    await scene.pending()
    await scene.pump_pass()
    scene.home.clock.move(600_000)


async def queued(scene: Scene) -> None:
    await scene.accept(asked())


async def quoting(scene: Scene) -> None:
    """A question that replies to an old answer of ours."""
    await scene.accept(asked(parent_id=MessageId("om_a1000000001"), chat_id=CHATS[1]))


async def old_question_answered_twice(scene: Scene) -> None:
    await scene.run(lambda c: _answer(scene, c))


def _answer(scene: Scene, connection: Connection) -> None:
    documents = (text("again"), text("and again"))
    scene.world.telling().tell(
        connection, RequestId("r_h1000000003"), 1, ReturnKind.ANSWER, documents, scene.world.clock.now()
    )


def looks(name: str, look: Callable[[Connection], object]) -> Operation:
    return name, nothing, lambda scene: scene.read(look)


def listing(status: str, *, children: bool = False) -> Operation:
    def look(connection: Connection) -> object:
        ask = asking(connection)
        page = reading.list_requests(ask, Listing(status, children), None, 20)
        later = reading.list_requests(ask, Listing(status, children), "700", 20)
        return page, later

    return looks(f"inbox list {status or 'all'}{' with children' if children else ''}", look)


def peer_list(*, only_open: bool, after: tuple[Millis, int] | None) -> Operation:
    found = f"peer's list, {'open' if only_open else 'all'}{', later page' if after else ''}"
    return looks(found, lambda c: holdings.page(c, PeerId(PEER), only_open=only_open, after=after, limit=20))


async def pruned(scene: Scene) -> None:
    """Retention with nothing old enough."""
    policy = RetentionPolicy(texts_ms=400 * DAY_MS, unproved_ms=400 * DAY_MS, events_ms=400 * DAY_MS)
    await Retention(scene.transactions, scene.world.clock, policy, no_rest).run()


async def no_rest(_seconds: float) -> None:
    """Goes on at once."""


async def _recalled(scene: Scene) -> None:
    question = asked()
    await scene.accept(question, recall(question))


def _claimed(scene: Scene, connection: Connection) -> None:
    now = scene.world.clock.now()
    held = turns.claim_due(connection, owner="one", now=now, lease_ms=30_000, limit=4, places=4)
    assert held
    assert turns.renew(connection, held[0].turn_id, held[0].fence, Millis(now + 30_000))
    turns.lost(connection, [(each.turn_id, each.fence) for each in held])
    turns.next_due(connection, now)


def _left(scene: Scene, connection: Connection) -> None:
    """What a gateway asks for beside another one that has an app of its own."""
    now = scene.world.clock.now()
    speaking.say(connection, "other", [ELSEWHERE], now, Millis(now + 30_000))
    speaking.say(connection, "one", [APP], now, Millis(now + 30_000))
    elsewhere = speaking.others(connection, "one", now)
    assert elsewhere == {ELSEWHERE}
    asked = Asked(SEND, 8, {}, 8, elsewhere=elsewhere)
    front(connection, asked, now)
    receipts.wanted(connection, now, 64, elsewhere)
    turns.claim_due(connection, owner="one", now=now, lease_ms=30_000, limit=4, places=4, elsewhere=elsewhere)
    turns.left_due(connection, now, elsewhere)


def _worked(scene: Scene, connection: Connection) -> None:
    view = requests.current(connection, RequestId("r_child_2"), lock=True)
    assert view is not None
    revisions.present(connection, view.newest, AttemptId("a_1"))
    requests.cancel_requested(connection, view.request_id, 1)
    holdings.lineage(connection, view.request_id)
    revisions.work(connection, view.newest, WorkEvent.RESOLVE)


def _looked(scene: Scene, connection: Connection) -> None:
    operators.look_again(connection, SubjectId("r_h1000000009"), scene.home.clock.now())


def _keyed(scene: Scene, connection: Connection) -> None:
    now = scene.world.clock.now()
    idempotency.claim(connection, PEER, "key", "digest", now)
    idempotency.settle(connection, PEER, "key", 200, "{}")
    idempotency.purge(connection, now, 200)


def _set_aside(state: str, connection: Connection) -> object:
    return reading.list_events(asking(connection), state, None, 20)


LATER = (Millis(1_600_000_400_000), 400)
OPERATIONS: tuple[Operation, ...] = (
    ("start", start, started),
    ("pump: a pass with nothing to do", lambda scene: scene.pump_pass(), lambda scene: scene.pump_pass()),
    ("pump: eight sends", Scene.pending, lambda scene: scene.pump_pass()),
    ("pump: eight readings", sent, lambda scene: scene.pump_pass()),
    ("pump: eight searches", unknown, lambda scene: scene.pump_pass()),
    ("queue an answer", nothing, old_question_answered_twice),
    ("event: a question", nothing, lambda scene: scene.accept(asked())),
    ("event: in a thread", nothing, lambda scene: scene.accept(asked(thread_id=ThreadId("omt_1")))),
    ("event: the same again", nothing, lambda scene: scene.accept(*([asked()] * 2))),
    ("event: a recall", nothing, _recalled),
    ("event: misshapen", nothing, lambda scene: scene.accept(misshapen())),
    ("turn", queued, lambda scene: scene.turn()),
    ("turn that quotes an old answer", quoting, lambda scene: scene.turn()),
    ("turns: claim, renew, next", queued, lambda scene: scene.run(partial(_claimed, scene))),
    ("beside another gateway's app", queued, lambda scene: scene.run(partial(_left, scene))),
    ("turns: release all", queued, lambda scene: scene.run(lambda c: turns.release_all(c, scene.world.clock.now()))),
    ("parts: release all", sent, lambda scene: scene.run(lambda c: leases.release_all(c, scene.home.clock.now()))),
    looks("held events", lambda c: events.held(c, APP, 0, 100)),
    looks("the directory", peers.everyone),
    looks("what a peer holds", lambda c: peers.open_requests(c, PeerId(PEER))),
    looks("one request of a peer", lambda c: holdings.one(c, RequestId("r_h1000000002"), PeerId(PEER))),
    peer_list(only_open=True, after=None),
    peer_list(only_open=False, after=None),
    peer_list(only_open=False, after=LATER),
    ("peer: a request and its work", Scene.delegated, lambda scene: scene.run(partial(_worked, scene))),
    ("operator: look again", nothing, lambda scene: scene.run(partial(_looked, scene))),
    ("idempotency key", nothing, lambda scene: scene.run(partial(_keyed, scene))),
    listing(""),
    listing("", children=True),
    *(listing(status) for status in STATUSES),
    listing("absent", children=True),
    looks("inbox show", lambda c: reading.show_request(asking(c), "r_h1000000007")),
    *(looks(f"events {state}", partial(_set_aside, state)) for state in EVENT_STATES),
    ("retention with nothing old", nothing, pruned),
)
