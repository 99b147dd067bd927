"""Work under leases: they are renewed while the work runs, and are never a reason to stop it.

A send that is under way cannot be unsent, so a lease that could not be renewed only means that others will treat its
outcome as unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from returns.ids import Millis, PartId
from returns.ledger import leases
from returns.ports import StorageUnavailable
from returns.service.containing import Contained, describe
from returns.service.tools import Tools

T = TypeVar("T")

RENEWALS = 3
"""A lease is renewed this many times before it would end."""

TOGETHER = 100
"""So many parts are renewed, or concluded, in one transaction."""

Hold = tuple[PartId, int]
"""A part, and the fence under which it is held."""

_log = logging.getLogger(__name__)


async def while_held(tools: Tools, part_id: PartId, fence: int, work: Awaitable[T]) -> T:
    """Wait for ``work`` and renew the part's lease until it is done. Raises what ``work`` raises."""
    return await while_all_held(tools, lambda: [(part_id, fence)], work)


async def while_all_held(tools: Tools, holds: Callable[[], Sequence[Hold]], work: Awaitable[T]) -> T:
    """Wait for ``work`` and renew the leases of the parts that ``holds`` names, until it is done."""
    async with asyncio.TaskGroup() as group:
        renewing = group.create_task(_renew(tools, holds))
        try:
            return await work
        finally:
            renewing.cancel()


async def _renew(tools: Tools, holds: Callable[[], Sequence[Hold]]) -> None:
    with Contained() as contained:
        lost: set[Hold] = set()
        while True:
            await tools.sleep(tools.policy.lease_ms / 1000 / RENEWALS)
            asked = [hold for hold in holds() if hold not in lost]
            left = await _renew_once(tools, asked)
            if asked and not left:
                return
            lost.update(set(asked).difference(left))
    if contained.fault is not None:
        _log.error("a lease could not be renewed: %s", describe(contained.fault))


async def _renew_once(tools: Tools, holds: Sequence[Hold]) -> list[Hold]:
    """The holds that are still ours."""
    left: list[Hold] = []
    for at in range(0, len(holds), TOGETHER):
        some = holds[at : at + TOGETHER]
        until = Millis(tools.clock.now() + tools.policy.lease_ms)

        def renew(connection: Connection, some: Sequence[Hold] = some, until: Millis = until) -> list[Hold]:
            return [hold for hold in some if leases.renew(connection, hold[0], tools.owner, hold[1], until)]

        try:
            left += await tools.transactions.run(renew)
        except StorageUnavailable:
            left += some  # try again at the next turn
    return left
