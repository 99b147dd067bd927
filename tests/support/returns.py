"""An honest chat provider in memory, a clock that is moved by hand, and what else the way back's tests need."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import func, select

from returns.decisions.document import Code, Document, Link, Text
from returns.decisions.fingerprint import visible
from returns.decisions.policy import ReturnsPolicy
from returns.delivery import State
from returns.ids import AppName, ChatId, MessageId, Millis, ReturnId, SubjectId, ThreadId
from returns.ledger import leases
from returns.ledger.due import Asked, Due, front
from returns.ledger.lanes import Lane
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ledger.tables import answers, part_locators, parts, return_facts
from returns.ports import (
    Accepted,
    Locator,
    Missing,
    NotPermitted,
    Reading,
    Ready,
    Refusal,
    Refused,
    Route,
    Unknown,
    Unreachable,
    Verdict,
    WindowPage,
)
from returns.service.pump import Pump
from tests.support.replay import check_replay
from tests.support.storage import transactions as opened_transactions

APP = AppName("default")
START = Millis(1_700_000_000_000)
POLICY = ReturnsPolicy(app_per_second=10_000, app_per_minute=100_000, chat_per_second=10_000)
LIMIT = 30_000


class ManualClock:
    """Stands still until it is moved."""

    def __init__(self, now: int = START) -> None:
        self._now = now

    def now(self) -> Millis:
        return Millis(self._now)

    def move(self, ms: int) -> None:
        self._now += ms


@dataclass
class Sent:
    """A message of the provider."""

    message_id: str
    chat_id: str
    thread_id: str | None
    parent_id: str | None
    sent_at: int
    document: Document
    ours: bool = True
    recalled: bool = False
    deleted: bool = False
    hidden_until: int = 0
    """Searches do not see it before this."""
    root: bool = False
    """Its thread was begun on it: the chat's history has it too."""


def measure(document: Document) -> int:
    """Like a provider's: bytes of a JSON body."""
    nodes = [[_node(node) for node in paragraph] for paragraph in document]
    return len(json.dumps({"content": nodes}, ensure_ascii=False).encode()) + 100


def _node(node: object) -> dict[str, str]:
    match node:
        case Text(text):
            return {"tag": "text", "text": text}
        case Link(text, href):
            return {"tag": "a", "text": text, "href": href}
        case Code(language, text):
            return {"tag": "code_block", "language": language, "text": text}
        case _:
            return {"tag": type(node).__name__}


@dataclass
class FakeProvider:
    """Accepts, deduplicates by key and shows what it has; ``faults`` are used up first, one a send."""

    clock: ManualClock
    faults: list[object] = field(default_factory=list)
    """Refused | Unknown: given instead of sending. "lose": accept, then lose the answer. "accept_without_id".
    An Exception: raised before sending. An asyncio.Event: accept, then wait for it before answering."""
    read_faults: list[object] = field(default_factory=list)
    list_faults: list[object] = field(default_factory=list)
    prepare_faults: list[Refused] = field(default_factory=list)
    messages: list[Sent] = field(default_factory=list)
    sends: list[tuple[Route, Document, str]] = field(default_factory=list)
    reads: int = 0
    lists: int = 0
    prepares: int = 0
    page_size: int = 50
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    """A chat in here does not answer until its event is set."""
    blocked: int = 0
    """Sends that wait for an event of the test."""
    _keys: dict[str, Sent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ours = self.clock
        """Whose clock the product goes by; the provider's own one may be another."""

    @property
    def ahead_ms(self) -> int:
        """So much the product's clock is ahead, as the dates of the answers tell."""
        return max(0, self.ours.now() - self.clock.now())

    @property
    def limit_bytes(self) -> int:
        return LIMIT

    def measure(self, document: Document) -> int:
        return measure(document)

    async def prepare(self, app: AppName) -> Ready | Refused:
        self.prepares += 1
        return self.prepare_faults.pop(0) if self.prepare_faults else Ready()

    async def send(
        self, route: Route, document: Document, key: str, may_leave: Callable[[], bool] = lambda: True
    ) -> Accepted | Refused | Unknown:
        if not may_leave():
            return Refused(Refusal.OFFLINE)
        self.sends.append((route, document, key))
        if route.chat_id in self.gates:
            await self._block(self.gates[route.chat_id])
        await asyncio.sleep(0)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, (Refused, Unknown)):
            return fault
        if isinstance(fault, Exception):
            raise fault
        message = self._keys.get(key) or self._accept(route, document, key)
        if fault == "lose":
            return Unknown("answer_lost")
        if fault == "accept_without_id":
            return Unknown("no_message_id", code=0)
        if isinstance(fault, asyncio.Event):
            await self._block(fault)
        return Accepted(locator(message))

    async def _block(self, event: asyncio.Event) -> None:
        self.blocked += 1
        try:
            await event.wait()
        finally:
            self.blocked -= 1

    def _accept(self, route: Route, document: Document, key: str) -> Sent:
        message = self.say(route, document)
        self._keys[key] = message
        return message

    def say(self, route: Route, document: Document, **more: object) -> Sent:
        """Put a message there."""
        number = len(self.messages)
        message = Sent(
            f"om_{number}", route.chat_id, route.thread_id, route.reply_to, self.clock.now(), document, **more
        )
        self.messages.append(message)
        return message

    async def read(self, app: AppName, at: Locator) -> Reading | Missing | NotPermitted | Unreachable:
        self.reads += 1
        await asyncio.sleep(0)
        if self.read_faults:
            fault = self.read_faults.pop(0)
            if isinstance(fault, Exception):
                raise fault
            return fault
        for message in self.messages:
            if message.message_id == at.message_id:
                return Missing() if message.deleted else reading(message)
        return question(at) if at.message_id.startswith("om_q") else Missing()

    async def list_window(
        self, route: Route, since: Millis, cursor: str | None
    ) -> WindowPage | NotPermitted | Unreachable:
        self.lists += 1
        await asyncio.sleep(0)
        ahead_ms = self.ahead_ms
        if self.list_faults:
            return self.list_faults.pop(0)
        shown = [
            message
            for message in self.messages
            if message.chat_id == route.chat_id
            and (message.thread_id == route.thread_id or (route.thread_id is None and message.root))
            and message.sent_at >= since - ahead_ms
            and not message.deleted
            and message.hidden_until <= self.clock.now()
        ]
        start = int(cursor or 0)
        end = start + self.page_size
        page = tuple(reading(m) for m in shown[start:end])
        return WindowPage(page, str(end) if end < len(shown) else None, ahead_ms)


