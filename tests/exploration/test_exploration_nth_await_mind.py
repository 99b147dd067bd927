"""Ended at every await: an event that is received, a turn that is worked on, and both with the answer's way back."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import select

from manager.decisions.decision import Answer, Decision, TurnInput
from manager.ledger import tables, turns
from manager.ledger.claims import Claims
from manager.ports import ChatFacts, ChatMessage, Gone
from manager.service.authority import StewardAuthority
from manager.service.held import HeldEvents
from manager.service.receipts import ReceiptsWorker
from manager.service.receiving import Receiving
from returns.ids import MessageId, Millis
from returns.ledger import leases
from returns.ports import StorageUnavailable
from returns.service.pump import Pump
from tests.exploration.lives import NEVER, Fault, HouseDatabase, Ports, Ran, StepLoop, both, live
from tests.simulation.loop import START_MS
from tests.simulation.provider import SimProvider
from tests.simulation.world import Script
from tests.simulation.world import World as Chats
from tests.support.returns import POLICY
from tests.support.turns import (
    STEWARD,
    FakeReader,
    FakeReceipts,
    FakeRuntime,
    World,
    bot_removed,
    message,
    policy,
    recall,
)

FAULTS = ("away", "lost", "kept")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def question(words: str = "@_user_1 where is main?", **more: Any) -> Any:
    return message(words, created_at=Millis(START_MS + 1), **more)


class Receptions:
    """Events that are pushed until they are acknowledged, all at once, and pushed again to every life."""

    def __init__(self, events: list[Any], *, unknown_self: int = 0) -> None:
        self.database = HouseDatabase()
        self.events = events
        self.unknown_self = unknown_self
        """So many times it is asked in vain who the steward is."""
        self.keys_are_kept = True

    def run(self, *kills: int, fault: Fault | None = None, step: int = NEVER) -> Ran:
        self.database.load(self.database.blank)
        self.acknowledged: set[int] = set()
        self.asked = 0
        return live(self.database, StepLoop(step), self._work, self._done, kills=kills, fault=fault)

    async def _work(self, ports: Ports) -> None:
        async def own_id(_app: object) -> Any:
            await ports.awaits.point("own id")
            self.asked += 1
            return None if self.asked <= self.unknown_self else STEWARD

        receiving = Receiving(ports.transactions, ports, ports.new_id, policy(), own_id)
        pushes = [self._push(ports, receiving, number) for number in range(len(self.events))]
        await both(*pushes, HeldEvents(ports.transactions, receiving).run())

    async def _push(self, ports: Ports, receiving: Receiving, number: int) -> None:
        event = self.events[number]
        while True:
            try:
                await receiving.accept(event, "{}")
            except StorageUnavailable:
                await asyncio.sleep(15)  # answered 503: it is pushed again
                continue
            ports.life.check()
            self.acknowledged.add(number)
            name = f"event:{event.envelope.event_id}"
            assert self.database.look("SELECT 1 FROM event_keys WHERE key = ?", name) or not self.keys_are_kept
            self.database.changed()
            return

    def _done(self) -> bool:
        held = self.database.look("SELECT 1 FROM events WHERE state = 'held'")
        return len(self.acknowledged) == len(self.events) and not held

    def count(self, table: str) -> int:
        return len(self.database.look(str(select(tables.metadata.tables[table]))))

    def column(self, query: str) -> list[Any]:
        return sorted(row[0] for row in self.database.look(query))


ASKED = question()
OTHER = question("@_user_1 and who wrote it?")


def once(it: Receptions) -> None:
    assert (it.count("requests"), it.count("turns"), it.count("revisions"), it.count("question_routes")) == (1, 1, 1, 1)
    assert it.column("SELECT state FROM turns") == ["queued"]
    assert it.count("grants") == 1


def cancelled(it: Receptions) -> None:
    assert it.count("requests") == 1
    assert set(it.column("SELECT state FROM turns")) <= {"cancelled"}
    assert it.column("SELECT work FROM revisions") == ["cancelled"]


def two(it: Receptions) -> None:
    assert (it.count("requests"), it.count("turns")) == (2, 2)
    assert it.column("SELECT request_id FROM turns") == it.column("SELECT request_id FROM requests")


def left(it: Receptions) -> None:
    assert it.count("requests") == 1
    assert it.count("chats") == 1


def again(event: Any) -> Any:
    """The same message under the name of another event."""
    return message(
        event.text, created_at=event.created_at, message_id=event.message_id, content_digest=event.content_digest
    )


RECEPTIONS: dict[str, tuple[Callable[[], Receptions], Callable[[Receptions], None]]] = {
    "one": (lambda: Receptions([ASKED]), once),
    "copies": (lambda: Receptions([ASKED, ASKED, again(ASKED)]), once),
    "unknown self": (lambda: Receptions([ASKED], unknown_self=2), once),
    "recalled": (lambda: Receptions([ASKED, recall(ASKED)]), cancelled),
    "recalled first": (lambda: Receptions([recall(ASKED), ASKED]), cancelled),
    "two": (lambda: Receptions([ASKED, OTHER]), two),
    "bot removed": (lambda: Receptions([ASKED, bot_removed(at=START_MS + 5)]), left),
}


@pytest.mark.parametrize("name", RECEPTIONS)
class TestReceiving:
    def test_ended_at_every_await(self, name: str) -> None:
        make, judge = RECEPTIONS[name]
        it = make()
        assert _every(lambda n: (it.run(n), judge(it))[0].killed == 0) >= 4

    def test_ended_at_every_step_of_the_loop(self, name: str) -> None:
        make, judge = RECEPTIONS[name]
        it = make()
        assert _every(lambda n: (it.run(step=n), judge(it))[0].killed == 0) >= 8

    def test_every_transaction_fails_once(self, name: str) -> None:
        make, judge = RECEPTIONS[name]
        it = make()
        for number, what in itertools.product(range(1, it.run().transactions + 1), FAULTS):
            it.run(fault=Fault(number, what))
            judge(it)

    def test_ended_twice(self, name: str) -> None:
        make, judge = RECEPTIONS[name]
        it = make()
        pairs = pairs_of(it.run)
        for pair in random.Random(7).sample(pairs, min(15, len(pairs))):
            it.run(*pair)
            judge(it)


def test_a_key_that_is_not_kept_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the claims, what is pushed again is asked again."""
    monkeypatch.setattr(Claims, "write", lambda *_given: True)
    monkeypatch.setattr(Claims, "find", lambda *_given: {})
    it = Receptions([ASKED, ASKED])
    it.keys_are_kept = False
    it.run()
    with pytest.raises(AssertionError):
        once(it)


