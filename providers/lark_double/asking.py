"""Asking a Lark: what a person would see, how often apps sent and read, what was pushed, and waiting for any of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from providers.lark_double.content import plain
from providers.lark_double.core import AppRef, ChatRef, Core, MessageRef
from providers.lark_double.journal import Entry
from providers.lark_double.model import Author, Message, Reaction, SenderKind
from providers.lark_double.operations import READS, SENDS
from providers.lark_double.pusher import Push
from providers.lark_double.wire import Json

T = TypeVar("T")
WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Visible:
    """A message as a person sees it in a chat."""

    message_id: str
    sender: str
    """The app's id, or the person's key."""
    by_app: bool
    msg_type: str
    text: str
    """What a person reads, mentions by name; empty when it was recalled."""
    content: str
    thread_id: str | None
    parent_id: str | None
    recalled: bool
    edited: bool
    create_time: int

    def as_json(self) -> Json:
        """The message as an object."""
        return {
            "message_id": self.message_id,
            "sender": self.sender,
            "by_app": self.by_app,
            "msg_type": self.msg_type,
            "text": self.text,
            "content": self.content,
            "thread_id": self.thread_id,
            "parent_id": self.parent_id,
            "recalled": self.recalled,
            "edited": self.edited,
            "create_time": self.create_time,
        }


class Asking(Core):
    """The judge."""

    def visible(self, chat: ChatRef, *, by_app: bool | None = None, sender: str | None = None) -> list[Visible]:
        """The messages of a chat in the order of their writing, threads included; recalled ones are marked."""
        ids = self.world.in_chat.get(self.chat_of(chat).chat_id, [])
        shown = [self._visible(self.world.messages[message_id]) for message_id in ids]
        return [seen for seen in shown if by_app in (None, seen.by_app) and sender in (None, seen.sender)]

    def replies(self, message: MessageRef) -> list[Visible]:
        """What apps visibly answered to one message, recalled ones left out."""
        asked = self.message_of(message)
        return [
            seen
            for seen in self.visible(asked.chat_id, by_app=True)
            if seen.parent_id == asked.message_id and not seen.recalled
        ]

    def reactions(self, message: MessageRef, *, app: AppRef | None = None) -> list[Reaction]:
        """The reactions on a message, an app's only if asked."""
        of = self.message_of(message).message_id
        author = None if app is None else Author(SenderKind.APP, self.app_of(app).app_id)
        found = self.world.reactions.values()
        return [reaction for reaction in found if reaction.message_id == of and author in (None, reaction.author)]

    def requests(
        self,
        operations: Iterable[str] | str = (),
        *,
        app: AppRef | None = None,
        chat: ChatRef | None = None,
        committed: bool | None = None,
        message_id: str | None = None,
    ) -> list[Entry]:
        """The journal's entries that match, in order."""
        names = {operations} if isinstance(operations, str) else set(operations)
        return self.journal.of(
            frozenset(names),
            app_id=None if app is None else self.app_of(app).app_id,
            chat_id=None if chat is None else self.chat_of(chat).chat_id,
            committed=committed,
            message_id=message_id,
        )

    def sends(
        self, chat: ChatRef | None = None, *, app: AppRef | None = None, committed: bool | None = None
    ) -> list[Entry]:
        """Every request to send or reply, whatever became of it."""
        return self.requests(SENDS, app=app, chat=chat, committed=committed)

    def reads(self, chat: ChatRef | None = None, *, app: AppRef | None = None) -> list[Entry]:
        """Every request to read a message or a history."""
        return self.requests(READS, app=app, chat=chat)

    def pushes(
        self,
        app: AppRef | None = None,
        *,
        event_type: str | None = None,
        message_id: str | None = None,
        state: str | None = None,
    ) -> list[Push]:
        """The pushed events that match, in order."""
        app_id = None if app is None else self.app_of(app).app_id
        return [
            push
            for push in self.pusher.pushes.values()
            if app_id in (None, push.app_id)
            and event_type in (None, push.event_type)
            and message_id in (None, push.message_id)
            and state in (None, push.state)
        ]

    async def wait_for(self, look: Callable[[], T], timeout_s: float = WAIT_S, what: str = "") -> T:
        """What ``look`` returns as soon as it is true, woken by every change. Raises ``changes.NotSeen``."""
        return await self.changes.until(look, timeout_s, what)

    async def wait_visible(
        self, chat: ChatRef, count: int = 1, *, timeout_s: float = WAIT_S, by_app: bool | None = True
    ) -> list[Visible]:
        """The chat's messages (by apps, unless asked otherwise) once there are ``count`` of them, recalled ones not."""

        def enough() -> list[Visible]:
            seen = [message for message in self.visible(chat, by_app=by_app) if not message.recalled]
            return seen if len(seen) >= count else []

        return await self.wait_for(enough, timeout_s, f"{count} messages")

    async def wait_request(
        self,
        operations: Iterable[str] | str,
        count: int = 1,
        *,
        chat: ChatRef | None = None,
        finished: bool = True,
        timeout_s: float = WAIT_S,
    ) -> list[Entry]:
        """The requests of these operations once there are ``count`` (answered ones, unless asked otherwise)."""
        names = {operations} if isinstance(operations, str) else set(operations)

        def enough() -> list[Entry]:
            found = self.requests(names, chat=chat)
            found = [entry for entry in found if not finished or entry.status is not None]
            return found if len(found) >= count else []

        return await self.wait_for(enough, timeout_s, f"{count} requests of {sorted(names)}")

    async def wait_held(self, fault_id: str, count: int = 1, *, timeout_s: float = WAIT_S) -> int:
        """How many requests wait at a fault, once there are ``count``."""

        def enough() -> int:
            fault = self.faults.armed.get(fault_id)
            held = 0 if fault is None else len(fault.held)
            return held if held >= count else 0

        return await self.wait_for(enough, timeout_s, f"{count} held requests")

    async def wait_pushed(self, push: Push, *, attempts: int = 1, timeout_s: float = WAIT_S) -> Push:
        """The push once it was attempted ``attempts`` times or is over."""

        def enough() -> Push | None:
            over = push.state in {"delivered", "exhausted", "unsent"}
            return push if over or len(push.attempts) >= attempts else None

        await self.wait_for(enough, timeout_s, f"{attempts} attempts")
        return push

    def dump(self) -> Json:
        """Everything that there is, as an object."""
        return {
            "now": self.clock.now(),
            "apps": [
                {"app_id": app.app_id, "name": app.name, "open_id": app.open_id, "webhook_url": app.webhook_url}
                for app in self.world.apps.values()
            ],
            "chats": [self.chat_json(chat.chat_id) for chat in self.world.chats.values()],
            "journal": [entry.as_json() for entry in self.journal.entries],
            "pushes": [push.as_json() for push in self.pusher.pushes.values()],
        }

    def chat_json(self, ref: ChatRef) -> Json:
        """A chat and its messages, as an object."""
        chat = self.chat_of(ref)
        return {
            "chat_id": chat.chat_id,
            "name": chat.name,
            "mode": chat.mode.value,
            "form": chat.form.value,
            "external": chat.external,
            "dissolved": chat.dissolved,
            "people": list(chat.people),
            "bots": list(chat.bots),
            "messages": [seen.as_json() for seen in self.visible(chat)],
        }

    def _visible(self, message: Message) -> Visible:
        words = "" if message.recalled or message.deleted else plain(message.msg_type, message.content)
        for mention in reversed(message.mentions):
            words = words.replace(mention.key, f"@{mention.name}")
        return Visible(
            message_id=message.message_id,
            sender=message.author.key,
            by_app=message.author.kind is SenderKind.APP,
            msg_type=message.msg_type,
            text=words,
            content=message.content,
            thread_id=message.thread_id,
            parent_id=message.parent_id,
            recalled=message.recalled or message.deleted,
            edited=message.updated,
            create_time=message.create_time,
        )
