"""The provider as a value: one chat and what became of each send, so that an exploration can go back to any moment."""

from __future__ import annotations

from dataclasses import dataclass, replace

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

REFUSALS = {
    "refuse": Refused(Refusal.NOT_ALLOWED),
    "limit": Refused(Refusal.RATE_LIMITED, retry_after_ms=2_000),
    "offline": Refused(Refusal.OFFLINE),
    "question gone": Refused(Refusal.QUESTION_RECALLED, 230011),
}
"""What is definitely not accepted, by the deed's name."""

SOON_MS = 2_000
"""Later than its answer, and before it is given up as not to be found."""
TOO_LATE_MS = 7_000
"""After that."""

SLOW_MS = 8_000
"""Longer than a lease."""

QUESTION = MessageId("om_q")
BEGUN_ON_IT = ThreadId("omt_on_it")

LATENESS = {"late": SOON_MS, "very late": TOO_LATE_MS, "hidden": SOON_MS, "long hidden": TOO_LATE_MS}


@dataclass(frozen=True, slots=True)
class Message:
    """A message of ours."""

    number: int
    route: Route
    text: str
    there_at: int
    """When it is accepted; a send may outlive its caller."""
    listed_at: int
    """From when on searches show it."""
    thread: ThreadId | None = None
    """Where it stands, or what was begun on it."""
    recalled: bool = False


@dataclass(frozen=True, slots=True)
class Chat:
    """All that the provider knows, and what the oracles need to know of it."""

    messages: tuple[Message, ...] = ()
    sends: int = 0
    """Requests that reached it, refused ones too."""
    shown: frozenset[int] = frozenset()
    """Messages that a reading showed as they are, before they were recalled."""
    asked_at: int = 0
    thread: ThreadId | None = None
    """Begun on the question."""

    def send(self, deed: str, route: Route, document: object, now: int) -> tuple[Chat, SendOutcome]:
        """A request arrives; what is answered."""
        after = replace(self, sends=self.sends + 1)
        if deed in REFUSALS:
            return after, REFUSALS[deed]
        if deed == "never":
            return after, Unknown("timeout")
        late = LATENESS.get(deed, 0)
        there_at = now + late if deed in {"late", "very late"} else now
        thread = route.thread_id or self.thread
        message = Message(len(self.messages), route, visible(document), there_at, now + late, thread)
        after = replace(after, messages=(*self.messages, message))
        if deed in {"lose", "late", "very late", "hidden", "long hidden"}:
            return after, Unknown("timeout")
        if deed == "no id":
            return after, Unknown("no_message_id", 0)
        return after, Accepted(locator(message))

    def read(self, deed: str, at: Locator, now: int) -> tuple[Chat, ReadOutcome]:
        """A message is read."""
        if deed == "unreachable":
            return self, Unreachable()
        if deed == "forbidden":
            return self, NotPermitted(1)
        if at.message_id == QUESTION:
            return self, Missing() if deed == "missing" else self._question(at.chat_id)
        found = [each for each in self.messages if message_id(each) == at.message_id and each.there_at <= now]
        if deed == "missing" or not found:
            return self, Missing()
        shown = reading(found[0])
        if deed != "ok":
            return self, lie(shown, deed)
        if found[0].recalled:
            return self, shown
        return replace(self, shown=self.shown | {found[0].number}), shown

    def page(self, deed: str, route: Route, since: int, now: int) -> WindowOutcome:
        """The whole history of the chat, or of a thread in it, in one page."""
        if deed == "unreachable":
            return Unreachable()
        if deed == "forbidden":
            return NotPermitted(1)
        there = [each for each in self.messages if max(each.there_at, each.listed_at) <= now]
        shown = [reading(each) for each in there if route.thread_id in (each.thread, self._history(each))]
        if deed == "missing":
            shown = []
        elif deed != "ok":
            shown = [lie(each, deed) for each in shown]
        if route.thread_id in (None, self.thread):
            shown.insert(0, self._question(route.chat_id))
        return WindowPage(tuple(each for each in shown if each.sent_at >= since), None)

    def _history(self, message: Message) -> ThreadId | None:
        """The one that has the message: of what a thread was begun on, the chat's."""
        return None if message.thread == BEGUN_ON_IT else message.thread

    def _question(self, chat: ChatId) -> Reading:
        return Reading(Locator(QUESTION, chat, self.thread), None, False, False, Millis(self.asked_at), "?")

    def begin_thread(self) -> Chat:
        """Somebody begins a thread on the question."""
        return replace(self, thread=ThreadId("omt_asked"))

    def begin_thread_on_it(self) -> Chat:
        """Somebody begins one on the answer."""
        return replace(self, messages=tuple(replace(each, thread=BEGUN_ON_IT) for each in self.messages))

    def recall(self) -> Chat:
        """Somebody recalls what is there."""
        return replace(self, messages=tuple(replace(each, recalled=True) for each in self.messages))


def message_id(message: Message) -> MessageId:
    """Its id."""
    return MessageId(f"om_{message.number}")


def locator(message: Message) -> Locator:
    """Where it is."""
    return Locator(message_id(message), message.route.chat_id, message.thread)


def reading(message: Message) -> Reading:
    """As it is."""
    text = "" if message.recalled else message.text
    return Reading(locator(message), message.route.reply_to, True, message.recalled, Millis(message.there_at), text)


def lie(shown: Reading, about: str) -> Reading:
    """Not as it is."""
    at = shown.locator
    match about:
        case "chat":
            return replace(shown, locator=replace(at, chat_id=ChatId("oc_elsewhere")))
        case "thread":
            return replace(shown, locator=replace(at, thread_id=ThreadId("omt_elsewhere")))
        case "sender":
            return replace(shown, ours=False)
        case "text":
            return replace(shown, visible=shown.visible + "?")
        case _:
            raise ValueError(about)