class Turning:
    """A question that was received; with ``deliver`` its answer goes all the way."""

    def __init__(self, *, deliver: bool = False, receive: bool = False) -> None:
        self.database = HouseDatabase()
        self.deliver = deliver
        self.receive = receive
        self.event = question(message_id=MessageId("om_question"))
        if not receive:
            asyncio.run(self._ask())
        self.asked = self.database.driver.serialize()

    async def _ask(self) -> None:
        async def own_id(_app: object) -> Any:
            return STEWARD

        ids = (f"q{number}" for number in itertools.count(1))
        clock = _Still()
        receiving = Receiving(_Quiet(self.database), clock, lambda prefix: f"{prefix}_{next(ids)}", policy(), own_id)
        await receiving.accept(self.event, "{}")

    def run(self, *kills: int, fault: Fault | None = None, step: int = NEVER) -> Ran:
        self.database.load(self.asked)
        self.decisions, self.left, self.acknowledged = 0, list[str](), not self.receive
        loop = StepLoop(step)
        self.chats = Chats(loop, _LosesFirst())
        self.chats.ask(self.event.message_id, self.event.chat_id, None)
        ran = live(self.database, loop, self._work, self._done, kills=kills, fault=fault)
        self._judge(f"kills {kills}, fault {fault}, step {step}")
        return ran

    async def _work(self, ports: Ports) -> None:
        await ports.patiently(lambda c: (leases.release_all(c, ports.now()), turns.release_all(c, ports.now())))
        reader, receipts, runtime = _Reader(ports), FakeReceipts(), FakeRuntime()
        receipts.works = lambda message: self._acknowledge(ports, message)
        runtime.decide_with = lambda turn: self._decide(ports, turn)
        house = World(ports.transactions, clock=ports, runtime=runtime, reader=reader, ids=ports.new_id)
        services = [house.turns().run(), ReceiptsWorker(ports.transactions, ports, receipts, reader).run()]
        if self.deliver:
            provider = SimProvider(self.chats, ports.life, ports.awaits.point)
            authority = StewardAuthority("say_nothing", ports, ports.new_id)
            services.append(Pump(ports.transactions, provider, authority, ports, POLICY, "gateway").run())
        if self.receive:
            services.append(self._push(ports, house))
        await both(*services)

    async def _push(self, ports: Ports, house: World) -> None:
        while True:
            try:
                await house.accept(self.event)
            except StorageUnavailable:
                await asyncio.sleep(15)
                continue
            ports.life.check()
            self.acknowledged = True
            self.database.changed()
            return

    async def _acknowledge(self, ports: Ports, message: str) -> bool:
        await ports.awaits.point("receipt:before")
        self.left.append(message)
        await ports.awaits.point("receipt:after")
        return True

    async def _decide(self, ports: Ports, turn: TurnInput) -> Decision:
        await ports.awaits.point("decide:before")
        self.decisions += 1
        await asyncio.sleep(2)
        await ports.awaits.point("decide:after")
        return Answer(f"answer to {turn.question}")

    def _done(self) -> bool:
        waits = self.database.look("SELECT 1 FROM turns WHERE pending = 1 OR receipt = 'wanted'")
        owed = self.deliver and self.database.look("SELECT 1 FROM parts WHERE lane IS NOT NULL")
        return self.acknowledged and not waits and not owed

    def _judge(self, when: str) -> None:
        look = self.database.look
        assert look("SELECT state, receipt FROM turns") == [("done", "done")], when
        assert len(look("SELECT 1 FROM requests")) == 1, when
        assert look("SELECT work FROM revisions") == [("resolved",)], when
        assert look("SELECT kind FROM returns") == [("answer",)], when
        assert len(look("SELECT 1 FROM messages WHERE author = 'steward'")) == 1, when
        assert len(look("SELECT 1 FROM facts WHERE fact = 'decided'")) == 1, when
        assert set(self.left) == {self.event.message_id}, when
        if not self.deliver:
            return
        told = [each.text for each in self.chats.messages if each.ours]
        ((state, error),) = look("SELECT state, error FROM parts")
        assert len(told) <= 1, f"{when}: {told}"
        assert self.chats.accepted.total() == len(told), when
        assert (state, error) == (("delivered", None) if told else ("explicit_unverified", "no_match_found")), when


