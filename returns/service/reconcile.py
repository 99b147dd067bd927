"""Looking for messages whose locators are not known: the whole window is read, or nothing is concluded from it.

The window begins a little before the attempt. What is not found there is looked for from the question on, because our
clock may have been wrong when the attempt was noted; and where a thread was begun on the question since, in that
thread, because Lark puts the replies to such a message into it. One reading serves all parts of a place.

Lark gives a chat's history by time, the oldest first, and a thread's only from its newest message on, so where a window
begins is the provider's matter; here only its end counts, because absence can be concluded from a complete reading
alone. (https://open.feishu.cn/document/server-docs/im-v1/message/list)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from returns.decisions.looks import is_stale
from returns.decisions.matching import Sieve
from returns.ids import MessageId, Millis, ThreadId
from returns.ledger.checks import AFTER_ATTEMPT_MS, Check, Found, NotRead
from returns.ledger.locators import owned
from returns.ports import Reading, Route, WindowPage
from returns.service.question_thread import Gone, thread_of_question
from returns.service.tools import Tools
from returns.service.window import ReadTo, read_window

MOST_EARLIER_PAGES: Final = 200
"""So many pages are read of what lies between a question and the window of its answer's attempt."""

QUESTIONS_AT_ONCE: Final = 8


async def search(tools: Tools, checks: Sequence[Check]) -> Sequence[Found | NotRead]:
    """For each part of one place, all messages in its window that could be it."""
    return await _Search(tools, checks, tools.clock.now()).run()


class _Search:
    """One search, on its way."""

    def __init__(self, tools: Tools, checks: Sequence[Check], began_at: Millis) -> None:
        self._tools = tools
        self._checks = checks
        self._began_at = began_at
        self._route: Route = checks[0].expected.route
        self._near = min(check.near for check in checks)
        self._sieve = Sieve([check.expected for check in checks])
        self._owned: frozenset[MessageId] = frozenset()
        self._unread: dict[MessageId | None, NotRead] = {}
        """By the question: why not all was read that could hold its answer."""

    async def run(self) -> Sequence[Found | NotRead]:
        read = await read_window(self._tools, self._route, self._near, self._sift)
        if isinstance(read, NotRead):
            return [read] * len(self._checks)
        await self._note_owned()
        unread = await self._look_earlier()
        if self._route.thread_id is None:
            await self._look_into_threads()
        unread = unread or await self._read_once_more()
        found = zip(self._checks, self._sieve.found(), strict=True)
        return [
            unread
            if unread is not None and self._counts(check, each)
            else self._result(check, Found(each, self._began_at), read)
            for check, each in found
        ]

    async def _note_owned(self) -> None:
        """What of it is other parts' already does not count as found."""
        found = {each.locator.message_id for readings in self._sieve.found() for each in readings}
        if found and any(self._began_at >= check.settled_at for check in self._checks):
            app = self._route.app
            self._owned |= await self._tools.transactions.read(lambda c: owned(c, app, found))

    def _sift(self, page: WindowPage) -> bool:
        self._sieve.add(page.readings, page.ahead_ms)
        return False

    def _sift_earlier(self, page: WindowPage) -> bool:
        self._sift(page)
        near = self._near - page.ahead_ms
        return self._route.thread_id is None and any(reading.sent_at >= near for reading in page.readings)

    def _missing(self) -> Sequence[Check]:
        """What was not found, though that counts by now."""
        found = zip(self._checks, self._sieve.found(), strict=True)
        return [check for check, each in found if self._counts(check, each)]

    def _counts(self, check: Check, found: Sequence[Reading]) -> bool:
        """Whether the part was not found, and late enough that this says something."""
        return self._began_at >= check.settled_at and not self._free(found)

    def _free(self, found: Sequence[Reading]) -> bool:
        """Whether something was found that could be the part."""
        return any(not each.recalled and each.locator.message_id not in self._owned for each in found)

    async def _look_earlier(self) -> NotRead | None:
        """As far as it is worth it; why it could not be read."""
        since = min((check.expected.since for check in self._missing()), default=self._near)
        if since >= self._near:
            return None
        read = await read_window(self._tools, self._route, since, self._sift_earlier, MOST_EARLIER_PAGES)
        await self._note_owned()
        return read if isinstance(read, NotRead) else None

    async def _read_once_more(self) -> NotRead | None:
        """After a long search, what came in its time is read, too; why it could not be."""
        if not self._missing() or not is_stale(self._began_at, self._tools.clock.now()):
            return None
        read = await read_window(self._tools, self._route, self._near, self._sift)
        await self._note_owned()
        return read if isinstance(read, NotRead) else None

    async def _look_into_threads(self) -> None:
        unseen = {check.expected.route.reply_to for check in self._missing()} - self._sieve.seen() - {None}
        threads = dict(self._sieve.threads())
        await self._read_questions(deque(unseen), threads)
        since = min(check.expected.since for check in self._checks)
        for question, thread in threads.items():
            read = await read_window(self._tools, replace(self._route, thread_id=thread), since, self._sift)
            if isinstance(read, NotRead) or read.moment is not None:
                self._unread[question] = read if isinstance(read, NotRead) else NotRead("unreachable")
        if threads:
            await self._note_owned()

    async def _read_questions(self, unseen: deque[MessageId | None], threads: dict[MessageId, ThreadId]) -> None:
        async def read_on() -> None:
            while unseen and (question := unseen.popleft()) is not None:
                thread = await thread_of_question(self._tools, self._route, question)
                if isinstance(thread, NotRead):
                    self._unread[question] = thread
                elif isinstance(thread, Gone):
                    self._unread[question] = NotRead("question_gone", for_good=True)
                elif thread is not None:
                    threads[question] = thread

        async with asyncio.TaskGroup() as group:
            for _ in range(min(QUESTIONS_AT_ONCE, len(unseen))):
                group.create_task(read_on())

    def _result(self, check: Check, found: Found, read: ReadTo) -> Found | NotRead:
        if read.moment is not None and not _is_past(check, read.moment):
            return NotRead("unreachable")
        unread = self._unread.get(check.expected.route.reply_to)
        if unread is None or (unread.for_good and not self._counts(check, found.candidates)):
            return found
        return unread


def _is_past(check: Check, read_to: Millis) -> bool:
    """Whether a window that was not read to its end was read past all that can be the part: a chat's, oldest first."""
    return check.expected.route.thread_id is None and read_to > check.attempted_at + AFTER_ATTEMPT_MS
