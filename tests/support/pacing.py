"""A provider that counts every call against its limits, on time that jumps, and pumps over one database in memory."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from returns.decisions.fingerprint import visible
from returns.decisions.policy import ReturnsPolicy
from returns.ids import AppName, ChatId, MessageId, Millis, ReturnId, SubjectId, ThreadId
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ports import (
    Accepted,
    Locator,
    Missing,
    Reading,
    Ready,
    Refusal,
    Refused,
    Route,
    Unknown,
    Unreachable,
    WindowPage,
)
from returns.service.pump import Pump
from returns.service.shared_pacing import SharedPacing
from tests.simulation.database import Database, SimTransactions
from tests.simulation.loop import Life, SimLoop
from tests.support.returns import APP, FakeAuthority, text

POLICY = ReturnsPolicy()
HANGS_MS = 30_000
"""A call without an answer is given up after so long."""


class Limit:
    """At most so many calls in each fixed span from 0 on, and in each sliding one."""

    def __init__(self, most: int, span_ms: int) -> None:
        self.most, self.span_ms = most, span_ms
        self.counted: deque[int] = deque()
        self.fixed: Counter[int] = Counter()

    def over(self, now: int) -> bool:
        """Count a call; whether it is one too many."""
        while self.counted and self.counted[0] + self.span_ms <= now:
            self.counted.popleft()
        self.counted.append(now)
        self.fixed[now // self.span_ms] += 1
        return len(self.counted) > self.most or self.fixed[now // self.span_ms] > self.most


@dataclass
class Limited:
    """All chats of one app. Each call is counted at some instant between its start and its end."""

    loop: SimLoop
    chance: random.Random
    policy: ReturnsPolicy = POLICY
    latency_ms: tuple[int, int] = (20, 900)
    hanging: frozenset[str] = frozenset()
    """Chats whose sends get no answer."""
    lose_until: int = 0
    """Answers to sends before this are lost; the messages are there."""
    dark_until: int = 0
    """Before this nothing can be read."""
    page_size: int = 50
    limits: dict[str, list[Limit]] = field(default_factory=dict)
    refusals: list[tuple[str, int]] = field(default_factory=list)
    """Limit answers: whose, and when."""
    calls: Counter[str] = field(default_factory=Counter)
    messages: dict[str, Reading] = field(default_factory=dict)
    by_chat: dict[str, list[Reading]] = field(default_factory=dict)
    last_at: int = 0
    keys: set[str] = field(default_factory=set)
    twice: int = 0

    @property
    def now(self) -> int:
        return self.loop.now_ms()

    def _limits(self, name: str) -> list[Limit]:
        if name not in self.limits:
            app = [Limit(self.policy.app_per_second, 1_000), Limit(self.policy.app_per_minute, 60_000)]
            self.limits[name] = [Limit(self.policy.chat_per_second, 1_000)] if name.startswith("oc_") else app
        return self.limits[name]

    async def arrive(self, *names: str) -> tuple[bool, float]:
        """Let the call be counted; whether it was one too many, and how long its answer takes."""
        took = self.chance.uniform(*self.latency_ms) / 1000
        there = took * self.chance.random()
        await asyncio.sleep(there)
        self.calls[names[0]] += 1
        over = [name for name in names if sum(limit.over(self.now) for limit in self._limits(name))]
        self.refusals += [(name, self.now) for name in over]
        self.last_at = self.now
        return bool(over), took - there

    def accept(self, route: Route, document: Any, key: str) -> Reading:
        self.twice += key in self.keys
        self.keys.add(key)
        name = MessageId(f"om_{len(self.messages)}")
        shown = Reading(
            Locator(name, route.chat_id, route.thread_id),
            route.reply_to,
            ours=True,
            recalled=False,
            sent_at=Millis(self.now),
            visible=visible(document),
        )
        self.messages[name] = shown
        self.by_chat.setdefault(route.chat_id, []).append(shown)
        return shown


class LimitedProvider:
    """``returns.ports.DeliveryProvider`` of one pump."""

    limit_bytes = 30_000

    def __init__(self, world: Limited) -> None:
        self.world = world

    def measure(self, document: Any) -> int:
        return 200

    async def prepare(self, app: AppName) -> Any:
        return Ready()

    async def send(self, route: Route, document: Any, key: str, may_leave: Any = None) -> Any:
        over, back = await self.world.arrive("sends", route.chat_id)
        if over:
            await asyncio.sleep(back)
            return Refused(Refusal.RATE_LIMITED, 99991400)
        lost = self.world.now < self.world.lose_until
        shown = self.world.accept(route, document, key)
        if route.chat_id in self.world.hanging or lost:
            await asyncio.sleep(HANGS_MS / 1000 if not lost else back)
            return Unknown("timeout")
        await asyncio.sleep(back)
        return Accepted(shown.locator)

    async def read(self, app: AppName, at: Locator) -> Any:
        over, back = await self.world.arrive("reads")
        found = self.world.messages.get(at.message_id)
        dark = self.world.now < self.world.dark_until
        await asyncio.sleep(back)
        return Unreachable() if over or dark else found or Missing()

    async def list_window(self, route: Route, since: int, cursor: str | None) -> Any:
        over, back = await self.world.arrive("lists")
        dark = self.world.now < self.world.dark_until
        shown = [each for each in self.world.by_chat.get(route.chat_id, []) if each.sent_at >= since]
        at = int(cursor or 0)
        end = at + self.world.page_size
        await asyncio.sleep(back)
        if over or dark:
            return Unreachable()
        return WindowPage(tuple(shown[at:end]), str(end) if end < len(shown) else None)


class LoopClock:
    """The loop's time, as a gateway's clock that may be wrong."""

    def __init__(self, loop: SimLoop, wrong_ms: int = 0) -> None:
        self._loop, self._wrong_ms = loop, wrong_ms

    def now(self) -> Millis:
        return Millis(self._loop.now_ms() + self._wrong_ms)


class Works:
    """A database, the provider and pumps on one loop."""

    def __init__(self, seed: int = 1, **world: Any) -> None:
        self.chance = random.Random(seed)
        self.loop = SimLoop(lambda _count: 0, most_steps=50_000_000)
        self.world = Limited(self.loop, self.chance, **world)
        self.database = Database()
        self.pumps: list[Pump] = []
        self.queued = 0

    def life(self, name: str) -> SimTransactions:
        async def point(_name: str) -> None:
            await asyncio.sleep(0.001)

        return SimTransactions(self.database, Life(self.loop, name), point)

    def pump(self, name: str = "one", *, pacing: Callable[[Any, Any], Any] | None = None, wrong_ms: int = 0) -> Pump:
        transactions, clock = self.life(name), LoopClock(self.loop, wrong_ms)
        pace = None if pacing is None else pacing(transactions, clock)
        provider = LimitedProvider(self.world)
        pump = Pump(transactions, provider, FakeAuthority(), clock, self.world.policy, name, pacing=pace)
        self.pumps.append(pump)
        return pump

    def shared(self, name: str, *, wrong_ms: int = 0) -> Pump:
        """One of several pumps, whose clock is wrong, that count their calls in the database."""

        def pacing(transactions: Any, clock: Any) -> SharedPacing:
            return SharedPacing(
                transactions, self.world.policy, clock, name, database_clock=lambda _c: Millis(self.loop.now_ms())
            )

        return self.pump(name, pacing=pacing, wrong_ms=wrong_ms)

    def ideal_s(self, calls: int) -> float:
        """How long so many calls take at best, by the limits alone."""
        policy = self.world.policy
        minutes, rest = divmod(calls - 1, policy.app_per_minute)
        return minutes * 60 + (rest + 1) / policy.app_per_second

    def put(self, chat: str, *, thread: str | None = None, words: str | None = None) -> None:
        number = self.queued
        self.queued += 1
        to = Route(APP, ChatId(chat), ThreadId(thread) if thread else None, MessageId(f"om_q{number}"))
        new = new_return(
            return_id=ReturnId(f"t_{number}"),
            subject=SubjectId(f"r_{number}"),
            revision=1,
            kind=ReturnKind.ANSWER,
            route=to,
            documents=(text(words or f"answer {number}"),),
        )
        self.database.perform(lambda c: enqueue(c, new, Millis(self.loop.now_ms())))

    def states(self) -> Counter[str]:
        return Counter(dict(self.database.look("SELECT state, count(*) FROM parts GROUP BY state")))

    def run(self, until: Callable[[], bool], within_s: float = 100_000.0) -> None:
        """Run all pumps until it holds, looked at each second."""

        async def work() -> None:
            pumps = [asyncio.create_task(pump.run()) for pump in self.pumps]
            while not until():
                if self.loop.time() > within_s:
                    raise AssertionError(f"not after {within_s} s: {self.states()}")
                for pump in pumps:
                    if pump.done():
                        pump.result()
                await asyncio.sleep(1)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

        self.loop.run_until_complete(work())


@contextmanager
def works(seed: int = 1, **world: Any) -> Iterator[Works]:
    """Works whose loop is closed in the end."""
    made = Works(seed, **world)
    try:
        yield made
    finally:
        made.loop.close()
