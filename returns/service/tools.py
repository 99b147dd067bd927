"""What every step of the pump is given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from returns.decisions.policy import ReturnsPolicy
from returns.ids import AppName
from returns.ports import Api, Authority, Call, Clock, DeliveryProvider, Pacing, Permit, Transactions, Wait
from returns.service.reach import Reach

Sleep = Callable[[float], Awaitable[None]]
"""Wait for so many seconds."""


FRESH_MS = 1_000
"""A permit that was taken longer ago is not used any more."""


def _queues() -> dict[tuple[AppName, Api], asyncio.Lock]:
    return {}


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
    pacing: Pacing
    sleep: Sleep
    reach: Reach = field(default_factory=Reach)
    _waiting: dict[tuple[AppName, Api], asyncio.Lock] = field(default_factory=_queues)

    async def permit(self, call: Call) -> Permit:
        """Wait for a permit; of the readings that wait for the same API of an app, only the first one asks.

        A send may have to wait for its chat, and must not keep those into other chats waiting; it is alone there.
        """
        if call.chat is not None:
            return await self._granted(call)
        async with self._waiting.setdefault((call.app, call.api), asyncio.Lock()):
            return await self._granted(call)

    async def _granted(self, call: Call) -> Permit:
        while isinstance(answer := (await self.pacing.take([call]))[0], Wait):
            await self.sleep(answer.ms / 1000)
        return answer

    @asynccontextmanager
    async def turn(self, call: Call, permit: Permit | None = None) -> AsyncGenerator[Turn]:
        """A call that may be made inside of the block; ``permit`` is one for it that was just taken."""
        turn = Turn(self, call, permit)
        try:
            yield turn
        finally:
            await turn.end()

    async def heed(self, app: AppName, api: Api, wait_ms: int | None) -> None:
        """The provider asked to wait: nobody calls the API of the app before that, within our own bounds."""
        if wait_ms is not None and wait_ms > 0:
            await self.pacing.pause(app, api, min(wait_ms, self.policy.retry_max_ms))


class Turn:
    """One call that is to be made. ``take`` waits until it may be, ``begin`` says that it is being made now."""

    __slots__ = ("_begun", "_call", "_permit", "_taken_at", "_tools")

    def __init__(self, tools: Tools, call: Call, permit: Permit | None) -> None:
        self._tools = tools
        self._call = call
        self._permit = permit
        self._taken_at = tools.clock.now()
        self._begun = False

    async def take(self) -> None:
        """Wait for a permit. One that was taken long ago counts for another moment: it is given back."""
        now = self._tools.clock.now()
        if self._permit is not None and not 0 <= now - self._taken_at <= FRESH_MS:
            await self._tools.pacing.give_back(self._permit)
            self._permit = None
        if self._permit is None:
            self._permit = await self._tools.permit(self._call)
            self._taken_at = self._tools.clock.now()

    async def begin(self) -> None:
        """The call leaves now. Waits for a permit where there is none."""
        if self._permit is None:
            await self.take()
        self._begun = True

    async def end(self) -> None:
        """The call ended, or was not made. Again it says nothing."""
        permit, self._permit = self._permit, None
        if permit is None:
            return
        if self._begun:
            await self._tools.pacing.end(permit)
        else:
            await self._tools.pacing.give_back(permit)
