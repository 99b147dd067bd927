"""Acting over HTTP: apps, chats, people and what they write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from providers.lark_double.control_fields import BadRequest
from providers.lark_double.driven import Driven
from providers.lark_double.model import App, EchoShape, Message
from providers.lark_double.wire import Json, flag, integer, mapping, sequence, text, texts
from providers.lark_double.world import OTHER_TENANT

_APP_TEXTS = frozenset({"app_secret", "encrypt_key", "verification_token", "webhook_url", "name"})
_APP_FLAGS = frozenset({"hears_all_group_messages", "hears_bots", "hears_at_all", "sees_user_ids", "enabled"})


def needed(body: Json, key: str) -> str:
    """A string that must be there. Raises ``KeyError``."""
    value = text(body, key)
    if value is None:
        raise KeyError(key)
    return value


def strings(body: Json, key: str) -> dict[str, str]:
    """An object of strings, empty when there is none."""
    return {name: str(value) for name, value in (mapping(body.get(key)) or {}).items()}


def when(body: Json, key: str = "at") -> int | None:
    """A moment in milliseconds, or None."""
    return integer(body, key, 0) or None


def acting_actions(double: Driven) -> dict[str, Callable[[Json], Awaitable[object]]]:
    """The actions by their names."""
    acting = _Acting(double)
    return {
        "app": acting.app,
        "set_webhook": acting.set_webhook,
        "person": acting.person,
        "open_id": acting.open_id,
        "chat": acting.chat,
        "private_chat": acting.private_chat,
        "say": acting.say,
        "say_post": acting.say_post,
        "bot_says": acting.bot_says,
        "edit": acting.edit,
        "recall": acting.recall,
        "delete": acting.delete,
        "react": acting.react,
        "unreact": acting.unreact,
        "add_bot": acting.add_bot,
        "remove_bot": acting.remove_bot,
        "dissolve": acting.dissolve,
        "forget_chat": acting.forget_chat,
    }


def app_json(app: App) -> Json:
    """What an app's developer needs to know: credentials included, for this is a double."""
    return {
        "app_id": app.app_id,
        "app_secret": app.app_secret,
        "encrypt_key": app.encrypt_key,
        "verification_token": app.verification_token,
        "webhook_url": app.webhook_url,
        "bot_open_id": app.open_id,
        "name": app.name,
    }


def _message_json(message: Message) -> Json:
    return {
        "message_id": message.message_id,
        "chat_id": message.chat_id,
        "thread_id": message.thread_id,
        "root_id": message.root_id,
        "parent_id": message.parent_id,
        "create_time": message.create_time,
        "content": message.content,
    }


