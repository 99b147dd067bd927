"""One answer on its way back over the real ledgers of both rooms, step by step, so that anything can happen between.

The question is received, decided and (for a peer's answer) handed over and concluded by the real services; the parts
are carried by the pump's own steps. A ``moment`` names a place between two effects; what a test hangs there happens
exactly once, exactly then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, select, text, update

from manager.decisions.decision import Answer, Audience, Decision, Delegate, TurnInput
from manager.decisions.inbound import ChatDisbanded
from manager.decisions.peer_writes import Assess, Assessment, Conclude, Outcome, Present
from manager.ids import PeerId, RequestId
from manager.ledger import grants, peers
from manager.ledger import tables as managed
from manager.ledger.departures import cancel_held
from manager.service.authority import StewardAuthority
from manager.service.peer_inbox import PeerInbox
from manager.service.telling import Telling
from returns.ids import MessageId, Millis
from returns.ledger import tables as returned
from returns.ledger.lanes import SEND
from returns.ledger.operators import look_again
from returns.ports import NotPermitted, Refusal, Refused
from returns.service.pump import Pump
from tests.support.exploration import MemoryTransactions
from tests.support.returns import POLICY, FakeProvider, Sent, measure
from tests.support.turns import (
    GROUP,
    THREAD,
    ManualClock,
    World,
    bot_added,
    bot_removed,
    envelope,
    message,
    policy,
    recall,
)

PEER = "mira"
FIRST, SECOND = "The first half of what was asked.", "The second half of what was asked."
OTHER = "Another answer."
SETTLE_MS = POLICY.settle_ms
GIVE_UP_MS = 4 * SETTLE_MS


class MovingClock(ManualClock):
    """One clock for both rooms' helpers."""

    def move(self, ms: int) -> None:
        self.advance(ms)


@dataclass
class StagedProvider(FakeProvider):
    """A chat that the bot can be taken out of and whose questions can be recalled, and that says where a call is."""

    gone: bool = False
    recalled: set[str] = field(default_factory=set)
    moment: Callable[[str], Any] = field(default=lambda _name: None)
    calls: list[str] = field(default_factory=list)
    hide_for_ms: int = 0
    """New messages are seen by no search for so long."""

    def say(self, route: Any, document: Any, **more: Any) -> Sent:
        return super().say(route, document, hidden_until=self.clock.now() + self.hide_for_ms, **more)

    async def prepare(self, app: Any) -> Any:
        await self._at("prepare:before")
        ready = await super().prepare(app)
        await self._at("prepare:after")
        return ready

    async def send(self, route: Any, document: Any, key: str, may_leave: Any = lambda: True) -> Any:
        await self._at("send:before")
        self.calls.append("send")
        refused = self._refusal(route)
        if refused is not None:
            self.sends.append((route, document, key))
            return refused
        outcome = await super().send(route, document, key, may_leave)
        if not isinstance(outcome, Refused):
            await self._at("send:after")
        return outcome

    def _refusal(self, route: Any) -> Refused | None:
        if self.gone:
            return Refused(Refusal.ROUTE_GONE, 230002)
        return Refused(Refusal.QUESTION_RECALLED, 230011) if route.reply_to in self.recalled else None

    async def read(self, app: Any, at: Any) -> Any:
        await self._at("read:before")
        self.calls.append("read")
        outcome = NotPermitted(230002) if self.gone else await super().read(app, at)
        await self._at("read:after")
        return outcome

    async def list_window(self, route: Any, since: Millis, cursor: str | None) -> Any:
        await self._at("list:before")
        self.calls.append("list")
        outcome = NotPermitted(230002) if self.gone else await super().list_window(route, since, cursor)
        await self._at("list:after")
        return outcome

    async def _at(self, name: str) -> None:
        happening = self.moment(name)
        if happening is not None:
            await happening


