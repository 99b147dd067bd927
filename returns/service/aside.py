"""A part whose handling failed by a fault of ours is set aside: it is tried again later, and nobody else's is lost."""

from __future__ import annotations

import logging

from returns.ids import PartId
from returns.ledger import faults
from returns.service.containing import describe
from returns.service.tools import Tools

_log = logging.getLogger(__name__)


async def set_aside(tools: Tools, part_id: PartId, fault: Exception) -> None:
    """Record the fault and look at the part later. Raises ``StorageUnavailable`` if that cannot be stored."""
    told = describe(fault)
    _log.error("handling part %s failed by a fault: %s", part_id, told)
    now = tools.clock.now()
    await tools.transactions.run(lambda c: faults.put_off(c, part_id, told, now, tools.policy))
