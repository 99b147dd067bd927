"""One look at a part whose outcome is open: read its message, or look for it. Nothing is ever sent here."""

from __future__ import annotations

from returns.ids import AppName, PartId
from returns.ledger import checks
from returns.ledger.checks import Check
from returns.ports import Api, Call, Permit
from returns.service.reading import read_back
from returns.service.together import read_place, search_place
from returns.service.tools import Tools


async def look(tools: Tools, part_id: PartId, app: AppName, permit: Permit | None = None) -> None:
    """Claim the part and settle what reading can settle, for its neighbours too. Raises ``StorageUnavailable``.

    ``permit`` is one for reading a message, where it was taken already.
    """
    async with tools.turn(Call(app, Api.READS), permit) as turn:
        check = await claim(tools, part_id)
        if check is None:
            return
        if check.locator is not None and not check.crowded:
            await read_back(tools, check, check.locator, turn)
            return
    if check.locator is None:
        await search_place(tools, check)
    else:
        await read_place(tools, check.expected.route, check)


async def claim(tools: Tools, part_id: PartId) -> Check | None:
    """Hold the part, if it is due and may still be told."""
    now = tools.clock.now()
    return await tools.transactions.run(
        lambda c: checks.begin(c, part_id, tools.owner, now, tools.policy, tools.authority)
    )
