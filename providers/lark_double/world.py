"""Everything that there is, and who knows whom under which id. No I/O."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import TypeAlias

from providers.lark_double.changes import Changes
from providers.lark_double.clock import DoubleClock
from providers.lark_double.content import Who
from providers.lark_double.happenings import Happening
from providers.lark_double.ids import NewId, open_id
from providers.lark_double.model import (
    App,
    Author,
    Chat,
    ChatForm,
    ChatMode,
    Knobs,
    Message,
    Person,
    Reaction,
    SenderKind,
)

TENANT = "7365a1b2c3d4e5f6"
OTHER_TENANT = "9b1f0c2d3e4a5b6c"


Moment: TypeAlias = tuple[int, int, str]
"""When a message was written: milliseconds, the order of writing, and its id."""


class Unknown(Exception):
    """The control API was asked for something that is not there."""

    code = "not_found"


class World:
    """Apps, people, chats and messages."""

    def __init__(self, clock: DoubleClock, new_id: NewId, knobs: Knobs, changes: Changes) -> None:
        self.clock = clock
        self.new_id = new_id
        self.knobs = knobs
        self.changes = changes
        self.apps: dict[str, App] = {}
        self.people: dict[str, Person] = {}
        self.chats: dict[str, Chat] = {}
        self.messages: dict[str, Message] = {}
        self.in_chat: dict[str, list[str]] = {}
        """Message ids of a chat in the order of their writing."""
        self.thread_roots: dict[str, str] = {}
        self.timelines: dict[str, list[Moment]] = {}
        """What a history shows of a chat (no replies in threads) or of a thread, by time."""
        self.reactions: dict[str, Reaction] = {}
        self.reaction_by: dict[tuple[str, Author, str], str] = {}
        """The reaction of somebody with an emoji on a message."""
        self.listeners: list[Callable[[Happening], None]] = []
        self._known: dict[str, tuple[str, Author]] = {}
        self._written = 0

    def next_order(self) -> int:
        """The next number in the order of writing."""
        self._written += 1
        return self._written

    def happen(self, happening: Happening) -> None:
        """Tell everybody who listens, and wake who waits."""
        for listener in self.listeners:
            listener(happening)
        self.changes.ring()

    def add_app(self, app: App) -> App:
        """Register an app; its ids of everybody are known from now on."""
        self.apps[app.app_id] = app
        for key in self.people:
            self._know(app.app_id, Author(SenderKind.PERSON, key))
        for other in self.apps:
            self._know(app.app_id, Author(SenderKind.APP, other))
            self._know(other, Author(SenderKind.APP, app.app_id))
        return app

    def add_person(self, key: str, name: str | None = None, *, tenant_key: str = TENANT) -> Person:
        """Somebody by a key of the test's choosing; the same key is the same person."""
        if key in self.people:
            return self.people[key]
        mine = open_id("", key)[3:]
        person = Person(key, name or key, f"on_{mine}", mine[:8], tenant_key)
        self.people[key] = person
        for app_id in self.apps:
            self._know(app_id, Author(SenderKind.PERSON, key))
        return person

    def add_chat(self, chat: Chat) -> Chat:
        """Register a chat."""
        self.chats[chat.chat_id] = chat
        self.in_chat.setdefault(chat.chat_id, [])
        return chat

    def app(self, app_id: str) -> App:
        """The app, or ``Unknown``."""
        if app_id not in self.apps:
            raise Unknown(f"there is no app {app_id}")
        return self.apps[app_id]

    def chat(self, ref: str) -> Chat:
        """A chat by its id or its name (the newest of that name), or ``Unknown``."""
        if ref in self.chats:
            return self.chats[ref]
        named = [chat for chat in self.chats.values() if chat.name == ref]
        if not named:
            raise Unknown(f"there is no chat {ref}")
        return named[-1]

    def message(self, message_id: str) -> Message:
        """The message, or ``Unknown``."""
        if message_id not in self.messages:
            raise Unknown(f"there is no message {message_id}")
        return self.messages[message_id]

    def private_chat(self, app_id: str, person: str) -> Chat:
        """The chat of a person with a bot; begins when it is first asked for."""
        for chat in self.chats.values():
            if chat.mode is ChatMode.P2P and chat.bots == [app_id] and chat.people == [person]:
                return chat
        return self.add_chat(
            Chat(
                chat_id=self.new_id("oc_"),
                name=f"{person} and {self.app(app_id).name}",
                mode=ChatMode.P2P,
                form=ChatForm.CHAT,
                external=False,
                people=[person],
                bots=[app_id],
                owner=None,
                created_at=self.clock.now(),
            )
        )

    def keep(self, message: Message) -> None:
        """Put a new message where it belongs."""
        self.messages[message.message_id] = message
        self.in_chat.setdefault(message.chat_id, []).append(message.message_id)
        moment = (message.create_time, message.order, message.message_id)
        if message.thread_id is None or self.thread_roots[message.thread_id] == message.message_id:
            insort(self.timelines.setdefault(message.chat_id, []), moment)
        if message.thread_id is not None:
            insort(self.timelines.setdefault(message.thread_id, []), moment)

    def begin_thread(self, root: Message) -> str:
        """A thread under a message that is there already."""
        root.thread_id = self.new_id("omt_")
        self.thread_roots[root.thread_id] = root.message_id
        self.timelines[root.thread_id] = [(root.create_time, root.order, root.message_id)]
        return root.thread_id

    def forget(self, chat_id: str) -> None:
        """A chat and its messages are not there any more."""
        del self.chats[chat_id]
        for message_id in self.in_chat.pop(chat_id, []):
            thread_id = self.messages.pop(message_id).thread_id
            self.timelines.pop(thread_id or chat_id, None)
        self.timelines.pop(chat_id, None)

    def name_of(self, author: Author) -> str:
        """The name that others see."""
        return self.people[author.key].name if author.kind is SenderKind.PERSON else self.apps[author.key].name

    def known_as(self, app_id: str, author: Author) -> str:
        """The open_id under which an app knows somebody."""
        return open_id(app_id, _key(author))

    def who(self, app_id: str) -> Who:
        """Finds people and bots by the ids that this app may use: open_id, union_id, user_id."""

        def find(user_id: str) -> tuple[Author, str] | None:
            author = self.find(app_id, user_id)
            return None if author is None else (author, self.name_of(author))

        return find

    def find(self, app_id: str, user_id: str) -> Author | None:
        """Whoever this app knows under ``user_id``, or None."""
        owner, author = self._known.get(user_id, ("", None))
        if author is not None:
            return author if owner == app_id else None
        for person in self.people.values():
            if user_id in (person.union_id, person.user_id):
                return Author(SenderKind.PERSON, person.key)
        return None

    def belongs_to_another_app(self, app_id: str, user_id: str) -> bool:
        """Whether it is an open_id of somebody, as another app knows them."""
        return user_id in self._known and self._known[user_id][0] != app_id

    def _know(self, app_id: str, author: Author) -> None:
        self._known[open_id(app_id, _key(author))] = (app_id, author)


def _key(author: Author) -> str:
    return f"{author.kind.value}:{author.key}"
