"""One look at a part whose outcome is open: read its message, or look for it. Nothing is ever sent here."""

from __future__ import annotations

from returns.decisions.matching import judge
from returns.delivery import Event
from returns.ids import AppName, PartId
from returns.ledger import checks
from returns.ledger.checks import Check, Found, NotRead
from returns.ports import Locator, Missing, NotPermitted, Reading, ReadOutcome, Unreachable
from returns.service import reconcile
from returns.service.holding import while_held
from returns.service.tools import READS, Tools


async def look(tools: Tools, part_id: PartId, app: AppName) -> None:
    """Claim the part and settle what reading can settle. Raises ``StorageUnavailable``."""
    check = await claim(tools, part_id)
    if check is None:
        return
    if check.locator is not None:
        await read_back(tools, check, app, check.locator)
        return
    result = await while_held(tools, part_id, check.fence, reconcile.search(tools, check, app))
    await conclude_search(tools, check, result)


async def claim(tools: Tools, part_id: PartId) -> Check | None:
    """Hold the part, if it is due and may still be told."""
    now = tools.clock.now()
    return await tools.transactions.run(
        lambda c: checks.begin(c, part_id, tools.owner, now, tools.policy, tools.authority)
    )


async def read_back(tools: Tools, check: Check, app: AppName, locator: Locator) -> None:
    """Read the message and record what it proves."""
    async with tools.turn((READS, app)):
        outcome = await while_held(tools, check.part_id, check.fence, tools.provider.read(app, locator))
    meaning = _meaning(outcome, locator, check)
    now = tools.clock.now()
    if isinstance(meaning, NotRead):
        await tools.transactions.run(lambda c: checks.conclude_not_read(c, check, meaning, now, tools.policy))
    else:
        await tools.transactions.run(lambda c: checks.conclude_reading(c, check, meaning, now, tools.policy))


def _meaning(outcome: ReadOutcome, locator: Locator, check: Check) -> Event | NotRead:
    match outcome:
        case Reading():
            return judge(outcome, locator, check.expected)
        case Missing():
            return Event.MISSING
        case NotPermitted():
            return NotRead("not_permitted")
        case Unreachable(retry_after_ms):
            return NotRead("unreachable", retry_after_ms)


async def conclude_search(tools: Tools, check: Check, result: Found | NotRead) -> None:
    """Record what a search found, or that it could not be made."""
    now = tools.clock.now()
    if isinstance(result, NotRead):
        await tools.transactions.run(lambda c: checks.conclude_not_read(c, check, result, now, tools.policy))
    else:
        await tools.transactions.run(lambda c: checks.conclude_search(c, check, result, now, tools.policy))
