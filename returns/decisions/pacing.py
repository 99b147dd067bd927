"""Sliding windows that keep us below the provider's limits.

A window allows so many calls in any span of its length, so no fixed or sliding window of the provider's can see more.
The provider counts a call somewhere between its start and its end, on its own clock; a call is therefore counted from
its start on, and once it ended, as if it had been made at its end.
Lark counts each API per app (50 a second and 1000 a minute) and the messages of all bots in a chat (5 a second):
https://open.feishu.cn/document/server-docs/im-v1/message/create
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

SECOND_MS = 1_000
MINUTE_MS = 60_000


class Window:
    """At most ``limit`` starts in any ``span_ms``."""

    __slots__ = ("_limit", "_span_ms", "_starts")

    def __init__(self, limit: int, span_ms: int) -> None:
        """``limit`` is at least 1."""
        self._limit = max(1, limit)
        self._span_ms = span_ms
        self._starts: deque[int] = deque()

    def wait_ms(self, now: int) -> int:
        """How long until one more start is allowed; 0 is now."""
        self._forget(now)
        if len(self._starts) < self._limit:
            return 0
        return self._starts[-self._limit] + self._span_ms - now

    def take(self, now: int) -> None:
        """Count a start."""
        self._forget(now)
        self._starts.append(now)

    def end(self, start: int, now: int) -> None:
        """Count the call that was taken at ``start`` as one of this moment."""
        if start in self._starts:
            self._starts.remove(start)
        self._starts.append(max(now, self._starts[-1]) if self._starts else now)

    def idle(self, now: int) -> bool:
        """Whether nothing is counted any more."""
        self._forget(now)
        return not self._starts

    def _forget(self, now: int) -> None:
        if self._starts and self._starts[-1] > now:  # the clock went back: what was counted happened by now
            self._starts = deque(min(start, now) for start in self._starts)
        while self._starts and self._starts[0] + self._span_ms <= now:
            self._starts.popleft()


class Pace:
    """Named groups of windows: a start is counted in all windows of all its names, or in none."""

    __slots__ = ("_spans", "_windows")

    def __init__(self, spans: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """``spans`` gives, for each kind of name, its windows as (limit, span in ms)."""
        self._spans = {kind: tuple(windows) for kind, windows in spans.items()}
        self._windows: dict[tuple[str, str], tuple[Window, ...]] = {}

    def wait_ms(self, names: Sequence[tuple[str, str]], now: int) -> int:
        """How long until a start under all these (kind, name) is allowed; 0 is now."""
        return max((window.wait_ms(now) for name in names for window in self._of(name)), default=0)

    def take(self, names: Sequence[tuple[str, str]], now: int) -> int:
        """Count a start and return 0, or count nothing and return the wait in ms."""
        wait = self.wait_ms(names, now)
        if wait == 0:
            for name in names:
                for window in self._of(name):
                    window.take(now)
        return wait

    def end(self, names: Sequence[tuple[str, str]], start: int, now: int) -> None:
        """The call that was taken at ``start`` ended: the provider may have counted it as late as now."""
        for name in names:
            for window in self._of(name):
                window.end(start, now)

    def closed(self, kind: str, now: int) -> dict[str, int]:
        """The names of a kind that must wait, each with its wait in ms; names that fell idle are forgotten."""
        waits: dict[str, int] = {}
        for key, windows in list(self._windows.items()):
            if key[0] != kind:
                continue
            wait = max(window.wait_ms(now) for window in windows)
            if all(window.idle(now) for window in windows):
                del self._windows[key]
            if wait:
                waits[key[1]] = wait
        return waits

    def _of(self, key: tuple[str, str]) -> tuple[Window, ...]:
        windows = self._windows.get(key)
        if windows is None:
            windows = tuple(Window(limit, span) for limit, span in self._spans[key[0]])
            self._windows[key] = windows
        return windows
