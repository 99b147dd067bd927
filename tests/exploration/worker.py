"""One pass of a real pump and all that it starts, taken apart at its effects.

A coroutine cannot be copied. But a pass depends on nothing except what its ports gave it, so that the log of those
gifts is where it stands: a new pass that is given the same stands at the same place. Every call of a port is a gate
that opens only when it is given something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from returns.ids import Millis
from returns.ports import Ready, Refusal, Refused
from tests.simulation.loop import SimLoop


@dataclass(frozen=True, slots=True)
class Gift:
    """What a gate was given, and when."""

    gate: int
    at: int
    value: Any
    """An ``Exception`` is raised."""
    told: tuple[Any, ...]
    """The same as plain values, to compare by."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A gate that is closed."""

    gate: int
    kind: str
    until: int
    """A sleep's end; 0 for the others."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker stands in its pass."""

    began_at: int
    gifts: tuple[Gift, ...]
    waiting: tuple[Waiting, ...]
    paused: bool = False


@dataclass(slots=True)
class Gate:
    """A call of a port."""

    kind: str
    arguments: tuple[Any, ...]
    future: asyncio.Future[Any]
    until: int


class Pass:
    """A pass that is alive. It belongs to the exploration's thread; ``end`` it."""

    def __init__(self, begin: Callable[[Pass], Coroutine[Any, Any, None]], at: int, gated: frozenset[str]) -> None:
        self.loop = SimLoop(_first)
        self.now_ms = at
        self.gates: list[Gate] = []
        self.dead = False
        self._gated = gated
        asyncio._set_running_loop(self.loop)
        try:
            self.task = self.loop.create_task(begin(self))
        finally:
            asyncio._set_running_loop(None)
        self._go_on()

    @property
    def done(self) -> bool:
        return self.task.done()

    def give(self, gate: int, value: Any, at: int) -> None:
        """Open a gate."""
        self.now_ms = at
        future = self.gates[gate].future
        if isinstance(value, Exception):
            future.set_exception(value)
        else:
            future.set_result(value)
        self._go_on()

    def waiting(self) -> tuple[Waiting, ...]:
        """The closed gates."""
        return tuple(
            Waiting(number, gate.kind, gate.until) for number, gate in enumerate(self.gates) if not gate.future.done()
        )

    def end(self) -> None:
        """Unwind; nothing has an effect any more."""
        if not self.task.done():
            self.dead = True
            self.task.cancel()
            self._go_on()
        if not self.task.cancelled() and self.task.done():
            error = self.task.exception()
            if error is not None and not self.dead:
                raise error
        self.loop.close()

    def _go_on(self) -> None:
        asyncio._set_running_loop(self.loop)
        try:
            while self.loop._ready:
                self.loop._run_once()
        finally:
            asyncio._set_running_loop(None)

    async def gate(self, kind: str, *arguments: Any, until: int = 0) -> Any:
        """Stand still until something is given."""
        if self.dead:
            raise asyncio.CancelledError
        future = self.loop.create_future()
        self.gates.append(Gate(kind, arguments, future, until))
        return await future

    # The ports.

    def now(self) -> Millis:
        return Millis(self.now_ms)

    async def run(self, work: Callable[..., Any]) -> Any:
        return await self.gate("run", work)

    async def read(self, work_or_app: Any, at: Any = None) -> Any:
        """``Transactions.read`` with one argument, ``DeliveryProvider.read`` with two."""
        return await (self.gate("look", work_or_app) if at is None else self.gate("read", at))

    def subscribe(self, _topic: str) -> Any:
        return _Silent()

    async def sleep(self, seconds: float) -> None:
        await self.gate("sleep", seconds, until=self.now_ms + round(seconds * 1000))

    limit_bytes = 30_000

    async def prepare(self, app: Any) -> Any:
        return await self.gate("prepare") if "prepare" in self._gated else Ready()

    async def send(self, route: Any, document: Any, _key: str, may_leave: Any) -> Any:
        """It arrives, and later its answer does."""
        if not may_leave():
            return Refused(Refusal.OFFLINE)
        outcome, wait_ms = await self.gate("send", route, document)
        return await self.gate("answer", outcome, until=self.now_ms + wait_ms if wait_ms else 0)

    async def list_window(self, route: Any, since: int, _cursor: str | None) -> Any:
        return await self.gate("list", route, since)


class _Silent:
    """A bell that nobody hears: whoever explores decides when a pass begins."""

    async def wait(self, _timeout_s: float | None) -> bool:
        return True

    def ring(self) -> None:
        pass


def _first(_count: int) -> int:
    return 0