def locator(message: Sent) -> Locator:
    return Locator(MessageId(message.message_id), ChatId(message.chat_id), _thread(message))


def question(at: Locator) -> Reading:
    """A question that somebody asked, and of which nothing else is known."""
    return Reading(Locator(at.message_id, at.chat_id, None), None, False, False, Millis(0), "?")


def _thread(message: Sent) -> ThreadId | None:
    return ThreadId(message.thread_id) if message.thread_id else None


def reading(message: Sent) -> Reading:
    return Reading(
        locator=locator(message),
        parent_id=MessageId(message.parent_id) if message.parent_id else None,
        ours=message.ours,
        recalled=message.recalled,
        sent_at=Millis(message.sent_at),
        visible="This message was recalled" if message.recalled else visible(message.document),
    )


@dataclass
class FakeAuthority:
    """Allows, unless it was told otherwise."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    recalled: list[tuple[SubjectId, int]] = field(default_factory=list)
    """Of which revisions it was told that their question is gone."""

    def verdict(self, connection: object, subject: SubjectId, revision: int) -> Verdict:
        return self.verdicts.get(subject, Verdict.ALLOWED)

    def question_recalled(self, connection: object, subject: SubjectId, revision: int, now: Millis) -> None:
        self.recalled.append((subject, revision))


def route(chat: str = "oc_1", *, thread: str | None = None, reply_to: str | None = "om_q", app: AppName = APP) -> Route:
    return Route(
        app,
        ChatId(chat),
        ThreadId(thread) if thread else None,
        MessageId(reply_to) if reply_to else None,
    )


def text(words: str) -> Document:
    return ((Text(words),),)


class WatchedPump(Pump):
    """Counts its passes, so that tests wait for facts."""

    passes = 0
    started = False

    async def _pass(self, group: asyncio.TaskGroup) -> float:
        wait_s = await super()._pass(group)
        self.passes += 1
        return wait_s

    def _start(self, group: asyncio.TaskGroup, lane: str, due: list[object]) -> None:
        self.started = self.started or bool(due)
        super()._start(group, lane, due)


class House:
    """A database, a provider, a clock and a pump over them."""

    def __init__(self, transactions: object, policy: ReturnsPolicy = POLICY) -> None:
        self.transactions = transactions
        self.clock = ManualClock()
        self.provider = FakeProvider(self.clock)
        self.authority = FakeAuthority()
        self.policy = policy
        self.pump = self.new_pump()
        self.stopped: Callable[[], bool] = lambda: True
        self._count = 0

    def new_pump(self, owner: str = "one", **more: object) -> WatchedPump:
        return WatchedPump(self.transactions, self.provider, self.authority, self.clock, self.policy, owner, **more)

    async def put(
        self,
        *words: str,
        subject: str | None = None,
        revision: int = 1,
        to: Route | None = None,
        kind: ReturnKind = ReturnKind.ANSWER,
        asked_at: int | None = None,
    ) -> str:
        """Queue an answer with these parts; returns its subject."""
        self._count += 1
        named = subject or f"r_{self._count}"
        new = new_return(
            return_id=ReturnId(f"t_{self._count}"),
            subject=SubjectId(named),
            revision=revision,
            kind=kind,
            route=to or route(reply_to=f"om_q{named}"),
            documents=tuple(text(word) for word in words),
            asked_at=None if asked_at is None else Millis(asked_at),
        )
        now = self.clock.now()
        await self.transactions.run(lambda c: enqueue(c, new, now))
        return named

    async def answer(self, subject: str) -> object:
        def fetch(connection: object) -> object:
            return connection.execute(select(answers).where(answers.c.subject_id == subject)).one()

        return await self.transactions.read(fetch)

    async def parts(self, subject: str) -> list[object]:
        def fetch(connection: object) -> list[object]:
            query = select(parts).where(parts.c.subject_id == subject)
            return list(connection.execute(query.order_by(parts.c.return_seq, parts.c.position)).all())

        return await self.transactions.read(fetch)

    async def facts(self, subject: str) -> list[tuple[str, dict[str, object]]]:
        def fetch(connection: object) -> list[tuple[str, dict[str, object]]]:
            query = select(return_facts).where(return_facts.c.subject_id == subject).order_by(return_facts.c.seq)
            return [(row.fact, json.loads(row.detail)) for row in connection.execute(query)]

        return await self.transactions.read(fetch)

    async def locators(self) -> list[str]:
        def fetch(connection: object) -> list[str]:
            return list(connection.execute(select(part_locators.c.message_id)).scalars())

        return await self.transactions.read(fetch)

    async def until(self, what: Callable[[], object], *, step_ms: int | None = None, steps: int = 4000) -> None:
        """Let the pump work, moving the clock whenever it has nothing to do, until ``what`` holds.

        ``what`` may be a coroutine function. The clock moves to the next due moment, or by ``step_ms``. Fails if it
        does not hold after ``steps`` moves.
        """
        for _ in range(steps):
            await self.quiet()
            if await _value(what):
                return
            self.clock.move(step_ms or await self.next_due_in())
        raise AssertionError(f"never came true: {what}")

    async def next_due_in(self) -> int:
        """Milliseconds until the next part is due; at most a second where the pace may open earlier."""
        due = await self.transactions.read(
            lambda c: c.execute(
                select(func.min(parts.c.due_at)).where(parts.c.lane.is_not(None), parts.c.due_at > self.clock.now())
            ).scalar_one()
        )
        return 250 if due is None else due - self.clock.now()

    async def quiet(self) -> None:
        """Wait until the pump starts nothing more and has nothing under way that can end by itself."""
        idle = 0
        while idle < 2:
            seen = self.pump.passes
            self.pump._wakeup.ring()
            while self.pump.passes == seen or self.busy > self.provider.blocked:
                if self.stopped():
                    return
                await asyncio.sleep(0.0005)
            idle = 0 if self.pump.started else idle + 1
            self.pump.started = False

    @property
    def busy(self) -> int:
        return len(self.pump._sending) + len(self.pump._reading)

    async def status(self, subject: str) -> str:
        return (await self.answer(subject)).status

    async def settle(self, subject: str, **more: int) -> object:
        """Run until the subject's answer is settled; returns its row."""
        done = {s.value for s in (State.DELIVERED, State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE, State.SUPERSEDED)}

        async def settled() -> bool:
            return await self.status(subject) in done

        await self.until(settled, **more)
        return await self.answer(subject)


