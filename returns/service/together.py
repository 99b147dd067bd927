"""Settling all parts of one place by one reading of its history. Nothing is ever sent here.

The order is that of a single part: a message is looked for, its locator is stored, and only what is read after that
proves anything. The pages that are read then show the same messages as reading each by itself would; a message that is
not on them, or that does not prove its part, is read by itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from returns.decisions.matching import judge
from returns.decisions.policy import ReturnsPolicy
from returns.delivery import Event
from returns.ids import MessageId, Millis
from returns.ledger import checks, neighbours
from returns.ledger.checks import Check, Found, NotRead
from returns.ledger.lanes import SEARCH, VERIFY, Lane
from returns.ledger.locators import Source
from returns.ports import Api, Call, Reading, Route, StorageUnavailable, Unreachable, WindowPage
from returns.service.aside import set_aside
from returns.service.containing import Contained
from returns.service.holding import TOGETHER, Hold, while_all_held
from returns.service.reading import read_back
from returns.service.reconcile import search
from returns.service.tools import Tools

T = TypeVar("T")

MOST = 1000
"""So many parts are settled by one reading; more of a place wait for the next one."""

WORTH = 3
"""Fewer messages than these are read by themselves."""

ALONE = 8
"""So many messages of a place are read by themselves side by side."""

BEFORE_SEND_MS = 5_000
"""The pages for reading back begin so long before the earliest attempt, for clocks that differ."""


class Held:
    """Parts of one place that are held while it is read."""

    def __init__(self, tools: Tools, route: Route, first: Check | None) -> None:
        self._tools = tools
        self.route = route
        self.checks: list[Check] = [] if first is None else [first]

    def holds(self) -> list[Hold]:
        """What is to be renewed."""
        return [(check.part_id, check.fence) for check in self.checks]

    async def claim(self, lane: Lane) -> None:
        """Claim what else of the place waits in the lane."""
        tools = self._tools
        while len(self.checks) < MOST:
            now, limit = tools.clock.now(), min(TOGETHER, MOST - len(self.checks))

            def claim(connection: Connection, now: Millis = now, limit: int = limit) -> Sequence[Check]:
                return neighbours.claim_place(
                    connection, lane, self.route, tools.owner, now, tools.policy, tools.authority, limit
                )

            claimed = await tools.transactions.run(claim)
            if not claimed:
                return
            self.checks += claimed

    async def keep(self) -> None:
        """Have nobody else begin with the rest of the place."""
        now = self._tools.clock.now()
        await self._tools.transactions.run(
            lambda c: neighbours.keep_place(c, self.route, now, self._tools.policy),
        )


async def search_place(tools: Tools, first: Check) -> None:
    """Look for a claimed part and for all others of its place. Raises ``StorageUnavailable``."""
    route = first.expected.route
    held = Held(tools, route, first)
    if first.crowded:
        await held.claim(SEARCH)
    while held.checks:
        if len(held.checks) == MOST:
            await held.keep()
        results = await while_all_held(tools, held.holds, search(tools, held.checks))
        await _conclude_search(tools, held.checks, results)
        if not first.crowded or not all(isinstance(result, Found) for result in results):
            return
        await read_place(tools, route)
        held = Held(tools, route, None)
        await held.claim(SEARCH)


async def read_place(tools: Tools, route: Route, first: Check | None = None) -> None:
    """Read back the located parts of a place, of which ``first`` is claimed already. Raises ``StorageUnavailable``."""
    held = Held(tools, route, first)
    await held.claim(VERIFY)
    if held.checks:
        await while_all_held(tools, held.holds, _read_all(tools, held))


async def _read_all(tools: Tools, held: Held) -> None:
    waiting = {check.locator.message_id: check for check in held.checks if check.locator is not None}
    if len(waiting) >= WORTH:
        shown = await _pages(tools, held.route, waiting)
        proved = [waiting.pop(message_id) for message_id in shown]
        held.checks = list(waiting.values())
        await _record(tools, [(check, Event.PROVED) for check in proved], checks.conclude_reading)
    await _each_alone(tools, deque(waiting.values()))


async def _pages(tools: Tools, route: Route, waiting: Mapping[MessageId, Check]) -> Sequence[MessageId]:
    """The messages that pages of the history prove; no more pages than reading each by itself would be worth."""
    since = Millis(min(check.attempted_at for check in waiting.values()) - BEFORE_SEND_MS)
    proved: dict[MessageId, None] = {}
    cursor: str | None = None
    pages = 0
    while len(waiting) - len(proved) >= WORTH and pages < max(1, len(waiting) // 4) + len(proved) // 2:
        async with tools.turn(Call(route.app, Api.LISTS)) as turn:
            await turn.begin()
            page = await tools.provider.list_window(route, since, cursor)
        pages += 1
        if not isinstance(page, WindowPage):
            if isinstance(page, Unreachable):
                await tools.heed(route.app, Api.LISTS, page.retry_after_ms)
            break
        proved |= dict.fromkeys(reading.locator.message_id for reading in page.readings if _proves(reading, waiting))
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple(proved)


def _proves(reading: Reading, waiting: Mapping[MessageId, Check]) -> bool:
    check = waiting.get(reading.locator.message_id)
    if check is None or check.locator is None or check.source is Source.OPERATOR:  # that one is read by itself
        return False
    return judge(reading, check.locator, check.expected) is Event.PROVED


async def _each_alone(tools: Tools, left: deque[Check]) -> None:
    """Read each message by itself. When the first cannot be reached, the others wait for a better time."""
    if left:
        await _read_one(tools, left.popleft())
    if left and tools.reach.is_lost(left[0].expected.route.app):
        unread = [(check, NotRead("unreachable")) for check in left]
        await _record(tools, unread, checks.conclude_not_read)
        return
    async with asyncio.TaskGroup() as group:
        for _ in range(min(ALONE, len(left))):
            group.create_task(_read_on(tools, left))


async def _read_on(tools: Tools, left: deque[Check]) -> None:
    while left:
        await _read_one(tools, left.popleft())


async def _read_one(tools: Tools, check: Check) -> None:
    if check.locator is None:
        return
    with Contained() as contained:
        async with tools.turn(Call(check.expected.route.app, Api.READS)) as turn:
            await read_back(tools, check, check.locator, turn)
    if contained.fault is not None:
        await _stay_with(tools, check, contained.fault)


async def _conclude_search(tools: Tools, claimed: Sequence[Check], results: Sequence[Found | NotRead]) -> None:
    """Record what the history says of each part, and that it can be read again."""
    found = [(check, result) for check, result in zip(claimed, results, strict=True) if isinstance(result, Found)]
    unread = [(check, result) for check, result in zip(claimed, results, strict=True) if isinstance(result, NotRead)]
    await _record(tools, found, checks.conclude_search)
    await _record(tools, unread, checks.conclude_not_read)
    app, now = claimed[0].expected.route.app, tools.clock.now()
    if any(result.why == "unreachable" for _, result in unread):
        tools.reach.lose(app)
    elif tools.reach.regain(app, now):
        await tools.transactions.run(lambda c: checks.hurry(c, app, now))


Conclude = Callable[[Connection, Check, T, Millis, ReturnsPolicy], object]
"""How ``ledger.checks`` records the result of a claimed part."""


async def _record(tools: Tools, settled: Sequence[tuple[Check, T]], conclude: Conclude[T]) -> None:
    """Record many in few transactions. When that fails, each is recorded by itself, and a fault stays with its part."""
    for at in range(0, len(settled), TOGETHER):
        some, now = settled[at : at + TOGETHER], tools.clock.now()

        def perform(connection: Connection, some: Sequence[tuple[Check, T]] = some, now: Millis = now) -> None:
            for check, result in some:
                conclude(connection, check, result, now, tools.policy)

        with Contained() as contained:
            await tools.transactions.run(perform)
        if isinstance(contained.fault, StorageUnavailable):
            raise contained.fault
        if contained.fault is not None:
            await _record_each(tools, some, conclude)


async def _record_each(tools: Tools, settled: Sequence[tuple[Check, T]], conclude: Conclude[T]) -> None:
    for check, result in settled:
        now = tools.clock.now()

        def perform(connection: Connection, check: Check = check, result: T = result, now: Millis = now) -> None:
            conclude(connection, check, result, now, tools.policy)

        with Contained() as contained:
            await tools.transactions.run(perform)
        if contained.fault is not None:
            await _stay_with(tools, check, contained.fault)


async def _stay_with(tools: Tools, check: Check, fault: Exception) -> None:
    if isinstance(fault, StorageUnavailable):
        raise fault
    await set_aside(tools, check.part_id, fault)
