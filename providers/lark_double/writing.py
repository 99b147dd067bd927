"""Being people who write, edit, recall and react, and bots that write without the API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from providers.lark_double import messages
from providers.lark_double.core import Alteration, AppRef, ChatRef, Core, MessageRef
from providers.lark_double.happenings import RecallType
from providers.lark_double.messages import Draft
from providers.lark_double.model import Author, Mention, Message, Person, Reaction, SenderKind
from providers.lark_double.routes_reactions import react, unreact
from providers.lark_double.wire import Json, compact
from providers.lark_double.world import OTHER_TENANT, TENANT, Unknown

_NAMED = re.compile(r"@\{([^{}]+)\}")


class Writing(Core):
    """What somebody at a keyboard would do."""

    def add_person(self, key: str, name: str | None = None, *, outside: bool = False) -> Person:
        """Somebody, by a key of one's choosing; ``outside`` puts them into another tenant."""
        return self.world.add_person(key, name, tenant_key=OTHER_TENANT if outside else TENANT)

    def say(
        self,
        chat: ChatRef,
        person: str,
        text: str,
        *,
        mention: Sequence[str] = (),
        mention_all: str | None = None,
        reply_to: MessageRef | None = None,
        in_thread: bool = False,
        at: int | None = None,
        drop: Sequence[str] = (),
        put: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        silent: bool = False,
    ) -> Message:
        """A person writes text.

        ``mention`` names bots (app ids) and people (keys) before the text; ``@{key}`` names one inside it.
        ``mention_all`` is ``"text"`` (only ``@_all`` in the text) or ``"entry"`` (a mention without ids as well).
        ``reply_to`` answers a message; ``in_thread`` begins a thread there. ``at`` (ms) makes it an older message.
        ``drop``, ``put`` and ``headers`` alter the event; ``silent`` loses it.
        """
        named: list[Mention] = []
        words = "".join(f"{self._key(who, named)} " for who in mention)
        if mention_all is not None:
            words += "@_all "
        words += _NAMED.sub(lambda found: self._key(found[1], named), text)
        if mention_all == "entry":
            named.append(Mention("@_all", None, "all"))
        content = compact({"text": words})
        draft = Draft("text", content, content, tuple(named), at=at)
        alteration = Alteration(tuple(drop), dict(put or {}), dict(headers or {}), silent)
        return self._write(chat, person, draft, reply_to, in_thread=in_thread, alteration=alteration)

    def say_post(
        self,
        chat: ChatRef,
        person: str,
        paragraphs: Sequence[Sequence[Json]],
        *,
        title: str = "",
        reply_to: MessageRef | None = None,
        in_thread: bool = False,
        at: int | None = None,
    ) -> Message:
        """A person writes a post; an ``at`` node's ``user_id`` is a key or an app id."""
        named: list[Mention] = []
        shown = [[self._post_node(node, named) for node in paragraph] for paragraph in paragraphs]
        content = compact({"title": title, "content": shown})
        draft = Draft("post", content, content, tuple(named), at=at)
        return self._write(chat, person, draft, reply_to, in_thread=in_thread, alteration=Alteration())

    def say_raw(
        self, chat: ChatRef, person: str, msg_type: str, content: Json | str, *, reply_to: MessageRef | None = None
    ) -> Message:
        """A person sends something of any type, its content as it reads back."""
        words = content if isinstance(content, str) else compact(content)
        draft = Draft(msg_type, words, words, ())
        return self._write(chat, person, draft, reply_to, in_thread=False, alteration=Alteration())

    def bot_says(self, chat: ChatRef, app: AppRef, text: str, *, mention: Sequence[str] = ()) -> Message:
        """Another bot writes text, without the API."""
        named: list[Mention] = []
        words = "".join(f"{self._key(who, named)} " for who in mention) + text
        content = compact({"text": words})
        author = Author(SenderKind.APP, self.app_of(app).app_id)
        return messages.write(self.world, author, self.chat_of(chat), Draft("text", content, content, tuple(named)))

    def edit(self, message: MessageRef, text: str) -> Message:
        """The author changes a text; its mentions stay."""
        edited = self.message_of(message)
        keys = "".join(f"{mention.key} " for mention in edited.mentions)
        content = compact({"text": keys + text})
        return messages.edit(self.world, edited, Draft("text", content, content, edited.mentions))

    def recall(self, message: MessageRef, recall_type: str = "message_owner") -> None:
        """The author (or who ``recall_type`` says) takes a message back."""
        messages.recall(self.world, self.message_of(message), RecallType(recall_type))

    def delete(self, message: MessageRef) -> None:
        """A message is gone for good: reads answer 230110, no event tells of it."""
        self.message_of(message).deleted = True
        self.changes.ring()

    def react(self, message: MessageRef, who: str, emoji_type: str) -> Reaction:
        """Somebody leaves a reaction."""
        return react(self.world, self.message_of(message), self.author_of(who), emoji_type)

    def unreact(self, reaction_id: str) -> None:
        """Somebody removes their reaction."""
        if reaction_id not in self.world.reactions:
            raise Unknown(f"there is no reaction {reaction_id}")
        unreact(self.world, self.world.reactions[reaction_id])

    def _write(
        self,
        chat: ChatRef,
        person: str,
        draft: Draft,
        reply_to: MessageRef | None,
        *,
        in_thread: bool,
        alteration: Alteration,
    ) -> Message:
        where = self.chat_of(chat)
        self.add_person(person)
        if person not in where.people:
            where.people.append(person)
        parent = None if reply_to is None else self.message_of(reply_to)
        author = Author(SenderKind.PERSON, person)
        with self.altering(alteration):
            return messages.write(self.world, author, where, draft, parent=parent, in_thread=in_thread)

    def author_of(self, who: str) -> Author:
        """A bot by its app id, a person by a key; who is not known yet is added as a person."""
        if who in self.world.apps:
            return Author(SenderKind.APP, who)
        self.add_person(who)
        return Author(SenderKind.PERSON, who)

    def _key(self, who: str, named: list[Mention]) -> str:
        author = self.author_of(who)
        known = [mention.key for mention in named if mention.author == author]
        if known:
            return known[0]
        named.append(Mention(f"@_user_{len(named) + 1}", author, self.world.name_of(author)))
        return named[-1].key

    def _post_node(self, node: Json, named: list[Mention]) -> Json:
        if node.get("tag") == "text" or node.get("tag") == "a":
            return {"style": [], **node}
        if node.get("tag") != "at":
            return node
        key = self._key(str(node.get("user_id", "")), named)
        return {"tag": "at", "user_id": key, "user_name": named[-1].name, "style": []}
