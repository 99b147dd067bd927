"""A steward's mind on a real database, with a scripted outside: what it reads, decides with and leaves receipts on."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, text

from manager.decisions.decision import Answer, Audience, Decision, TurnInput
from manager.decisions.inbound import (
    BotAdded,
    BotRemoved,
    Envelope,
    Mention,
    MessageRecalled,
    MessageReceived,
    Misshapen,
    Sender,
    SenderKind,
)
from manager.decisions.policy import AppPolicy, StewardPolicy
from manager.ids import OpenId
from manager.ledger import tables, turns
from manager.ports import ChatFacts, ChatMessage, Gone
from manager.service.held import HeldEvents
from manager.service.receipts import ReceiptsWorker
from manager.service.receiving import Acceptance, Receiving
from manager.service.telling import Telling
from manager.service.turns import Turns
from providers.storage.sqlite import SqliteTransactions
from returns.decisions.bodies import from_json
from returns.decisions.fingerprint import visible
from returns.ids import AppName, ChatId, MessageId, Millis, ThreadId
from returns.ledger import tables as returned
from returns.ledger.wakeups import TURNS, announce
from returns.ports import Elsewhere
from returns.service.speaking import nowhere
from tests.support.replay import check_replay
from tests.support.storage import transactions

APP = AppName("default")
OTHER_APP = AppName("second")
STEWARD = OpenId("ou_steward")
OWNER = OpenId("ou_owner")
ANNA = OpenId("ou_anna")
BEN = OpenId("ou_ben")
TENANT = "tenant_1"
GROUP = ChatId("oc_group")
NOON = Millis(1_700_000_000_000)
AT_STEWARD = Mention("@_user_1", STEWARD, "Steward")


class ManualClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, now: int = NOON) -> None:
        self.value = Millis(now)

    def now(self) -> Millis:
        return self.value

    def advance(self, ms: int) -> None:
        self.value = Millis(self.value + ms)


class Ids:
    """New ids by counting; two sources with different names never meet."""

    def __init__(self, name: str = "a") -> None:
        self._name = name
        self._next = itertools.count(1)

    def __call__(self, prefix: str) -> str:
        return f"{prefix}_{self._name}{next(self._next)}"


@dataclass
class FakeHost:
    """A host without workspaces."""

    workspaces: tuple[Any, ...] = ()


class FakeHostTools:
    """Opens hosts and remembers for whom."""

    def __init__(self) -> None:
        self.opened: list[Audience] = []

    @asynccontextmanager
    async def open(self, audience: Audience) -> AsyncIterator[Any]:
        self.opened.append(audience)
        yield FakeHost()


Decide = Callable[[TurnInput], Awaitable[Decision]]


class FakeRuntime:
    """Decides what the test says; by default it echoes the question."""

    def __init__(self) -> None:
        self.seen: list[TurnInput] = []
        self.running = 0
        self.most_running = 0
        self.decide_with: Decide = self._answer

    async def _answer(self, turn: TurnInput) -> Decision:
        return Answer(f"answer to {turn.question}")

    async def decide(self, turn: TurnInput, host: Any) -> Decision:
        self.seen.append(turn)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self.decide_with(turn)
        finally:
            self.running -= 1

    @property
    def questions(self) -> list[str]:
        return [turn.question for turn in self.seen]


class FakeReader:
    """The chats as the test says; unknown messages cannot be reached."""

    def __init__(self) -> None:
        self.messages: dict[str, ChatMessage | Gone] = {}
        self.chats: dict[str, ChatFacts | Gone] = {}
        self.ids: dict[AppName, OpenId | None] = {APP: STEWARD, OTHER_APP: OpenId("ou_second")}
        self.asked_for: list[str] = []
        self.asked_chats: list[str] = []

    async def message(self, app: AppName, message_id: MessageId) -> ChatMessage | Gone:
        self.asked_for.append(message_id)
        return self.messages.get(message_id, Gone.UNREACHABLE)

    async def chat(self, app: AppName, chat_id: ChatId) -> ChatFacts | Gone:
        self.asked_chats.append(chat_id)
        return self.chats.get(chat_id, ChatFacts(external=False, gone=False))

    async def own_id(self, app: AppName) -> OpenId | None:
        return self.ids[app]


class FakeReceipts:
    """Counts receipts; the test says whether they can be left."""

    def __init__(self) -> None:
        self.left: list[str] = []
        self.tries = 0
        self.works: Callable[[str], Awaitable[bool]] = self._yes

    async def _yes(self, message_id: str) -> bool:
        return True

    async def acknowledge(self, app: AppName, message_id: MessageId) -> bool:
        self.tries += 1
        if await self.works(message_id):
            self.left.append(message_id)
            return True
        return False


def policy(**changes: Any) -> StewardPolicy:
    """The steward's policy; ``groups`` and ``private`` of the first app may be named directly."""
    app = AppPolicy("cli_1", frozenset({OWNER}), changes.pop("groups", "mentioned"), changes.pop("private", "owners"))
    apps = {APP: app, OTHER_APP: replace(app, app_id="cli_2")}
    values: dict[str, Any] = {
        "turn_timeout_ms": 60_000,
        "late_after_ms": 900_000,
        "lease_ms": 30_000,
        "max_parallel_turns": 4,
        "apps": apps,
    }
    return StewardPolicy(**(values | changes))


