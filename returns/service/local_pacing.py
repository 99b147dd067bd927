"""Pacing in memory: for the only gateway of a database."""

from __future__ import annotations

from collections.abc import Sequence

from returns.decisions.pacing import MINUTE_MS, SECOND_MS, Pace
from returns.decisions.policy import ReturnsPolicy
from returns.ids import AppName
from returns.ports import Api, Call, Clock, Permit, Wait

CHAT = "chat"
"""The kind of name under which the messages into one chat are counted."""


def pace_of(policy: ReturnsPolicy) -> Pace:
    """The windows of a policy. Lark counts each API on its own."""
    app = ((policy.app_per_second, SECOND_MS), (policy.app_per_minute, MINUTE_MS))
    return Pace({**{api.value: app for api in Api}, CHAT: ((policy.chat_per_second, SECOND_MS),)})


def names_of(call: Call) -> list[tuple[str, str]]:
    """The names under which a call is counted."""
    names: list[tuple[str, str]] = [(call.api.value, call.app)]
    if call.chat is not None:
        names.append((CHAT, call.chat))
    return names


class LocalPacing:
    """A ``returns.ports.Pacing`` that knows the calls of this process alone."""

    def __init__(self, policy: ReturnsPolicy, clock: Clock) -> None:
        self._pace = pace_of(policy)
        self._clock = clock

    def room(self, app: AppName, api: Api) -> int | Wait:
        """How many calls may start now."""
        now = self._clock.now()
        name = (api.value, app)
        return self._pace.room(name, now) or Wait(max(1, self._pace.wait_ms([name], now)))

    async def take(self, calls: Sequence[Call]) -> Sequence[Permit | Wait]:
        """Count each call that may start now."""
        return [self._take(call) for call in calls]

    async def end(self, permit: Permit) -> None:
        """Count the call as of now."""
        self._pace.end(names_of(permit.call), permit.start, self._clock.now())

    async def give_back(self, permit: Permit) -> None:
        """Count the call no more."""
        self._pace.withdraw(names_of(permit.call), permit.start, self._clock.now())

    async def pause(self, app: AppName, api: Api, wait_ms: int) -> None:
        """Allow no call of the API for so long."""
        self._pace.pause((api.value, app), wait_ms, self._clock.now())

    def _take(self, call: Call) -> Permit | Wait:
        now = self._clock.now()
        wait_ms = self._pace.take(names_of(call), now)
        return Wait(wait_ms) if wait_ms else Permit(call, now)
