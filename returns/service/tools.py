"""What every step of the pump is given."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from returns.decisions.pacing import MINUTE_MS, SECOND_MS, Pace
from returns.decisions.policy import ReturnsPolicy
from returns.ports import Authority, Clock, DeliveryProvider, Transactions

Sleep = Callable[[float], Awaitable[None]]
"""Wait for so many seconds."""

SENDS = "sends"
"""The pace of an app's sends."""
READS = "reads"
"""The pace of an app's readings of one message."""
LISTS = "lists"
"""The pace of an app's readings of a history."""
CHAT = "chat"
"""The pace of sends into one chat."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The ports, the policy, and who is holding."""

    transactions: Transactions
    provider: DeliveryProvider
    authority: Authority
    clock: Clock
    policy: ReturnsPolicy
    owner: str
    """Names this gateway's holds; at most 60 characters."""
    pace: Pace
    sleep: Sleep

    @asynccontextmanager
    async def turn(self, *names: tuple[str, str]) -> AsyncGenerator[None]:
        """Wait until the pace allows one more call under all the names; the block is the call."""
        start = self.clock.now()
        while wait_ms := self.pace.take(names, start):
            await self.sleep(wait_ms / 1000)
            start = self.clock.now()
        try:
            yield
        finally:
            self.pace.end(names, start, self.clock.now())


def pace_of(policy: ReturnsPolicy) -> Pace:
    """The windows of a policy. Lark counts each API on its own."""
    app = ((policy.app_per_second, SECOND_MS), (policy.app_per_minute, MINUTE_MS))
    return Pace({SENDS: app, READS: app, LISTS: app, CHAT: ((policy.chat_per_second, SECOND_MS),)})
