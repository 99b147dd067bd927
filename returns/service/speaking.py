"""For which apps this gateway speaks, where several share the work.

It takes what belongs to those, and what belongs to an app that no living gateway speaks for (``ledger.speaking``). What
others can do is left to them, whatever is missing or wrong here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from sqlalchemy import Connection

from returns.ids import AppName, Millis
from returns.ledger import speaking
from returns.ports import Clock, DeliveryProvider, Ready, Refusal, Refused, Transactions
from returns.service.containing import Contained, describe
from returns.service.tools import Sleep

SAID_A_LEASE = 3
"""It is said so many times before it would be believed no longer."""

_log = logging.getLogger(__name__)


def nowhere(_connection: Connection) -> frozenset[AppName]:
    """``Elsewhere`` of the only gateway of a database: all is its own."""
    return frozenset()


class Speaking:
    """One of several gateways, and the apps of its configuration."""

    def __init__(
        self,
        transactions: Transactions,
        provider: DeliveryProvider,
        clock: Clock,
        owner: str,
        apps: Collection[AppName],
        lease_ms: int,
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """``lease_ms`` is how long this gateway is believed to live after it last said for whom it speaks.

        ``clock`` is one that all of them go by.
        """
        self._transactions = transactions
        self._provider = provider
        self._clock = clock
        self._owner = owner
        self._apps = tuple(apps)
        self._able = set(apps)
        self._lease_ms = lease_ms
        self._sleep = sleep
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """Say it, and ask for the apps' credentials, for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._say_on())
            for app in self._apps:
                group.create_task(self._ask_on(app))

    def elsewhere(self, connection: Connection) -> frozenset[AppName]:
        """The apps that are left to others: they speak for them, and this gateway does not."""
        return speaking.others(connection, self._owner, self._clock.now()) - self._able

    def cannot(self, app: AppName) -> None:
        """The app's credentials are refused here, or there are none."""
        if app in self._able:
            _log.warning("the credentials of app %s are refused: what belongs to it is left to others", app)
        self._able.discard(app)

    def leave(self, connection: Connection, app: AppName) -> bool:
        """Speak for the app no more; whether somebody else does, to whom it is left."""
        speaking.take_back(connection, self._owner, app)
        return app in speaking.others(connection, self._owner, self._clock.now())

    async def say(self) -> None:
        """Say now for which apps this gateway speaks. Raises ``StorageUnavailable``."""
        async with self._one_at_a_time:
            now, apps = self._clock.now(), tuple(self._able)
            until = Millis(now + self._lease_ms)
            await self._transactions.run(lambda c: speaking.say(c, self._owner, apps, now, until))

    async def _say_on(self) -> None:
        while True:
            await self._say_if_possible()
            await self._sleep(self._lease_ms / 1000 / SAID_A_LEASE)

    async def _say_if_possible(self) -> None:
        with Contained() as contained:
            await self.say()
        if contained.fault is not None:
            _log.warning("for which apps this gateway speaks could not be said: %s", describe(contained.fault))

    async def ask(self, app: AppName) -> None:
        """Ask whether an app's credentials are taken, which may change. No answer says nothing."""
        match await self._provider.prepare(app):
            case Ready() if app not in self._able:
                self._able.add(app)
                await self._say_if_possible()
            case Refused(refusal=Refusal.CONFIGURATION) if app in self._able:
                self.cannot(app)
                await self._say_if_possible()
            case _:
                pass

    async def _ask_on(self, app: AppName) -> None:
        while True:
            with Contained() as contained:
                await self.ask(app)
            if contained.fault is not None:
                _log.error("asking for an app's credentials failed by a fault: %s", describe(contained.fault))
            await self._sleep(self._lease_ms / 1000 / SAID_A_LEASE)
