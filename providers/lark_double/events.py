"""What an app hears of a happening, as an event of version 2.0. No I/O.

https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/events/receive and the pages beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from providers.lark_double.happenings import BotMoved, Disbanded, Happening, Reacted, Recalled, Written
from providers.lark_double.model import (
    App,
    Author,
    Chat,
    ChatMode,
    EchoShape,
    Mention,
    Message,
    SenderKind,
)
from providers.lark_double.wire import Json
from providers.lark_double.world import OTHER_TENANT, TENANT, World


@dataclass(frozen=True, slots=True)
class Event:
    """An event for one app, without its envelope."""

    app_id: str
    event_type: str
    body: Json
    message_id: str | None = None
    created_at: int | None = None


def events_of(world: World, happening: Happening) -> list[Event]:
    """The events that a happening causes, for every app that would get one."""
    match happening:
        case Written():
            found = [_received(world, app, happening.message) for app in _bots(world, happening.message.chat_id)]
        case Recalled():
            found = [_recalled(app, happening) for app in _bots(world, happening.message.chat_id)]
        case Reacted():
            found = [_reacted(world, app, happening) for app in _bots(world, happening.chat_id)]
        case BotMoved():
            found = [_bot_moved(world, world.apps[happening.app_id], happening)]
        case Disbanded():
            found = [_disbanded(world, world.apps[app_id], happening) for app_id in happening.bots]
        case _:
            assert_never(happening)
    return [event for event in found if event is not None and _subscribed(world, event)]


def envelope(world: World, event: Event, event_id: str) -> Json:
    """The whole event; ``create_time`` is that of the event."""
    app = world.apps[event.app_id]
    created = world.clock.now() if event.created_at is None else event.created_at
    return {
        "schema": "2.0",
        "header": {
            "event_id": event_id,
            "event_type": event.event_type,
            "create_time": str(created),
            "token": app.verification_token,
            "app_id": app.app_id,
            "tenant_key": app.tenant_key,
        },
        "event": event.body,
    }


def _bots(world: World, chat_id: str) -> list[App]:
    chat = world.chats.get(chat_id)
    return [] if chat is None else [world.apps[app_id] for app_id in chat.bots]


def _subscribed(world: World, event: Event) -> bool:
    subscribed = world.apps[event.app_id].subscribed
    return subscribed is None or event.event_type in subscribed


def _received(world: World, app: App, message: Message) -> Event | None:
    chat = world.chats[message.chat_id]
    own = message.author == Author(SenderKind.APP, app.app_id)
    if not (app.echo is not EchoShape.NONE if own else _hears(app, chat, message)):
        return None
    return message_event(world, app, message, sender=_echoed(world, app, message) if own else None)


def _hears(app: App, chat: Chat, message: Message) -> bool:
    mentioned = any(
        mention.author == Author(SenderKind.APP, app.app_id) or (mention.author is None and app.hears_at_all)
        for mention in message.mentions
    ) or (app.hears_at_all and "@_all" in message.content)
    if message.author.kind is SenderKind.APP:
        return mentioned and app.hears_bots
    return chat.mode is ChatMode.P2P or mentioned or app.hears_all_group_messages


def message_event(world: World, app: App, message: Message, *, sender: Json | None = None) -> Event:
    """``im.message.receive_v1`` for one app, whether it would get it or not."""
    chat = world.chats[message.chat_id]
    shown: Json = {
        "message_id": message.message_id,
        "create_time": str(message.create_time),
        "update_time": str(message.update_time),
        "chat_id": message.chat_id,
        "chat_type": "p2p" if chat.mode is ChatMode.P2P else "group",
        "message_type": message.msg_type,
        "content": message.content,
        "user_agent": "Mozilla/5.0 (local) Lark/7.20.0",
    }
    places = {"root_id": message.root_id, "parent_id": message.parent_id, "thread_id": message.thread_id}
    shown.update({key: value for key, value in places.items() if value is not None})
    if message.mentions:
        shown["mentions"] = [_mention(world, app, mention) for mention in message.mentions]
    body: Json = {"sender": sender or _sender(world, app, message.author), "message": shown}
    return Event(app.app_id, "im.message.receive_v1", body, message.message_id, message.create_time)


def _sender(world: World, app: App, author: Author) -> Json:
    return {
        "sender_id": _ids(world, app, author),
        "sender_type": "user" if author.kind is SenderKind.PERSON else "bot",
        "tenant_key": _tenant(world, author),
    }


def _echoed(world: World, app: App, message: Message) -> Json:
    own = Author(SenderKind.APP, app.app_id)
    if app.echo is EchoShape.APP:
        return {**_sender(world, app, own), "sender_type": "app"}
    if app.echo is EchoShape.OWN_ID:
        return {**_sender(world, app, own), "sender_type": "user"}
    asker = world.messages[message.parent_id].author if message.parent_id is not None else None
    if asker is None or asker.kind is not SenderKind.PERSON:
        people = world.chats[message.chat_id].people
        asker = Author(SenderKind.PERSON, people[0]) if people else own
    return {**_sender(world, app, asker), "sender_type": "user"}


def _mention(world: World, app: App, mention: Mention) -> Json:
    if mention.author is None:
        empty: Json = {"union_id": "", "user_id": "", "open_id": ""}
        return {"key": mention.key, "id": empty, "name": mention.name, "tenant_key": ""}
    return {
        "key": mention.key,
        "id": _ids(world, app, mention.author),
        "mentioned_type": "user" if mention.author.kind is SenderKind.PERSON else "bot",
        "name": mention.name,
        "tenant_key": _tenant(world, mention.author),
    }


def _ids(world: World, app: App, author: Author) -> Json:
    known = world.known_as(app.app_id, author)
    if author.kind is SenderKind.APP:
        return {"union_id": "on_" + known[3:], "user_id": None, "open_id": known}
    person = world.people[author.key]
    user_id = person.user_id if app.sees_user_ids else None
    return {"union_id": person.union_id, "user_id": user_id, "open_id": known}


def _tenant(world: World, author: Author) -> str:
    if author.kind is SenderKind.APP:
        return world.apps[author.key].tenant_key
    return world.people[author.key].tenant_key


def _recalled(app: App, happening: Recalled) -> Event:
    message = happening.message
    body: Json = {
        "message_id": message.message_id,
        "chat_id": message.chat_id,
        "recall_time": str(happening.at),
        "recall_type": happening.recall_type.value,
    }
    return Event(app.app_id, "im.message.recalled_v1", body, message.message_id)


def _reacted(world: World, app: App, happening: Reacted) -> Event:
    reaction = happening.reaction
    body: Json = {
        "message_id": reaction.message_id,
        "reaction_type": {"emoji_type": reaction.emoji_type},
        "operator_type": reaction.author.kind.value,
        "action_time": str(happening.at),
    }
    if reaction.author.kind is SenderKind.PERSON:
        body["user_id"] = _ids(world, app, reaction.author)
    else:
        body["app_id"] = reaction.author.key
    kind = "deleted" if happening.removed else "created"
    return Event(app.app_id, f"im.message.reaction.{kind}_v1", body, reaction.message_id)


def _bot_moved(world: World, app: App, happening: BotMoved) -> Event:
    kind = "added" if happening.added else "deleted"
    return Event(
        app.app_id, f"im.chat.member.bot.{kind}_v1", _chat_body(world, app, happening.chat, happening.operator)
    )


def _disbanded(world: World, app: App, happening: Disbanded) -> Event:
    return Event(app.app_id, "im.chat.disbanded_v1", _chat_body(world, app, happening.chat, happening.operator))


def _chat_body(world: World, app: App, chat: Chat, operator: str | None) -> Json:
    body: Json = {
        "chat_id": chat.chat_id,
        "external": chat.external,
        "operator_tenant_key": OTHER_TENANT if chat.external else TENANT,
        "name": chat.name,
        "i18n_names": {"zh_cn": chat.name, "en_us": chat.name, "ja_jp": chat.name},
    }
    if operator is not None:
        body["operator_id"] = _ids(world, app, Author(SenderKind.PERSON, operator))
    return body