_numbers = itertools.count(1)


def envelope(kind: str, created_at: int | None = NOON, app: AppName = APP, **changes: Any) -> Envelope:
    number = next(_numbers)
    values: dict[str, Any] = {
        "app": app,
        "event_id": f"ev_{number}",
        "event_type": kind,
        "tenant_key": TENANT,
        "created_at": created_at,
        "body_digest": hashlib.sha256(str(number).encode()).hexdigest(),
    }
    return Envelope(**(values | changes))


def message(words: str = "@_user_1 where is main?", **changes: Any) -> MessageReceived:
    """A group message of Anna that names the steward."""
    number = next(_numbers)
    created_at = changes.pop("created_at", Millis(NOON + number))
    app = changes.pop("app", APP)
    values: dict[str, Any] = {
        "envelope": changes.pop("envelope", None) or envelope("im.message.receive_v1", created_at, app),
        "message_id": MessageId(f"om_{number}"),
        "chat_id": GROUP,
        "private": False,
        "thread_id": None,
        "parent_id": None,
        "sender": Sender(changes.pop("sender_id", ANNA), SenderKind.USER, TENANT),
        "created_at": created_at,
        "text": words,
        "mentions": (AT_STEWARD,) if "@_user_1" in words else (),
        "mentions_all": False,
        "content_digest": hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest(),
        "message_type": "text",
    }
    return MessageReceived(**(values | changes))


def private(words: str = "where is main?", sender: OpenId = OWNER, **changes: Any) -> MessageReceived:
    """A private message."""
    return message(words, private=True, sender_id=sender, chat_id=ChatId(f"oc_p2p_{sender}"), **changes)


def recall(of: MessageReceived) -> MessageRecalled:
    return MessageRecalled(envelope("im.message.recalled_v1"), of.message_id, of.chat_id)


def bot_added(chat: ChatId = GROUP, at: int = NOON, external: bool | None = False) -> BotAdded:
    return BotAdded(envelope("im.chat.member.bot.added_v1", at), chat, external)


def bot_removed(chat: ChatId = GROUP, at: int = NOON) -> BotRemoved:
    return BotRemoved(envelope("im.chat.member.bot.deleted_v1", at), chat)


def misshapen(field_name: str = "event.message.content") -> Misshapen:
    return Misshapen(envelope("im.message.receive_v1"), field_name)


