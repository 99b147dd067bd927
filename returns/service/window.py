"""Reading a window of a chat's or a thread's history, page by page, each with a permit of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from returns.ids import Millis
from returns.ledger.checks import NotRead
from returns.ports import Api, Call, NotPermitted, Route, Unreachable, WindowPage
from returns.service.tools import Tools
from returns.service.unreached import unreached

MOST_PAGES = 2000
"""So many pages are read of one window. Of a chat's, that is enough for what was attempted well before its end."""


@dataclass(frozen=True, slots=True)
class ReadTo:
    """The window was read."""

    moment: Millis | None
    """Only to here, by the provider's clock; None is to its end, or as far as was wanted."""


Take: TypeAlias = Callable[[WindowPage], bool]
"""Is given each page; True when no more are wanted."""


async def read_window(
    tools: Tools, route: Route, since: Millis, take: Take, most: int = MOST_PAGES
) -> ReadTo | NotRead:
    """Read the route's chat, or its thread, from ``since`` on, which is by our clock."""
    cursor: str | None = None
    read_to = since
    ahead_ms: int | None = None
    for _ in range(most):
        async with tools.turn(Call(route.app, Api.LISTS)) as turn:
            await turn.begin()
            page = await tools.provider.list_window(route, since, cursor)
        match page:
            case WindowPage(ahead_ms=shown_ms) if ahead_ms not in (None, shown_ms):
                return NotRead("unreachable")  # the pages before this one began too late
            case WindowPage(readings, cursor, ahead_ms):
                if take(page) or cursor is None:
                    return ReadTo(None)
                read_to = max((reading.sent_at for reading in readings), default=read_to)
            case NotPermitted():
                return NotRead("not_permitted")
            case Unreachable():
                return await unreached(tools, route.app, Api.LISTS, page)
            case _:
                assert_never(page)
    return ReadTo(read_to)
