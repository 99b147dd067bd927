"""Where a reply landed: a thread may have been begun since the question was asked, on it or on the reply itself.

Lark puts a reply to a message that has a thread into that thread. A message that a thread was begun on is shown with
the thread's id, and stays in the chat's history, which has nothing else of a thread. A message that differs in its
thread alone is proved by reading that one of these is so.
(https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/thread-introduction)
"""

from __future__ import annotations

from dataclasses import replace

from returns.decisions.matching import judge, moved_to
from returns.delivery import Event
from returns.ledger.checks import Check, NotRead
from returns.ports import Locator, Reading, Route, WindowPage
from returns.service.question_thread import Gone, thread_of_question
from returns.service.tools import Tools
from returns.service.window import read_window

A_SECOND_MS = 1_000
"""Histories begin at whole seconds."""


async def judge_where_it_landed(tools: Tools, check: Check, locator: Locator, shown: Reading) -> Event | NotRead:
    """What reading the located message proves, as ``judge`` says it, also where a thread was begun meanwhile."""
    verdict, route = judge(shown, locator, check.expected), check.expected.route
    thread = moved_to(shown, locator, check.expected) if verdict is Event.MISMATCH else None
    if thread is None:
        return verdict
    asked_in = None if route.reply_to is None else await thread_of_question(tools, route, route.reply_to)
    if isinstance(asked_in, NotRead):
        return asked_in
    if asked_in == thread:
        return Event.PROVED
    # It answers the question. So the thread was begun on it, and the chat's history has it; or on the question, which
    # is the parent of all that stands there, and the thread's history has it, also when the question is gone.
    for place in (route, replace(route, thread_id=thread)) if isinstance(asked_in, Gone) else (route,):
        there = await _is_shown_by(tools, place, shown)
        if there is not False:
            return there if isinstance(there, NotRead) else Event.PROVED
    return Event.MISMATCH if check.began_at >= check.settled_at else Event.MISSING  # histories may be behind


async def _is_shown_by(tools: Tools, route: Route, shown: Reading) -> bool | NotRead:
    """Whether the route's history has the message just as it was shown."""
    seen: list[Reading] = []

    def look(page: WindowPage) -> bool:
        seen.extend(each for each in page.readings if each == shown)
        later = any(each.sent_at > shown.sent_at + A_SECOND_MS for each in page.readings)
        return bool(seen) or (route.thread_id is None and later)

    read = await read_window(tools, route, shown.sent_at, look)
    if isinstance(read, NotRead):
        return read
    if not seen and read.moment is not None:
        return NotRead("unreachable")
    return bool(seen)