async def _value(what: Callable[[], object]) -> object:
    value = what()
    return await value if asyncio.iscoroutine(value) else value


@asynccontextmanager
async def house(folder: Path, **policy: object) -> AsyncIterator[House]:
    """A house whose pump is not running. At its end folding the facts gives the tables."""
    async with opened_transactions(folder) as transactions:
        yield House(transactions, replace(POLICY, **policy))
        await transactions.read(check_replay)


@asynccontextmanager
async def running(home: House, pump: WatchedPump | None = None) -> AsyncIterator[asyncio.Task[None]]:
    """The pump runs inside; leaving cancels it, as a shutdown does."""
    if pump is not None:
        home.pump = pump
    task = asyncio.create_task(home.pump.run())
    home.stopped = task.done
    try:
        yield task
    finally:
        if not task.done():
            task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        if type(outcome) is not asyncio.CancelledError:
            raise AssertionError(f"the pump ended: {outcome!r}")


async def restart(home: House) -> WatchedPump:
    """What a new gateway does first."""
    now = home.clock.now()
    await home.transactions.run(lambda c: leases.release_all(c, now))
    return home.new_pump("two")


def heads(connection: object, lane: Lane, now: int = 2**62) -> tuple[Due, ...]:
    """What of a lane is due by ``now`` (ever, by default), the earliest first; one a chat, one a place."""
    return front(connection, Asked(lane, 1000, {}, 1000), Millis(now)).due


def refused(kind: Refusal, **more: object) -> Refused:
    return Refused(kind, **more)


def visible_of(documents: Iterable[Document]) -> str:
    return "\n".join(visible(document) for document in documents)