class Stage:
    """An answer that is queued, and the hands that carry it."""

    def __init__(self, transactions: MemoryTransactions, saved: Saved, *, wish: str = "say_nothing") -> None:
        self.transactions = transactions
        transactions.load(saved.database)
        self.clock = MovingClock(saved.now)
        self.question, self.other = saved.question, saved.other
        self.subject, self.bystander = saved.subject, saved.bystander
        self.world = _world(self.transactions, self.clock, policy(recalled_question=wish), prefix="later")
        self.provider = StagedProvider(self.clock, moment=self._moment)
        self.policy = replace(POLICY, recalled_question=wish, give_up_after_ms=GIVE_UP_MS)
        authority = StewardAuthority(wish, self.clock, self.world.ids)
        self.pump = Pump(
            self.transactions, self.provider, authority, self.clock, self.policy, "one", sleep=_no_time_passes
        )
        self.waiting: tuple[str, Callable[[], Any]] | None = None
        self.happened_at: int | None = None
        """How many calls the provider had seen when it happened."""

    def at(self, moment: str, happening: Callable[[], Any]) -> None:
        """Let something happen the first time that the answer is at this place."""
        self.waiting = (moment, happening)

    def _moment(self, name: str) -> Any:
        if self.waiting is None or self.waiting[0] != name:
            return None
        _, happening = self.waiting
        self.waiting = None
        self.happened_at = len(self.provider.calls)
        return happening()

    async def reach(self, name: str) -> None:
        """Say that the answer is at a place between two steps."""
        happening = self._moment(name)
        if happening is not None:
            await happening

    async def drive(self) -> None:
        """Take every step that is due, moving the clock, until nothing is left to do."""
        for _ in range(1000):
            due = self._next()
            if due is None:
                return
            if due.due_at > self.clock.now():
                self.clock.move(due.due_at - self.clock.now())
            if due.state == "verification_required":
                located = await self.one(select(returned.part_locators.c.source).where(_of(due.part_id)))
                await self.reach("look:before" if located is None else f"look:{located.source}")
            elif due.position > 0:
                await self.reach("next part")
            elif due.attempts > 0:
                await self.reach("retry")
            async with asyncio.TaskGroup() as group:
                await self.pump._pass(group)
        raise AssertionError("it never comes to an end")

    def _next(self) -> Any:
        parts = returned.parts
        query = select(parts).where(parts.c.lane.is_not(None)).order_by(parts.c.due_at, parts.c.return_seq)
        return self.transactions.now(lambda c: c.execute(query).first())

    async def release_bystander(self) -> None:
        """The other answer was held back until now, so that every call before this one is for the first."""
        parts, now = returned.parts, self.clock.now()
        query = update(parts).where(parts.c.subject_id == self.bystander, parts.c.state == "queued")
        await self.transactions.run(lambda c: c.execute(query.values(lane=SEND, due_at=now)))

    async def look_again(self) -> None:
        """An operator asks for another look, and it is carried out."""
        now = self.clock.now()
        assert await self.transactions.run(lambda c: look_again(c, self.subject, now))
        await self.drive()

    async def one(self, query: Any) -> Any:
        return self.transactions.now(lambda c: c.execute(query).first())

    async def all(self, query: Any) -> list[Any]:
        return self.transactions.now(lambda c: list(c.execute(query).all()))

    async def answer(self, subject: RequestId) -> Any:
        return await self.one(select(returned.answers).where(returned.answers.c.subject_id == subject))

    async def work(self, subject: RequestId) -> str:
        rows = await self.all(
            select(managed.revisions.c.work)
            .where(managed.revisions.c.request_id == subject)
            .order_by(managed.revisions.c.revision)
        )
        return rows[-1].work

    async def facts(self, subject: RequestId) -> list[str]:
        ours = await self.all(select(managed.facts.c.fact).where(managed.facts.c.request_id == subject))
        theirs = await self.all(
            select(returned.return_facts.c.fact).where(returned.return_facts.c.subject_id == subject)
        )
        return [row.fact for row in (*ours, *theirs)]

    # What can happen.

    async def bot_removed(self) -> None:
        self.provider.gone = True
        asked = max(each.created_at or 0 for each in (self.question, self.other))  # by the provider's clock
        await self.world.accept(bot_removed(self.question.chat_id, max(self.clock.now(), asked)))

    async def chat_disbanded(self) -> None:
        self.provider.gone = True
        await self.world.accept(
            ChatDisbanded(envelope("im.chat.disbanded_v1", self.clock.now()), self.question.chat_id)
        )

    async def thread_gone(self) -> None:
        """Nobody tells us: the provider refuses, and that is how it becomes known."""
        self.provider.gone = True

    async def question_recalled(self) -> None:
        self.provider.recalled.add(self.question.message_id)
        await self.world.accept(recall(self.question))

    async def recalled_unheard(self) -> None:
        """The recall's own event is lost."""
        self.provider.recalled.add(self.question.message_id)

    async def grant_revoked(self) -> None:
        now = self.clock.now()

        def revoke(connection: Connection) -> None:
            for grant in grants.page(connection, now, limit=100):
                grants.revoke(connection, grant.grant_id, reason="enough", now=now)

        await self.transactions.run(revoke)

    async def grant_expired(self) -> None:
        now = self.clock.now()
        await self.transactions.run(lambda c: c.execute(update(managed.grants).values(expires_at=now)))

    async def chat_opened(self) -> None:
        """People of another tenant joined the chat."""
        self.clock.move(1)
        await self.world.accept(bot_added(self.question.chat_id, self.clock.now(), external=True))

    async def peer_stopped(self) -> None:
        def stop(connection: Connection) -> None:
            peer = peers.by_name(connection, PEER)
            assert peer is not None
            peers.set_state(connection, peer.peer_id, peers.PeerState.STOPPED)

        await self.transactions.run(stop)

    async def peer_removed(self) -> None:
        now = self.clock.now()

        def remove(connection: Connection) -> None:
            peer = peers.by_name(connection, PEER)
            assert peer is not None
            cancel_held(connection, peer.peer_id, now)
            peers.remove(connection, peer.peer_id)

        await self.transactions.run(remove)


