"""Looking for messages whose locators are not known: the whole window is read, or nothing is concluded from it.

Lark gives a chat's history by time, the oldest first, and a thread's only from its newest message on, so where the
window begins is the provider's matter; here only its end counts, because absence can be concluded from a complete
reading alone. One reading serves all parts of a place.
(https://open.feishu.cn/document/server-docs/im-v1/message/list)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from returns.decisions.matching import Sieve
from returns.ids import AppName, Millis
from returns.ledger.checks import AFTER_ATTEMPT_MS, Check, Found, NotRead
from returns.ports import Api, Call, NotPermitted, Reading, Unreachable, WindowPage
from returns.service.tools import Tools

MOST_PAGES = 2000
"""So many pages are read of one window. Of a chat's, that is enough for what was attempted well before its end."""


async def search(tools: Tools, checks: Sequence[Check], app: AppName) -> Sequence[Found | NotRead]:
    """For each part of one place, all messages in its window that could be it."""
    began_at = tools.clock.now()
    sieve = Sieve([check.expected for check in checks])
    route, since = checks[0].expected.route, min(check.expected.since for check in checks)
    cursor: str | None = None
    read_to = since
    ahead_ms: int | None = None
    for _ in range(MOST_PAGES):
        async with tools.turn(Call(app, Api.LISTS)) as turn:
            await turn.begin()
            page = await tools.provider.list_window(route, since, cursor)
        match page:
            case WindowPage(ahead_ms=shown_ms) if ahead_ms not in (None, shown_ms):
                return [NotRead("unreachable")] * len(checks)  # the pages before this one began too late
            case WindowPage(readings, cursor, ahead_ms):
                sieve.add(readings, ahead_ms)
                read_to = _read_to(readings, read_to)
                if cursor is None:
                    return [Found(found, began_at) for found in sieve.found()]
            case NotPermitted():
                return [NotRead("not_permitted")] * len(checks)
            case Unreachable(retry_after_ms):
                await tools.heed(app, Api.LISTS, retry_after_ms)
                return [NotRead("unreachable", retry_after_ms)] * len(checks)
            case _:
                assert_never(page)
    late = NotRead("unreachable")
    found = zip(checks, sieve.found(), strict=True)
    return [Found(each, began_at) if _is_past(check, read_to) else late for check, each in found]


def _read_to(readings: Sequence[Reading], before: Millis) -> Millis:
    return max((reading.sent_at for reading in readings), default=before)


def _is_past(check: Check, read_to: Millis) -> bool:
    """Whether a window that was not read to its end was read past all that can be the part: a chat's, oldest first."""
    return check.expected.route.thread_id is None and read_to > check.attempted_at + AFTER_ATTEMPT_MS