class _Quiet:
    """Transactions of nobody's life."""

    def __init__(self, database: HouseDatabase) -> None:
        self._database = database

    async def run(self, work: Any) -> Any:
        return self._database.perform(work)


class _Still:
    def now(self) -> Millis:
        return Millis(START_MS)


class _LosesFirst(Script):
    def __init__(self) -> None:
        self.sends = 0

    def send(self, key: str) -> str:
        self.sends += 1
        return "reset" if self.sends == 1 else "accept"


class _Reader(FakeReader):
    """Every reading is an await."""

    def __init__(self, ports: Ports) -> None:
        super().__init__()
        self._ports = ports

    async def message(self, app: Any, message_id: Any) -> ChatMessage | Gone:
        await self._ports.awaits.point("message")
        return await super().message(app, message_id)

    async def chat(self, app: Any, chat_id: Any) -> ChatFacts | Gone:
        await self._ports.awaits.point("chat")
        return await super().chat(app, chat_id)

    async def own_id(self, app: Any) -> Any:
        await self._ports.awaits.point("own id")
        return await super().own_id(app)


class TestATurn:
    def test_ended_at_every_await(self) -> None:
        it = Turning()
        assert _every(lambda n: it.run(n).killed == 0) > 20

    def test_ended_at_every_step_of_the_loop(self) -> None:
        it = Turning()
        assert _every(lambda n: it.run(step=n).killed == 0) > 40

    def test_ended_twice(self) -> None:
        it = Turning()
        for pair in random.Random(11).sample(pairs_of(it.run), 40):
            it.run(*pair)

    @pytest.mark.parametrize("what", FAULTS)
    def test_every_transaction_fails_once(self, what: str) -> None:
        it = Turning()
        for number in range(1, it.run().transactions + 1):
            it.run(fault=Fault(number, what))


class TestAllTheWay:
    """From the push of the event to the proof of the answer, in one life, ended at every await."""

    def test_ended_at_every_await(self) -> None:
        it = Turning(deliver=True, receive=True)
        assert _every(lambda n: it.run(n).killed == 0) > 60

    @pytest.mark.parametrize("what", FAULTS)
    def test_every_transaction_fails_once(self, what: str) -> None:
        it = Turning(deliver=True, receive=True)
        for number in range(1, it.run().transactions + 1):
            it.run(fault=Fault(number, what))


def pairs_of(run: Callable[[], Ran]) -> list[tuple[int, int]]:
    """The awaits at which two lives can be ended, and some behind the last one."""
    most = run().awaits[0]
    return list(itertools.product(range(1, most + 1), range(1, most + 10)))


def _every(run: Callable[[int], bool]) -> int:
    """Run with 1, 2, 3 … until a run in which nothing happened any more; how many did."""
    for number in itertools.count(1):
        if run(number):
            return number - 1
    raise AssertionError
