"""A reading that the provider did not answer: it is heeded how long it asks to wait, and nothing is known."""

from __future__ import annotations

from returns.ids import AppName
from returns.ledger.checks import NotRead
from returns.ports import Api, Unreachable
from returns.service.tools import Tools


async def unreached(tools: Tools, app: AppName, api: Api, answer: Unreachable) -> NotRead:
    """Wait with the API of the app as long as was asked, and say that nothing was read."""
    await tools.heed(app, api, answer.retry_after_ms)
    return NotRead("unreachable", answer.retry_after_ms)
