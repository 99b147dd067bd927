"""An event loop without real time, threads or sockets: the same choices give the same run, instruction by instruction.

Callbacks that are ready run in an order that ``pick`` chooses; when none is ready, time jumps to the next timer. A
callback belongs to the ``Life`` in whose context it was scheduled: that of a paused life is kept back, as by SIGSTOP,
and a killed life only unwinds, with ports that do nothing any more.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from typing import Any

START_MS = 1_700_000_000_000
"""The moment at which every history begins: milliseconds since 1970."""

Pick = Callable[[int], int]
"""One of so many ready callbacks, counted from 0."""


class Dead(BaseException):
    """Raised by the ports of a killed life, so that nothing of it goes on. Code under test must not catch it."""


class Stuck(Exception):
    """Nothing is ready and no timer is set: the history would wait for ever."""


class TooLong(Exception):
    """A history took more steps than any sane one: something spins."""


class Life:
    """One process of a worker from its start to its end. ``kill`` and ``pause`` may be called at any instant."""

    def __init__(self, loop: SimLoop, name: str) -> None:
        self.loop = loop
        self.name = name
        self.dead = False
        self.paused = False
        self.kept: list[asyncio.Handle] = []
        """Callbacks that became ready while it was paused."""
        self.task: asyncio.Task[Any] | None = None
        self.on_death: list[Callable[[], None]] = []

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run the life's work as a task; everything that it starts belongs to this life too."""
        context = copy_context()
        context.run(LIFE.set, self)
        self.task = self.loop.create_task(work, name=self.name, context=context)
        self.task.add_done_callback(self._ended)
        return self.task

    def kill(self) -> None:
        """As by kill -9. Inside of the life itself, go on with ``raise Dead``."""
        if self.dead:
            return
        self.resume()
        self.dead = True
        if self.task is not None and not self.task.done():
            self.loop.unwinding += 1
            self.task.cancel()
        for call in self.on_death:
            call()

    def pause(self, seconds: float | None = None) -> None:
        """As by SIGSTOP; for ``seconds``, or until ``resume``."""
        if self.dead or self.paused:
            return
        self.paused = True
        if seconds is not None:
            self.loop.world_later(seconds, self.resume)

    def resume(self) -> None:
        """As by SIGCONT."""
        if not self.paused:
            return
        self.paused = False
        self.loop.take_back(self.kept)
        self.kept = []

    def check(self) -> None:
        """Raise ``Dead`` if it is. The ports call this before and after each thing that they do."""
        if self.dead:
            raise Dead(self.name)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if self.dead:
            self.loop.unwinding -= 1
        if not task.cancelled():
            task.exception()  # looked at here; who started the life asks the task


LIFE: ContextVar[Life | None] = ContextVar("simulated_life", default=None)
"""The life that a callback belongs to; None is the world and the driver."""


class SimLoop(asyncio.BaseEventLoop):
    """``pick`` chooses among ready callbacks; ``time`` is in seconds and begins at 0; see the module."""

    def __init__(self, pick: Pick, most_steps: int = 2_000_000) -> None:
        super().__init__()
        self._ready: list[asyncio.Handle] = []
        self._pick = pick
        self._now = 0.0
        self.steps = 0
        self.most_steps = most_steps
        self.unwinding = 0
        """Killed lives that have not unwound yet; their callbacks run first and cost no choice."""
        self._world = copy_context()
        self._world.run(LIFE.set, None)
        self.faults: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _loop, context: self.faults.append(context))

    def time(self) -> float:
        """Seconds since the history began."""
        return self._now

    def now_ms(self) -> int:
        """The true time, in milliseconds since 1970."""
        return START_MS + round(self._now * 1000)

    def skip(self, seconds: float) -> None:
        """Time passes at once; what was due meanwhile is due now."""
        self._now += seconds

    def world_later(self, seconds: float, call: Callable[..., None], *arguments: Any) -> asyncio.TimerHandle:
        """Call later, whatever becomes of the life that asks."""
        return self.call_at(self._now + seconds, call, *arguments, context=self._world)

    def world_task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A task that belongs to no life."""
        return self.create_task(work, context=self._world.copy())

    def take_back(self, handles: list[asyncio.Handle]) -> None:
        """Callbacks of a life that goes on."""
        self._ready.extend(handles)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run until ``work`` is done; its result. The loop is closed then."""
        try:
            return self.run_until_complete(work)
        finally:
            self.close()

    def _run_once(self) -> None:
        ready = self._ready
        self._set_due(ready)
        while ready and not self._stopping:
            self.steps += 1
            if self.steps > self.most_steps:
                raise TooLong(f"{self.steps} steps, {self._now:.3f} s")
            handle = self._next(ready)
            if handle._cancelled:
                continue
            life = handle._context.get(LIFE) if handle._context is not None else None
            if life is not None and life.paused:
                life.kept.append(handle)
                continue
            handle._run()
            handle = None  # an exception of the callback would keep it

    def _next(self, ready: list[asyncio.Handle]) -> asyncio.Handle:
        if self.unwinding:
            for at, handle in enumerate(ready):
                life = handle._context.get(LIFE)
                if life is not None and life.dead:
                    return ready.pop(at)
        count = len(ready)
        if count == 1:
            return ready.pop()
        return ready.pop(self._pick(count))

    def _set_due(self, ready: list[asyncio.Handle]) -> None:
        """Let time pass if nothing is ready, and make ready what is due."""
        scheduled = self._scheduled
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)._scheduled = False
            self._timer_cancelled_count -= 1
        if not ready:
            if self._stopping:
                return
            if not scheduled:
                raise Stuck(f"nothing is left to happen at {self._now:.3f} s")
            self._now = max(self._now, scheduled[0]._when)
        while scheduled and scheduled[0]._when <= self._now:
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            if handle._cancelled:
                self._timer_cancelled_count -= 1
            else:
                ready.append(handle)

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """There is no other thread to wake this one."""
