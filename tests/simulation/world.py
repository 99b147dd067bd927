"""The truth about the chats: what was accepted, what can be read, and what the provider does with each request.

Nothing here belongs to a life. A request that has left its worker goes on whatever becomes of that worker, so a message
may appear long after a timeout, a pause or a kill.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from returns.decisions.document import Document
from returns.decisions.fingerprint import visible
from returns.ids import ChatId, MessageId, Millis, ThreadId
from returns.ports import (
    Accepted,
    Locator,
    Missing,
    NotPermitted,
    Reading,
    ReadOutcome,
    Refusal,
    Refused,
    Route,
    SendOutcome,
    Unknown,
    Unreachable,
    WindowOutcome,
    WindowPage,
)
from tests.simulation.loop import SimLoop

TIMEOUT_MS = 10_000
"""A request that was not answered by then has timed out for its caller."""

HOUR_MS = 3_600_000

LIES = ("chat", "sender", "thread", "parent", "text", "other")
"""What a reading can be wrong about; ``other`` shows another message in its stead."""


@dataclass
class Message:
    """A message that exists."""

    message_id: str
    chat: str
    thread: str | None
    parent: str | None
    text: str
    sent_at: int
    key: str | None = None
    """The idempotency key that it was sent with; None for what others wrote."""
    ours: bool = True
    recalled: bool = False
    deleted: bool = False
    readable_from: int = 0
    listed_from: int = 0


class Script:
    """What the provider does with the next request. This one always does its best; histories override it.

    A deed is a word and, after a colon, its argument: a delay in ms or the kind of a refusal or of a lie.
    """

    def send(self, key: str) -> str:
        """One of accept, lose, reset, no_id, slow:MS, late:MS, never, offline, limit:MS, refuse:REFUSAL."""
        return "accept"

    def read(self, message: Message | None) -> str:
        """One of ok, lie:LIE, unreachable, forbidden, missing, limit:MS."""
        return "ok"

    def page(self, chat: str) -> str:
        """The same words, for a page of a history; ``missing`` leaves the newest message out."""
        return "ok"

    def prepare(self) -> str:
        """One of ok, offline, limit:MS, refuse:REFUSAL."""
        return "ok"

    def latency_ms(self) -> int:
        """How long a request is on its way, each way."""
        return 5

    def hidden_ms(self, key: str) -> tuple[int, int]:
        """For how long a new message can neither be read nor listed."""
        return 0, 0


@dataclass
class World:
    """All chats of one app."""

    loop: SimLoop
    script: Script = field(default_factory=Script)
    dedup_ms: int = HOUR_MS
    """For so long an equal key gives the same message again; 0 is never."""
    page_size: int = 50
    offline_until: int = 0
    forbidden_until: int = 0
    """Reading is forbidden before this."""
    gone: set[str] = field(default_factory=set)
    """Chats and threads that are no more."""
    recalled_questions: set[str] = field(default_factory=set)
    threads: dict[str, str] = field(default_factory=dict)
    """By the message that each was begun on: replies to it stand there."""
    messages: list[Message] = field(default_factory=list)
    under_way: int = 0
    """Requests that may still be accepted."""
    accepted: Counter[str] = field(default_factory=Counter)
    """Accepted sends by their key, those that were recognised as repeated included."""
    on_accept: Callable[[Message, str], None] = lambda _message, _key: None
    note: Callable[[str], None] = lambda _text: None
    on_idle: Callable[[], None] = lambda: None
    _keys: dict[str, Message] = field(default_factory=dict)

    @property
    def now(self) -> int:
        """The provider's time."""
        return self.loop.now_ms()

    def find(self, message_id: str) -> Message | None:
        """The message, also one that was deleted."""
        return next((message for message in self.messages if message.message_id == message_id), None)

    def say(self, chat: str, text: str, **more: object) -> Message:
        """Another one's message, unless ``ours`` says otherwise."""
        fields: dict[str, object] = {"thread": None, "parent": None, "ours": False} | more
        message = Message(f"om_{len(self.messages)}", chat, text=text, sent_at=self.now, **fields)
        self.messages.append(message)
        return message

    def ask(self, question: str, chat: str, thread: str | None) -> None:
        """Somebody's question, which is there once."""
        if self.find(question) is None:
            self.messages.append(Message(question, chat, thread, None, "?", self.now, ours=False))

    def begin_thread(self, message: Message) -> None:
        """Somebody replies to a message in a thread of its own, where it stands in none."""
        if message.thread is None:
            message.thread = self.threads[message.message_id] = thread_on(message.message_id)

    def stands_in(self, message: Message) -> str | None:
        """The history that has the message: of what a thread was begun on, the chat's."""
        return None if message.message_id in self.threads else message.thread

    def send(self, route: Route, document: Document, key: str) -> asyncio.Future[SendOutcome]:
        """A request has left. Its answer comes, or does not."""
        answer: asyncio.Future[SendOutcome] = self.loop.create_future()
        deed, _, argument = self.script.send(key).partition(":")
        there, back = self.script.latency_ms(), self.script.latency_ms()
        if deed == "offline" or self.now < self.offline_until:
            self._answer_later(answer, there, Refused(Refusal.OFFLINE))
            return answer
        if deed == "never":
            self._answer_later(answer, TIMEOUT_MS, Unknown("timeout"))
            return answer
        delay = there
        if deed == "late":
            delay = int(argument)
            self._answer_later(answer, TIMEOUT_MS, Unknown("timeout"))
        elif deed == "slow":
            back = int(argument)
        self.under_way += 1
        self.loop.world_later(delay / 1000, self._arrive, answer, route, document, key, deed, argument, back)
        return answer

    def _arrive(
        self,
        answer: asyncio.Future[SendOutcome],
        route: Route,
        document: Document,
        key: str,
        deed: str,
        argument: str,
        back: int,
    ) -> None:
        self.under_way -= 1
        refused = self._refusal(route, deed, argument)
        if refused is not None:
            self.note(f"provider refuses {refused.refusal.value}")
            self._answer_later(answer, back, refused)
            self.on_idle()
            return
        message = self._accept(route, document, key)
        if deed in ("lose", "late"):
            self._answer_later(answer, TIMEOUT_MS, Unknown("timeout"))
        elif deed == "reset":
            self._answer_later(answer, back, Unknown("reset"))
        elif deed == "no_id":
            self._answer_later(answer, back, Unknown("no id", 0))
        else:
            self._answer_later(answer, back, Accepted(locator(message)))
        self.on_idle()

    def _refusal(self, route: Route, deed: str, argument: str) -> Refused | None:
        if deed == "limit":
            return Refused(Refusal.RATE_LIMITED, 230020, int(argument) or None)
        if deed == "refuse":
            return Refused(Refusal(argument))
        if route.chat_id in self.gone or route.thread_id in self.gone:
            return Refused(Refusal.ROUTE_GONE)
        if route.reply_to in self.recalled_questions:
            return Refused(Refusal.QUESTION_RECALLED)
        return None

    def _accept(self, route: Route, document: Document, key: str) -> Message:
        self.accepted[key] += 1
        known = self._keys.get(key)
        if known is not None and self.now - known.sent_at < self.dedup_ms:
            self.note(f"provider knows {known.message_id}")
            self.on_accept(known, key)
            return known
        unread, unlisted = self.script.hidden_ms(key)
        message = Message(
            f"om_{len(self.messages)}",
            route.chat_id,
            route.thread_id or self.threads.get(route.reply_to or ""),
            route.reply_to,
            visible(document),
            self.now,
            key,
            readable_from=self.now + unread,
            listed_from=self.now + unlisted,
        )
        self.messages.append(message)
        self._keys[key] = message
        self.note(f"provider accepts {message.message_id}")
        self.on_accept(message, key)
        return message

    def _answer_later(self, answer: asyncio.Future[SendOutcome], ms: int, outcome: SendOutcome) -> None:
        self.loop.world_later(ms / 1000, _answer, answer, outcome)

    def read(self, message_id: str) -> tuple[ReadOutcome, str]:
        """What a reading of this instant shows, and the deed that made it so."""
        message = self.find(message_id)
        deed, _, argument = self.script.read(message).partition(":")
        if self.now < self.offline_until or deed in ("unreachable", "limit"):
            return Unreachable(int(argument) if deed == "limit" else None), "unreachable"
        outside = message is not None and message.chat in self.gone
        if self.now < self.forbidden_until or deed == "forbidden" or outside:
            return NotPermitted(), "forbidden"
        if message is None or message.deleted or message.readable_from > self.now or deed == "missing":
            return Missing(), "missing"
        shown = reading(message)
        return (self._lie(shown, argument), "lie") if deed == "lie" else (shown, "ok")

    def page(self, route: Route, since: int, cursor: str | None) -> tuple[WindowOutcome, str]:
        """A page of this instant: of a chat oldest first, of a thread newest first, each message once."""
        deed, _, argument = self.script.page(route.chat_id).partition(":")
        if self.now < self.offline_until or deed in ("unreachable", "limit"):
            return Unreachable(int(argument) if deed == "limit" else None), "unreachable"
        if self.now < self.forbidden_until or deed == "forbidden" or route.chat_id in self.gone:
            return NotPermitted(), "forbidden"
        # A chat's history has the first messages of its threads too, but not what stands inside them.
        shown = [
            (number, message)
            for number, message in enumerate(self.messages)
            if message.chat == route.chat_id
            and (message.thread == route.thread_id or (route.thread_id is None and self.stands_in(message) is None))
            and message.sent_at >= since
            and not message.deleted
            and message.listed_from <= self.now
        ]
        if route.thread_id is not None:
            shown.reverse()
        if cursor is not None:
            at = int(cursor)
            shown = [(n, m) for n, m in shown if (n < at if route.thread_id is not None else n > at)]
        page, more = shown[: self.page_size], len(shown) > self.page_size
        readings = [reading(message) for _, message in page]
        if deed == "missing":
            readings = readings[:-1]
        if deed == "lie":
            readings = [self._lie(each, argument) if each.ours else each for each in readings]
        kind = deed if deed in ("lie", "missing") else "ok"
        return WindowPage(tuple(readings), str(page[-1][0]) if more else None), kind

    def _lie(self, shown: Reading, about: str) -> Reading:
        at = shown.locator
        match about:
            case "chat":
                return replace(shown, locator=replace(at, chat_id=ChatId("oc_elsewhere")))
            case "thread":
                # That no thread was begun meanwhile is no lie that anybody could see through.
                there_from_the_start = at.thread_id not in {None, *self.threads.values()}
                other = None if there_from_the_start else ThreadId("omt_elsewhere")
                return replace(shown, locator=replace(at, thread_id=other))
            case "parent":
                # In a thread the parent proves nothing, so a lie about it there is none.
                return replace(shown, parent_id=MessageId("om_elsewhere"))
            case "sender":
                return replace(shown, ours=False)
            case "text":
                return replace(shown, visible=shown.visible + "?")
            case "other":
                others = [message for message in self.messages if message.message_id != at.message_id]
                return reading(others[-1]) if others else replace(shown, ours=False)
            case _:
                raise ValueError(about)


def _answer(answer: asyncio.Future[SendOutcome], outcome: SendOutcome) -> None:
    if not answer.done():
        answer.set_result(outcome)


def thread_on(message_id: str) -> str:
    """The thread that is begun on a message."""
    return f"omt_on_{message_id}"


def locator(message: Message) -> Locator:
    """Where a message is."""
    return Locator(
        MessageId(message.message_id), ChatId(message.chat), ThreadId(message.thread) if message.thread else None
    )


def reading(message: Message) -> Reading:
    """A message as it is."""
    return Reading(
        locator(message),
        MessageId(message.parent) if message.parent else None,
        message.ours,
        message.recalled,
        Millis(message.sent_at),
        "" if message.recalled else message.text,
    )