@dataclass(frozen=True)
class Saved:
    """A database in which the answers are queued."""

    database: bytes
    now: int
    question: Any
    other: Any
    subject: RequestId
    bystander: RequestId


class Stages:
    """Makes stages over one database, each as if it were a new one."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions
        self._saved: dict[tuple[str, bool, int], Saved] = {}

    async def new(self, author: str, *, thread: bool, parts: int = 1, wish: str = "say_nothing") -> Stage:
        """A stage with an answer of the ``steward`` or of a ``peer``, and another one behind it."""
        made = self._saved.get((author, thread, parts))
        if made is None:
            made = await prepare(self._transactions, author, thread=thread, parts=parts)
            self._saved[author, thread, parts] = made
        return Stage(self._transactions, made, wish=wish)


@contextmanager
def stages() -> Iterator[Stages]:
    """Stages, and their database for as long as it is needed."""
    transactions = MemoryTransactions()
    try:
        yield Stages(transactions)
    finally:
        transactions.close()


async def prepare(transactions: MemoryTransactions, author: str, *, thread: bool, parts: int) -> Saved:
    """Ask, decide, hand over and conclude with the real services."""
    transactions.empty()
    clock = MovingClock()
    world = _world(transactions, clock, policy(), prefix="first")
    words = FIRST if parts == 1 else f"{FIRST}\n\n{SECOND}"
    peer = PeerId("p_mira")
    transactions.now(lambda c: _register(c, peer, clock.now()))

    async def decide(turn: TurnInput) -> Decision:
        if "other" in turn.question:
            return Answer(OTHER)
        return Answer(words) if author == "steward" else Delegate(PEER, turn.question)

    world.runtime.decide_with = decide
    place = {"thread_id": THREAD if thread else None, "chat_id": GROUP}
    question = message("@_user_1 what is it?", message_id=MessageId("om_q1"), **place)
    other = message("@_user_1 and the other one?", message_id=MessageId("om_q2"), **place)
    async with world.running():
        for each in (question, other):
            await world.accept(each)
            await world.until_idle()
    subject, bystander = (RequestId(row.request_id) for row in transactions.now(_requests))
    if author == "peer":
        await _conclude(transactions, clock, world.telling(), subject, words)
    transactions.now(_settle_notices)
    return Saved(transactions.save(), clock.now(), question, other, subject, bystander)


def _register(connection: Connection, peer: PeerId, now: Millis) -> None:
    peers.add(
        connection,
        peer_id=peer,
        name=PEER,
        mode=peers.Mode.ATTACHED_HOST,
        audience=Audience.SHARED,
        goal=None,
        responsibilities=("things",),
        examples=(),
        digest="d",
        now=now,
    )


async def _conclude(
    transactions: MemoryTransactions, clock: MovingClock, telling: Telling, request: RequestId, words: str
) -> None:
    ids = (f"n{number}" for number in range(1000))
    inbox = PeerInbox(transactions, clock, lambda prefix: f"{prefix}_{next(ids)}", telling)
    peer = transactions.now(lambda c: peers.by_name(c, PEER))
    assert peer is not None
    writes = (
        Present(request, 1, None),
        Assess(request, 1, Assessment.ACCEPTED),
        Conclude(request, 1, Outcome.RESOLVED, words),
    )
    for number, write in enumerate(writes):
        reply = await inbox.write(peer, f"k{number}", f"d{number}", write)
        assert reply.status == 200, reply


def _requests(connection: Connection) -> list[Any]:
    return list(connection.execute(select(managed.requests).order_by(managed.requests.c.seq)).all())


def _settle_notices(connection: Connection) -> None:
    """What was said on the way is out of the way, and the other answer stands behind the first and waits."""
    connection.execute(
        text(
            "update parts set lane = null, state = 'superseded' where return_id in "
            "(select return_id from returns where kind = 'notice')"
        )
    )
    connection.execute(
        text(
            "update returns set seq = seq + 100 where subject_id in (select request_id from requests where seq = "
            "(select max(seq) from requests))"
        )
    )
    connection.execute(
        text(
            "update parts set lane = null where subject_id in (select request_id from requests where seq = "
            "(select max(seq) from requests))"
        )
    )
    connection.execute(
        text("update parts set return_seq = (select seq from returns where returns.return_id = parts.return_id)")
    )


class _StageWorld(World):
    """Tells in short messages, so that an answer of two paragraphs has two parts."""

    def telling(self) -> Telling:
        return Telling(measure, 235, self.ids)


def _world(transactions: MemoryTransactions, clock: MovingClock, wanted: Any, *, prefix: str) -> World:
    world = _StageWorld(transactions, clock=clock, policy=wanted)
    world.ids._name = prefix
    return world


def _of(part: Any) -> Any:
    return returned.part_locators.c.part_id == part


async def _no_time_passes(_seconds: float) -> None:
    await asyncio.Event().wait()


__all__ = ["FIRST", "OTHER", "SECOND", "SETTLE_MS", "Stage", "Stages", "stages"]