class _Acting:
    def __init__(self, double: Driven) -> None:
        self._double = double

    async def app(self, body: Json) -> object:
        """Add an app, or change what is given of one that is there."""
        app_id = needed(body, "app_id")
        known = self._double.world.apps.get(app_id)
        if known is None:
            if "app_secret" not in body:
                raise BadRequest(f"app_secret is missing: there is no app {app_id!r} yet")
            known = self._double.app(app_id, needed(body, "app_secret"))
        for name in body.keys() & _APP_TEXTS:
            setattr(known, name, text(body, name))
        for knob in body.keys() & _APP_FLAGS:
            setattr(known, knob, flag(body, knob))
        if "echo" in body:
            known.echo = EchoShape(needed(body, "echo"))
        return app_json(known)

    async def set_webhook(self, body: Json) -> object:
        self._double.set_webhook(needed(body, "app"), text(body, "url"))
        return None

    async def person(self, body: Json) -> object:
        key = needed(body, "key")
        there = self._double.world.people.get(key)
        outside = flag(body, "outside")
        if there is not None and (
            text(body, "name") not in (None, there.name)
            or ("outside" in body and outside != (there.tenant_key == OTHER_TENANT))
        ):
            raise BadRequest(f"{key!r} is there already as {there.name!r}, and stays so: choose another key")
        person = self._double.add_person(key, text(body, "name"), outside=outside)
        return {"key": person.key, "name": person.name, "union_id": person.union_id, "user_id": person.user_id}

    async def open_id(self, body: Json) -> object:
        return self._double.open_id(needed(body, "app"), needed(body, "who"))

    async def chat(self, body: Json) -> object:
        chat = self._double.create_chat(
            needed(body, "name"),
            texts(body, "people"),
            texts(body, "bots"),
            mode=text(body, "mode") or "group",
            form=text(body, "form") or "chat",
            external=flag(body, "external"),
        )
        return self._double.chat_json(chat)

    async def private_chat(self, body: Json) -> object:
        return self._double.chat_json(self._double.private_chat(needed(body, "person"), needed(body, "app")))

    async def say(self, body: Json) -> object:
        self._check_place(body)
        message = self._double.say(
            needed(body, "chat"),
            needed(body, "person"),
            needed(body, "text"),
            mention=texts(body, "mention"),
            mention_all=text(body, "mention_all"),
            reply_to=text(body, "reply_to"),
            in_thread=flag(body, "in_thread"),
            at=when(body),
            drop=texts(body, "drop"),
            put=mapping(body.get("put")),
            headers=strings(body, "headers"),
            silent=flag(body, "silent"),
        )
        return _message_json(message)

    async def say_post(self, body: Json) -> object:
        self._check_place(body)
        paragraphs = [
            [mapping(node) or {} for node in sequence(paragraph) or []]
            for paragraph in sequence(body.get("paragraphs")) or []
        ]
        message = self._double.say_post(
            needed(body, "chat"),
            needed(body, "person"),
            paragraphs,
            title=text(body, "title") or "",
            reply_to=text(body, "reply_to"),
            in_thread=flag(body, "in_thread"),
            at=when(body),
        )
        return _message_json(message)

    async def bot_says(self, body: Json) -> object:
        said = self._double.bot_says(
            needed(body, "chat"), needed(body, "app"), needed(body, "text"), mention=texts(body, "mention")
        )
        return _message_json(said)

    async def edit(self, body: Json) -> object:
        return _message_json(self._double.edit(needed(body, "message"), needed(body, "text")))

    async def recall(self, body: Json) -> object:
        self._double.recall(needed(body, "message"), text(body, "recall_type") or "message_owner")
        return None

    async def delete(self, body: Json) -> object:
        self._double.delete(needed(body, "message"))
        return None

    async def react(self, body: Json) -> object:
        reaction = self._double.react(needed(body, "message"), needed(body, "who"), needed(body, "emoji_type"))
        return {"reaction_id": reaction.reaction_id}

    async def unreact(self, body: Json) -> object:
        self._double.unreact(needed(body, "reaction_id"))
        return None

    async def add_bot(self, body: Json) -> object:
        self._double.add_bot(needed(body, "chat"), needed(body, "app"), by=text(body, "by"))
        return None

    async def remove_bot(self, body: Json) -> object:
        self._double.remove_bot(needed(body, "chat"), needed(body, "app"), by=text(body, "by"))
        return None

    async def dissolve(self, body: Json) -> object:
        chat, by = needed(body, "chat"), text(body, "by")
        self._double.dissolve(chat, by=by, keep_history=flag(body, "keep_history"))
        return None

    async def forget_chat(self, body: Json) -> object:
        self._double.forget_chat(needed(body, "chat"))
        return None

    def _check_place(self, body: Json) -> None:
        reply_to = text(body, "reply_to")
        if reply_to is None:
            if flag(body, "in_thread"):
                raise BadRequest("in_thread needs reply_to: the message under which the thread begins")
            return
        chat_id = self._double.chat_of(needed(body, "chat")).chat_id
        if self._double.message_of(reply_to).chat_id != chat_id:
            raise BadRequest("reply_to must be a message of the same chat")
