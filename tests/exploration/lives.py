"""Lives of a gateway's services, each ended at a chosen await, and the next one that goes on from what is durable.

Time, the database and the provider are the simulation's; nothing else is. A life that is ended has no effect any more:
its ports answer nothing, whatever it still does while it unwinds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, StaticPool, create_engine

from providers.storage.bells import Bell, Bells
from providers.storage.schema import create_all
from returns.ids import Millis
from returns.ledger import wakeups
from returns.ports import CommitUnknown, StorageUnavailable
from tests.simulation.loop import LIFE, Dead, Life, SimLoop

T = TypeVar("T")

NEVER = 0
"""No await has this number: the life is not ended."""


class HouseDatabase:
    """All that is durable, in memory; a transaction is one instant. Says when something was committed."""

    def __init__(self) -> None:
        engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"isolation_level": None, "cached_statements": 512}
        )
        create_all(engine)
        self.connection: Connection = engine.connect()
        self.driver: Any = self.connection.connection.driver_connection
        self.driver.execute("PRAGMA foreign_keys=ON")
        self.blank: bytes = self.driver.serialize()
        self.bells = Bells()
        self.changed: Callable[[], None] = _nothing

    def load(self, saved: bytes) -> None:
        """Be as it was then."""
        self.driver.deserialize(saved)
        self.driver.execute("PRAGMA foreign_keys=ON")
        self.bells = Bells()
        self.changed = _nothing
        wakeups.take(self.connection)

    def perform(self, work: Callable[[Connection], T], *, keep: bool = True) -> T:
        """Run a closure in a transaction; without ``keep`` it is rolled back in the end. Raises what it raises."""
        self.driver.execute("BEGIN")
        try:
            result = work(self.connection)
        except BaseException:
            self.driver.execute("ROLLBACK")
            wakeups.take(self.connection)
            raise
        self.driver.execute("COMMIT" if keep else "ROLLBACK")
        topics = wakeups.take(self.connection)
        if keep:
            self.bells.ring(topics)
            self.changed()
        return result

    def look(self, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Rows, for those who judge."""
        rows: list[tuple[Any, ...]] = self.driver.execute(sql, arguments).fetchall()
        return rows


class LifeTransactions:
    """``returns.ports.Transactions`` of one life."""

    def __init__(self, database: HouseDatabase, awaits: Awaits, storage: FaultyStorage) -> None:
        self._database = database
        self._awaits = awaits
        self._storage = storage

    async def run(self, work: Callable[[Connection], T]) -> T:
        await self._awaits.point("run:before")
        what = self._storage.next()
        if what == "away":
            raise StorageUnavailable("explored")
        result = self._database.perform(work, keep=what != "lost")
        await self._awaits.point("run:after")
        if what is not None:
            raise CommitUnknown("explored")
        return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        await self._awaits.point("read:before")
        if self._storage.next() is not None:
            raise StorageUnavailable("explored")
        result = work(self._database.connection)
        await self._awaits.point("read:after")
        return result

    def subscribe(self, topic: str) -> Bell:
        return self._database.bells.add(topic)


@dataclass
class Fault:
    """What happens to the Nth transaction of the first life."""

    at: int
    what: str
    """``away``: not begun. ``lost``: not kept. ``kept``: kept, and nobody hears of it."""


class FaultyStorage:
    """Fails one transaction."""

    def __init__(self, fault: Fault | None) -> None:
        self._fault = fault
        self.count = 0

    def next(self) -> str | None:
        """What happens to the next transaction; None is nothing."""
        self.count += 1
        return self._fault.what if self._fault is not None and self.count == self._fault.at else None


class StepLoop(SimLoop):
    """Ends a life at one of its own steps, whatever stands there."""

    def __init__(self, kill_at_step: int = NEVER) -> None:
        super().__init__(_first)
        self._kill_at = kill_at_step
        self.life_steps = 0

    def _next(self, ready: list[asyncio.Handle]) -> asyncio.Handle:
        handle = super()._next(ready)
        life = handle._context.get(LIFE)
        if life is not None and not life.dead:
            self.life_steps += 1
            if self.life_steps == self._kill_at:
                life.kill()
        return handle


class Awaits:
    """Counts the awaits at ports of one life and ends it at the Nth."""

    def __init__(self, life: Life, at: int) -> None:
        self.life = life
        self._at = at
        self.count = 0

    async def point(self, name: str) -> None:
        """Before or after an effect."""
        self.life.check()
        self.count += 1
        if self.count == self._at:
            self.life.kill()
            raise Dead(name)
        await asyncio.sleep(0)
        self.life.check()


@dataclass
class Ports:
    """What one life is given."""

    life: Life
    loop: SimLoop
    transactions: LifeTransactions
    awaits: Awaits
    number: int
    ids: int = 0

    def now(self) -> Millis:
        return Millis(self.loop.now_ms())

    def new_id(self, prefix: str) -> str:
        self.ids += 1
        return f"{prefix}_{self.number}x{self.ids}"

    async def patiently(self, work: Callable[[Connection], Any]) -> None:
        """As a supervisor does: try the start again until the database can be had."""
        while True:
            try:
                await self.transactions.run(work)
            except StorageUnavailable:
                await asyncio.sleep(1)
            else:
                return


@dataclass
class Ran:
    """What became of it."""

    killed: int
    """How many lives were ended."""
    awaits: list[int]
    transactions: int
    steps: int


Work = Callable[[Ports], Coroutine[Any, Any, Any]]


def live(
    database: HouseDatabase,
    loop: StepLoop,
    work: Work,
    done: Callable[[], bool],
    *,
    kills: Iterable[int] = (),
    fault: Fault | None = None,
) -> Ran:
    """Run lives until ``done``; the first ones end at the awaits that ``kills`` names, the last one is not ended."""
    ran = Ran(0, [], 0, 0)
    storage = FaultyStorage(fault)

    async def all_lives() -> None:
        for number, at in enumerate([*kills, NEVER, NEVER]):
            life = Life(loop, f"life {number}")
            awaits = Awaits(life, at)
            transactions = LifeTransactions(database, awaits, storage)
            changed = asyncio.Event()
            database.changed = changed.set
            task = life.start(work(Ports(life, loop, transactions, awaits, number)))
            task.add_done_callback(lambda _task, it=changed: it.set())
            async with asyncio.timeout(200_000):
                while not task.done() and not (done() and not life.dead):
                    await changed.wait()
                    changed.clear()
            ended = life.dead
            life.kill()
            await asyncio.wait([task])
            ran.awaits.append(awaits.count)
            if not ended:
                if not task.cancelled() and isinstance(task.exception(), Exception):
                    raise AssertionError("a life ended by itself") from task.exception()
                return
            ran.killed += 1

    try:
        loop.run(all_lives())
    finally:
        database.changed = _nothing
    ran.transactions, ran.steps = storage.count, loop.life_steps
    return ran


async def both(*works: Awaitable[Any]) -> None:
    """Run services side by side."""
    async with asyncio.TaskGroup() as group:
        for each in works:
            group.create_task(_awaited(each))


async def _awaited(work: Awaitable[Any]) -> None:
    await work


def _first(_count: int) -> int:
    return 0


def _nothing() -> None:
    pass