@dataclass
class World:
    """Everything that a scenario needs."""

    transactions: SqliteTransactions
    clock: ManualClock = field(default_factory=ManualClock)
    policy: StewardPolicy = field(default_factory=policy)
    runtime: FakeRuntime = field(default_factory=FakeRuntime)
    reader: FakeReader = field(default_factory=FakeReader)
    receipts: FakeReceipts = field(default_factory=FakeReceipts)
    hosttools: FakeHostTools = field(default_factory=FakeHostTools)
    ids: Ids = field(default_factory=Ids)
    elsewhere: Elsewhere = nowhere

    _receiving: tuple[StewardPolicy, Receiving] | None = None

    @property
    def receiving(self) -> Receiving:
        """One for as long as the policy stays, so that events that wait are taken together."""
        if self._receiving is None or self._receiving[0] is not self.policy:
            made = Receiving(self.transactions, self.clock, self.ids, self.policy, self.reader.own_id)
            self._receiving = (self.policy, made)
        return self._receiving[1]

    def telling(self) -> Telling:
        return Telling(lambda document: len(repr(document)), 30_000, self.ids)

    def turns(self, owner: str = "gateway") -> Turns:
        return Turns(
            self.transactions,
            self.clock,
            self.policy,
            self.runtime,
            self.hosttools,
            self.reader,
            self.telling(),
            owner,
            self.ids,
            self.elsewhere,
        )

    async def accept(self, event: Any, body: str = "{}") -> Acceptance:
        return await self.receiving.accept(event, body)

    @asynccontextmanager
    async def running(self, *, receipts: bool = False, held: bool = False) -> AsyncIterator[None]:
        """The services, started as after a restart and stopped without a farewell."""
        await self.transactions.run(lambda each: turns.release_all(each, self.clock.now()))
        jobs = [self.turns().run()]
        if receipts:
            among = {"elsewhere": self.elsewhere}
            jobs.append(ReceiptsWorker(self.transactions, self.clock, self.receipts, self.reader, **among).run())
        if held:
            jobs.append(HeldEvents(self.transactions, self.receiving).run())
        tasks = [asyncio.ensure_future(job) for job in jobs]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    async def wake(self) -> None:
        """Let the services look at the clock."""
        await self.transactions.run(lambda each: announce(each, TURNS))

    async def rows(self, table: Any, **conditions: Any) -> list[dict[str, Any]]:
        def read(connection: Connection) -> list[dict[str, Any]]:
            query = select(table)
            for name, value in conditions.items():
                query = query.where(table.c[name] == value)
            order = table.c.get("seq")
            query = query if order is None else query.order_by(order)
            return [dict(row) for row in connection.execute(query).mappings()]

        return await self.transactions.read(read)

    async def sql(self, statement: str) -> list[Any]:
        return await self.transactions.read(lambda each: list(each.execute(text(statement))))

    async def turn_states(self) -> list[str]:
        rows = await self.rows(tables.turns)
        return [row["state"] for row in sorted(rows, key=lambda row: (row["position"], row["event_seq"]))]

    async def told(self, kind: str | None = None) -> list[str]:
        """What was handed to the way back, in order."""
        rows = await self.sql(
            "select r.kind, b.document from returns r join parts p on p.return_id = r.return_id "
            "join part_bodies b on b.part_id = p.part_id order by r.seq, p.position"
        )
        return [visible(from_json(row[1])) for row in rows if kind in {None, row[0]}]

    async def facts(self, fact: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        rows = await self.rows(tables.facts)
        return [(row["fact"], json.loads(row["detail"])) for row in rows if fact in {None, row["fact"]}]

    async def works(self) -> list[str]:
        rows = await self.sql(
            "select v.work from requests r join revisions v on v.request_id = r.request_id and "
            "v.revision = r.revision order by r.seq"
        )
        return [row[0] for row in rows]

    async def until(self, what: Callable[[], Awaitable[Any]], seconds: float = 20) -> Any:
        """Wait for a fact."""
        async with asyncio.timeout(seconds):
            found = await what()
            while not found:
                await asyncio.sleep(0.005)
                found = await what()
            return found

    async def until_idle(self, turns_done: int | None = None) -> None:
        """Wait until no turn is pending (and, where it is said, so many exist)."""

        async def idle() -> bool:
            rows = await self.rows(tables.turns)
            return all(row["pending"] is None for row in rows) and turns_done in {None, len(rows)}

        await self.until(idle)


@asynccontextmanager
async def world(folder: Path, *, forged: bool = False, **changes: Any) -> AsyncIterator[World]:
    """A world in which folding the facts gives the tables at its end, unless the test forges a table."""
    async with transactions(folder) as opened:
        yield World(opened, **changes)
        if not forged:
            await opened.read(check_replay)


THREAD = ThreadId("omt_1")
RETURNED = returned
