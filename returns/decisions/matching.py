"""Is this message our part? Pure comparisons of what was read with what was committed.

A message is the part only if everything agrees: ours, the chat, the thread, outside threads the parent, and what a
person reads. Inside a thread a provider may name the thread's root as the parent, so it is not compared there.

A thread can be begun after the question was asked: on the question, and Lark puts the replies to it into that thread;
or on the answer itself. The answer to a question that was asked outside threads is therefore its reply wherever a
search finds it; what proves it is read with the message (``moved_to``).
(https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/thread-introduction)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final, TypeAlias

from returns.decisions.fingerprint import fingerprint
from returns.delivery import Event
from returns.ids import MessageId, Millis, ThreadId
from returns.ports import Locator, Reading, Route


@dataclass(frozen=True, slots=True)
class Expected:
    """What a part must look like. Private."""

    route: Route
    """With ``reply_to`` as the attempt used it."""
    fingerprint: str
    since: Millis
    """Nothing that was sent before this can be it, by our clock."""


@dataclass(frozen=True, slots=True)
class One:
    """Exactly one message is the part."""

    locator: Locator
    sent_at: Millis


@dataclass(frozen=True, slots=True)
class Several:
    """More than one could be it; reading cannot tell which."""

    count: int


@dataclass(frozen=True, slots=True)
class OnlyRecalled:
    """None is it, but one of ours at that place was recalled and can no longer be compared."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """None could be it."""


_STAYS_WHEN_RECALLED: Final = frozenset({"message", "sender", "chat"})

Match: TypeAlias = One | Several | OnlyRecalled | Nothing


def same_place(reading: Reading, route: Route) -> bool:
    """Whether the message is ours and stands where a search along the route looks for it."""
    if not reading.ours or reading.locator.chat_id != route.chat_id:
        return False
    if route.thread_id is not None:
        return reading.locator.thread_id == route.thread_id
    return reading.parent_id == route.reply_to


def judge(reading: Reading, locator: Locator, expected: Expected) -> Event:
    """What reading the located message proves: ``PROVED``, ``RECALLED`` or ``MISMATCH``.

    Of a recalled message the content is gone; it is the part all the same, unless it is another's or in another chat.
    """
    differs = differences(reading, locator, expected)
    if reading.recalled and _STAYS_WHEN_RECALLED.isdisjoint(differs):
        return Event.RECALLED
    return Event.MISMATCH if differs else Event.PROVED


def differences(reading: Reading, locator: Locator, expected: Expected) -> tuple[str, ...]:
    """In what a message that was read is not the part, in words that reveal nothing of either."""
    route = expected.route
    agreements = {
        "message": reading.locator.message_id == locator.message_id,
        "sender": reading.ours,
        "chat": reading.locator.chat_id == route.chat_id,
        "thread": reading.locator.thread_id == route.thread_id,
        "parent": route.thread_id is not None or reading.parent_id == route.reply_to,
        "content": reading.recalled or fingerprint(reading.visible) == expected.fingerprint,
    }
    return tuple(name for name, agrees in agreements.items() if not agrees)


def moved_to(reading: Reading, locator: Locator, expected: Expected) -> ThreadId | None:
    """The thread in which a message stands that was sent outside threads, if nothing else speaks against it.

    What proves it: the question stands in that thread too, or the thread was begun on the message.
    """
    if expected.route.thread_id is not None or reading.recalled:
        return None
    return reading.locator.thread_id if differences(reading, locator, expected) == ("thread",) else None


def candidates(readings: Iterable[Reading], expected: Expected) -> tuple[Reading, ...]:
    """The messages that could be the part, each once: live ones with its content, and recalled ones without any."""
    found: dict[MessageId, Reading] = {}
    for reading in readings:
        if reading.sent_at < expected.since or not same_place(reading, expected.route):
            continue
        if reading.recalled or fingerprint(reading.visible) == expected.fingerprint:
            found[reading.locator.message_id] = reading
    return tuple(found.values())


class Sieve:
    """Finds what ``candidates`` would find, for many parts of one chat or thread at once.

    Each message is compared by its digest alone, so that its cost does not grow with the number of the parts.
    """

    __slots__ = ("_ahead_ms", "_expected", "_kept", "_parents", "_seen", "_since", "_threads", "_wanted")

    def __init__(self, expected: Sequence[Expected]) -> None:
        """All of them have the same app, chat and thread."""
        self._expected = tuple(expected)
        self._wanted = {(_parent(each.route), each.fingerprint) for each in expected}
        self._parents = {_parent(each.route) for each in expected}
        self._since = min((each.since for each in expected), default=Millis(0))
        self._ahead_ms = 0
        self._seen: set[MessageId] = set()
        self._threads: dict[MessageId, ThreadId] = {}
        self._kept: dict[MessageId, tuple[MessageId | None, str | None, Reading]] = {}

    def add(self, readings: Iterable[Reading], ahead_ms: int = 0) -> None:
        """Keep those of a page that could be one of the parts; our clock is so much ahead of the messages' moments."""
        self._ahead_ms = ahead_ms
        since = self._since - ahead_ms
        for reading in readings:
            self._note_question(reading.locator)
            parent = _parent_in(reading, self._expected[0].route)
            if reading.sent_at < since or not self._stands_here(reading) or parent not in self._parents:
                continue
            content = None if reading.recalled else fingerprint(reading.visible)
            if content is None or (parent, content) in self._wanted:
                self._kept[reading.locator.message_id] = (parent, content, reading)

    def seen(self) -> Set[MessageId]:
        """The questions that stood on the pages."""
        return self._seen

    def threads(self) -> Mapping[MessageId, ThreadId]:
        """The questions that a thread was begun on: replies to them stand in it. From the pages that were added."""
        return self._threads

    def found(self) -> Sequence[Sequence[Reading]]:
        """For each of the parts, in their order, the messages that could be it."""
        groups: dict[tuple[MessageId | None, str | None], list[Reading]] = {}
        for parent, content, reading in self._kept.values():
            groups.setdefault((parent, content), []).append(reading)
        return [self._of(each, groups) for each in self._expected]

    def _of(
        self, expected: Expected, groups: Mapping[tuple[MessageId | None, str | None], Sequence[Reading]]
    ) -> Sequence[Reading]:
        parent = _parent(expected.route)
        of_it = (*groups.get((parent, expected.fingerprint), ()), *groups.get((parent, None), ()))
        return [reading for reading in of_it if reading.sent_at >= expected.since - self._ahead_ms]

    def _note_question(self, at: Locator) -> None:
        if at.message_id not in self._parents:
            return
        self._seen.add(at.message_id)
        if at.thread_id is not None:
            self._threads[at.message_id] = at.thread_id

    def _stands_here(self, reading: Reading) -> bool:
        route, at = self._expected[0].route, reading.locator
        return reading.ours and at.chat_id == route.chat_id and route.thread_id in (None, at.thread_id)


def _parent(route: Route) -> MessageId | None:
    """What the parent of a message along the route is compared with; in a thread, nothing."""
    return None if route.thread_id is not None else route.reply_to


def _parent_in(reading: Reading, route: Route) -> MessageId | None:
    """The parent of a message, as far as it is compared in the place of the route."""
    return None if route.thread_id is not None else reading.parent_id


def match(found: Iterable[Reading], owned: Set[MessageId]) -> Match:
    """Decide among ``candidates`` of a complete window; ``owned`` are the messages that other parts own.

    A recalled message shows a fixed text instead of its own, so it can neither be the one that is found nor rule out
    that the part was sent: it is reported only when there is no live one.
    """
    free = [reading for reading in found if reading.locator.message_id not in owned]
    live = [reading for reading in free if not reading.recalled]
    if len(live) > 1:
        return Several(len(live))
    if live:
        return One(live[0].locator, live[0].sent_at)
    return OnlyRecalled() if free else Nothing()
