"""Looking for a message whose locator is not known: the whole window is read, or nothing is concluded from it.

Lark gives a chat's history by time and a thread's only from its newest message on, so where the window begins is the
provider's matter; here only its end counts, because absence can be concluded from a complete reading alone.
(https://open.feishu.cn/document/server-docs/im-v1/message/list)
"""

from __future__ import annotations

from typing import assert_never

from returns.decisions.matching import candidates
from returns.ids import AppName
from returns.ledger.checks import Check, Found, NotRead
from returns.ports import NotPermitted, Reading, Unreachable, WindowPage
from returns.service.tools import LISTS, Tools

MOST_PAGES = 2000
"""A longer window is treated as one that could not be read."""


async def search(tools: Tools, check: Check, app: AppName) -> Found | NotRead:
    """All messages in the part's window that could be it."""
    began_at = tools.clock.now()
    found: list[Reading] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        async with tools.turn((LISTS, app)):
            page = await tools.provider.list_window(check.expected.route, check.expected.since, cursor)
        match page:
            case WindowPage(readings, cursor):
                found.extend(candidates(readings, check.expected))
                if cursor is None:
                    return Found(candidates(found, check.expected), began_at)
            case NotPermitted():
                return NotRead("not_permitted")
            case Unreachable(retry_after_ms):
                return NotRead("unreachable", retry_after_ms)
            case _:
                assert_never(page)
    return NotRead("unreachable")
