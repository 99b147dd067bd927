"""``/healthz``: the process is alive. ``/readyz``: each thing that it depends on, in plain words, as it is now.

Neither asks who is asking, so neither tells anything private, and checks run at most once a second however often
they are asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from aiohttp import web

from gateway.http.errors import json_response
from returns.ids import Millis
from returns.ports import Clock, StorageUnavailable

logger = logging.getLogger(__name__)

KEPT_MS = 1_000
CLOCK_DOUBT_MS = 60 * 60 * 1000
SKEW_DOUBT_MS = 60 * 1000


class Level(Enum):
    """How a thing is."""

    OK = "ok"
    """Works."""
    WARNING = "warning"
    """Works, but somebody should look."""
    FAILED = "failed"
    """Does not work: not ready."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found; ``words`` are for people and hold nothing private."""

    level: Level
    words: str


Check: TypeAlias = Callable[[], Awaitable[Finding]]
"""Looks at one thing. What it raises (``StorageUnavailable``, ``OSError``) or a time limit is a failure too."""


class Health:
    """Answers both addresses from named ``checks``, each given ``within_s`` seconds."""

    __slots__ = ("_checks", "_clock", "_findings", "_found_at", "_lock", "_within_s")

    def __init__(self, checks: Mapping[str, Check], clock: Clock, within_s: float = 3.0) -> None:
        self._checks = dict(checks)
        self._clock = clock
        self._within_s = within_s
        self._lock = asyncio.Lock()
        self._findings: dict[str, Finding] = {}
        self._found_at: Millis | None = None

    def routes(self) -> list[web.RouteDef]:
        """``GET /healthz`` and ``GET /readyz``."""
        return [web.get("/healthz", self.alive), web.get("/readyz", self.ready)]

    async def alive(self, _request: web.Request) -> web.StreamResponse:
        """200 while the process answers at all."""
        return json_response({"status": "alive"})

    async def ready(self, _request: web.Request) -> web.StreamResponse:
        """200 when nothing failed, else 503; every check by name."""
        findings = await self.findings()
        failed = any(finding.level is Level.FAILED for finding in findings.values())
        checks = {name: {"status": found.level.value, "message": found.words} for name, found in findings.items()}
        return json_response({"status": "not_ready" if failed else "ready", "checks": checks}, 503 if failed else 200)

    async def findings(self) -> Mapping[str, Finding]:
        """What the checks find, at most a second old; all run side by side."""
        async with self._lock:
            now = self._clock.now()
            if self._found_at is None or not 0 <= now - self._found_at < KEPT_MS:
                async with asyncio.TaskGroup() as group:
                    tasks = {name: group.create_task(self._look(check)) for name, check in self._checks.items()}
                self._findings = {name: task.result() for name, task in tasks.items()}
                self._found_at = now
            return self._findings

    async def _look(self, check: Check) -> Finding:
        try:
            async with asyncio.timeout(self._within_s):
                return await check()
        except TimeoutError:
            return Finding(Level.FAILED, f"No answer within {self._within_s:g} s.")
        except (StorageUnavailable, OSError):
            return Finding(Level.FAILED, "Cannot be reached.")
        except Exception:
            logger.exception("A readiness check failed in a way that was not foreseen.")
            return Finding(Level.FAILED, "The check itself failed; it is in the log.")


def clock_check(
    out_of_time_at: Callable[[], Millis | None], clock: Clock, skew_ms: Callable[[], int | None] = lambda: None
) -> Check:
    """Warns for an hour after a signed event bore a time out of bounds, and while the clock differs from Lark's.

    ``skew_ms`` is how far this machine's clock was from Lark's by its last answer; None while that is not known.
    """

    async def check() -> Finding:
        skew = skew_ms() or 0
        if abs(skew) > SKEW_DOUBT_MS:
            way = "ahead of" if skew > 0 else "behind"
            return Finding(
                Level.WARNING, f"This machine's clock is {abs(skew) // 1000} s {way} Lark's. Synchronise it."
            )
        seen = out_of_time_at()
        if seen is None or clock.now() - seen >= CLOCK_DOUBT_MS:
            return Finding(Level.OK, "Signed events carry a time close to this machine's.")
        return Finding(
            Level.WARNING,
            "A rightly signed event bore a time out of bounds within the last hour and was refused. "
            "Check this machine's clock.",
        )

    return check
