"""Work under a lease: the lease is renewed while the work runs, and is never a reason to stop it.

A send that is under way cannot be unsent, so a lease that could not be renewed only means that others will treat its
outcome as unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

from returns.ids import Millis, PartId
from returns.ledger import leases
from returns.ports import StorageUnavailable
from returns.service.containing import Contained, describe
from returns.service.tools import Tools

T = TypeVar("T")

RENEWALS = 3
"""A lease is renewed this many times before it would end."""

_log = logging.getLogger(__name__)


async def while_held(tools: Tools, part_id: PartId, fence: int, work: Awaitable[T]) -> T:
    """Wait for ``work`` and renew the part's lease until it is done. Raises what ``work`` raises."""
    async with asyncio.TaskGroup() as group:
        renewing = group.create_task(_renew(tools, part_id, fence))
        try:
            return await work
        finally:
            renewing.cancel()


async def _renew(tools: Tools, part_id: PartId, fence: int) -> None:
    with Contained() as contained:
        while True:
            await tools.sleep(tools.policy.lease_ms / 1000 / RENEWALS)
            if not await _renew_once(tools, part_id, fence):
                return
    if contained.fault is not None:
        _log.error("a lease could not be renewed: %s", describe(contained.fault))


async def _renew_once(tools: Tools, part_id: PartId, fence: int) -> bool:
    until = Millis(tools.clock.now() + tools.policy.lease_ms)
    try:
        return await tools.transactions.run(lambda c: leases.renew(c, part_id, tools.owner, fence, until))
    except StorageUnavailable:
        return True  # try again at the next turn
