"""Sliding windows that keep us below the provider's limits.

A window allows so many calls in any span of its length, so no fixed or sliding window of the provider's can see more.
The provider counts a call somewhere between its start and its end, on its own clock; a call is therefore counted for as
long as it runs, and once it ended, as if it had been made at its end. One that hangs is taken to have been counted by
``IN_FLIGHT_MS`` after its start (its end counts all the same), so that calls without an answer stop no others.
Lark counts each API per app (50 a second and 1000 a minute) and the messages of all bots in a chat (5 a second):
https://open.feishu.cn/document/server-docs/im-v1/message/create
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

SECOND_MS = 1_000
MINUTE_MS = 60_000

IN_FLIGHT_MS = 5_000
"""A call that was not answered so long was counted by the provider, or will not be before its end."""

FEW_NAMES = 256
"""So many names are kept before those that fell idle are looked for."""


class Window:
    """At most ``limit`` calls in any ``span_ms``."""

    __slots__ = ("_ended", "_limit", "_running", "_span_ms")

    def __init__(self, limit: int, span_ms: int) -> None:
        """``limit`` is at least 1."""
        self._limit = max(1, limit)
        self._span_ms = span_ms
        self._ended: deque[int] = deque()
        """The ends of the calls that are counted, in order."""
        self._running: deque[int] = deque()
        """The starts of the calls that run, in order."""

    def load(self, ended: Iterable[int], running: Iterable[int]) -> None:
        """Count what was counted elsewhere: ends and starts, each in their order."""
        self._ended.extend(ended)
        self._running.extend(running)

    def room(self, now: int) -> int:
        """How many calls may start now."""
        self._forget(now)
        return max(0, self._limit - len(self._ended) - len(self._running))

    def wait_ms(self, now: int) -> int:
        """How long until one more may start, if those that run end at once; 0 is now."""
        self._forget(now)
        over = len(self._ended) + len(self._running) - self._limit
        if over < 0:
            return 0
        return self._moment(over, now) + self._span_ms - now

    def take(self, now: int) -> None:
        """Count a start."""
        self._forget(now)
        self._running.append(now)

    def end(self, start: int, now: int) -> None:
        """Count the call that was taken at ``start`` as one of this moment."""
        self.withdraw(start)
        insort(self._ended, now)

    def withdraw(self, start: int) -> None:
        """The call that was taken at ``start`` was not made."""
        if start in self._running:
            self._running.remove(start)

    def idle(self, now: int) -> bool:
        """Whether nothing is counted any more."""
        self._forget(now)
        return not self._ended and not self._running

    def _moment(self, place: int, now: int) -> int:
        """The moment of the ``place``-th call that is counted, the earliest first."""
        if not self._running or self._running[0] + IN_FLIGHT_MS >= now:  # what runs counts as of now: it comes last
            return self._ended[place] if place < len(self._ended) else now
        running = (min(now, start + IN_FLIGHT_MS) for start in self._running)
        return sorted((*self._ended, *running))[place]

    def _forget(self, now: int) -> None:
        if self._ended and self._ended[-1] > now:  # the clock went back: what was counted happened by now
            self._ended = deque(min(end, now) for end in self._ended)
        if self._running and self._running[-1] > now:
            self._running = deque(min(start, now) for start in self._running)
        while self._ended and self._ended[0] + self._span_ms <= now:
            self._ended.popleft()
        while self._running and self._running[0] + IN_FLIGHT_MS + self._span_ms <= now:
            self._running.popleft()


class Pace:
    """Named groups of windows: a start is counted in all windows of all its names, or in none."""

    __slots__ = ("_many", "_pauses", "_spans", "_windows")

    def __init__(self, spans: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """``spans`` gives, for each kind of name, its windows as (limit, span in ms)."""
        self._spans = {kind: tuple(windows) for kind, windows in spans.items()}
        self._windows: dict[tuple[str, str], tuple[Window, ...]] = {}
        self._pauses: dict[tuple[str, str], tuple[int, int]] = {}
        self._many = FEW_NAMES

    def load(self, name: tuple[str, str], ended: Sequence[int], running: Sequence[int], now: int) -> None:
        """Count under a (kind, name) what was counted elsewhere: ends and starts, each in their order."""
        for window in self._of(name, now):
            window.load(ended, running)

    def room(self, name: tuple[str, str], now: int) -> int:
        """How many calls of a (kind, name) may start now, as far as its own windows go."""
        return 0 if self._paused_ms(name, now) else min(window.room(now) for window in self._of(name, now))

    def wait_ms(self, names: Sequence[tuple[str, str]], now: int) -> int:
        """How long until a start under all these (kind, name) may be allowed; 0 is now."""
        wait = max((window.wait_ms(now) for name in names for window in self._of(name, now)), default=0)
        return max(wait, *map(self._paused_ms, names, repeat(now)), 0) if self._pauses else wait

    def take(self, names: Sequence[tuple[str, str]], now: int) -> int:
        """Count a start and return 0, or count nothing and return the wait in ms."""
        wait = self.wait_ms(names, now)
        if wait == 0:
            for name in names:
                for window in self._of(name, now):
                    window.take(now)
        return wait

    def end(self, names: Sequence[tuple[str, str]], start: int, now: int) -> None:
        """The call that was taken at ``start`` ended: the provider may have counted it as late as now."""
        for name in names:
            for window in self._of(name, now):
                window.end(start, now)

    def withdraw(self, names: Sequence[tuple[str, str]], start: int, now: int) -> None:
        """The call that was taken at ``start`` was not made."""
        for name in names:
            for window in self._of(name, now):
                window.withdraw(start)

    def pause(self, name: tuple[str, str], wait_ms: int, now: int) -> None:
        """The provider asks for no more calls under a (kind, name) for so long; the longest such wait counts."""
        if wait_ms > self._paused_ms(name, now):
            self._pauses[name] = (now, now + wait_ms)

    def closed(self, kind: str, now: int) -> dict[str, int]:
        """The names of a kind that must wait, each with its wait in ms; names that fell idle are forgotten."""
        self._forget_idle(now)
        names = {key for key in (*self._windows, *self._pauses) if key[0] == kind}
        waits = {key[1]: self.wait_ms([key], now) for key in sorted(names)}
        return {name: wait for name, wait in waits.items() if wait}

    def _of(self, key: tuple[str, str], now: int) -> tuple[Window, ...]:
        windows = self._windows.get(key)
        if windows is None:
            if len(self._windows) >= self._many:
                self._forget_idle(now)
                self._many = max(FEW_NAMES, 2 * len(self._windows))
            windows = tuple(Window(limit, span) for limit, span in self._spans[key[0]])
            self._windows[key] = windows
        return windows

    def _paused_ms(self, name: tuple[str, str], now: int) -> int:
        if name not in self._pauses:
            return 0
        since, until = self._pauses[name]
        if now < since:  # the clock went back
            until -= since - now
            self._pauses[name] = (now, until)
        if until <= now:
            del self._pauses[name]
        return max(0, until - now)

    def _forget_idle(self, now: int) -> None:
        for key, windows in list(self._windows.items()):
            if all(window.idle(now) for window in windows):
                del self._windows[key]
