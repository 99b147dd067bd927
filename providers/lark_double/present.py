"""Messages, people and chats as the REST API shows them to one app.

https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/intro
"""

from __future__ import annotations

from providers.lark_double.model import App, Author, Chat, ChatMode, Mention, Message, Reaction, SenderKind
from providers.lark_double.wire import Json
from providers.lark_double.world import TENANT, World

RECALLED_TEXT = "This message was recalled"


def message_object(
    world: World, app: App, message: Message, *, user_id_type: str | None = None, recalled_text: bool = True
) -> Json:
    """The message object of create, reply, edit, get and list; recalled ones keep no content."""
    shown: Json = {
        "message_id": message.message_id,
        "msg_type": message.msg_type,
        "create_time": str(message.create_time),
        "update_time": str(message.update_time),
        "deleted": message.recalled,
        "updated": message.updated,
        "chat_id": message.chat_id,
        "sender": _sender(world, app, message.author, user_id_type),
    }
    places = {"root_id": message.root_id, "parent_id": message.parent_id, "thread_id": message.thread_id}
    shown.update({key: value for key, value in places.items() if value is not None})
    if not message.recalled:
        shown["body"] = {"content": message.content}
        if message.mentions:
            shown["mentions"] = [_mention(world, app, mention, user_id_type) for mention in message.mentions]
    elif recalled_text:
        shown["body"] = {"content": RECALLED_TEXT}
    return shown


def reaction_object(world: World, app: App, reaction: Reaction, user_id_type: str | None = None) -> Json:
    """A reaction with its operator."""
    by_app = reaction.author.kind is SenderKind.APP
    return {
        "reaction_id": reaction.reaction_id,
        "operator": {
            "operator_id": reaction.author.key if by_app else _id_of(world, app, reaction.author, user_id_type),
            "operator_type": reaction.author.kind.value,
        },
        "action_time": str(reaction.at),
        "reaction_type": {"emoji_type": reaction.emoji_type},
    }


def chat_object(world: World, app: App, chat: Chat) -> Json:
    """What ``GET chats/{id}`` tells: less to a bot that is outside."""
    shown: Json = {
        "avatar": "",
        "name": "" if chat.mode is ChatMode.P2P else chat.name,
        "description": "",
        "i18n_names": {"zh_cn": "", "en_us": "", "ja_jp": ""},
        "chat_mode": chat.mode.value,
        "external": chat.external,
        "tenant_key": TENANT,
        "chat_status": "dissolved" if chat.dissolved else "normal",
    }
    if app.app_id not in chat.bots:
        return shown
    shown.update(
        {
            "add_member_permission": "all_members",
            "share_card_permission": "allowed",
            "at_all_permission": "all_members",
            "edit_permission": "all_members",
            "chat_type": "private",
            "chat_tag": "inner",
            "join_message_visibility": "all_members",
            "leave_message_visibility": "all_members",
            "membership_approval": "no_approval_required",
            "moderation_permission": "moderator_list" if chat.muted else "all_members",
            "owner_id_type": "open_id",
            "user_manager_id_list": [],
            "bot_manager_id_list": [],
            "user_count": str(len(chat.people)),
            "bot_count": str(len(chat.bots)),
            "restricted_mode_setting": {"status": chat.history_forbidden},
        }
    )
    if chat.mode is ChatMode.GROUP:
        shown["group_message_type"] = chat.form.value
    if chat.owner is not None and chat.mode is not ChatMode.P2P:
        shown["owner_id"] = world.known_as(app.app_id, Author(SenderKind.PERSON, chat.owner))
    return shown


def user_object(world: World, app: App, key: str) -> Json:
    """A person as the contact API tells of them."""
    person = world.people[key]
    shown: Json = {
        "union_id": person.union_id,
        "open_id": world.known_as(app.app_id, Author(SenderKind.PERSON, key)),
        "name": person.name,
        "en_name": "",
        "nickname": "",
        "avatar": {"avatar_72": "", "avatar_240": "", "avatar_640": "", "avatar_origin": ""},
        "status": {
            "is_frozen": False,
            "is_resigned": False,
            "is_activated": True,
            "is_exited": False,
            "is_unjoin": False,
        },
        "department_ids": [],
    }
    if app.sees_user_ids:
        shown["user_id"] = person.user_id
    return shown


def _sender(world: World, app: App, author: Author, user_id_type: str | None) -> Json:
    if author.kind is SenderKind.APP:
        tenant = world.apps[author.key].tenant_key
        return {"id": author.key, "id_type": "app_id", "sender_type": "app", "tenant_key": tenant}
    return {
        "id": _id_of(world, app, author, user_id_type),
        "id_type": user_id_type or "open_id",
        "sender_type": "user",
        "tenant_key": world.people[author.key].tenant_key,
    }


def _mention(world: World, app: App, mention: Mention, user_id_type: str | None) -> Json:
    if mention.author is None:
        return {"key": mention.key, "id": "", "id_type": "", "name": mention.name, "tenant_key": ""}
    is_app = mention.author.kind is SenderKind.APP
    named_by_app_id = is_app and user_id_type is not None
    tenant = world.apps[mention.author.key].tenant_key if is_app else world.people[mention.author.key].tenant_key
    return {
        "key": mention.key,
        "id": mention.author.key if named_by_app_id else _id_of(world, app, mention.author, user_id_type),
        "id_type": "app_id" if named_by_app_id else (user_id_type or "open_id"),
        "name": mention.name,
        "tenant_key": tenant,
    }


def _id_of(world: World, app: App, author: Author, user_id_type: str | None) -> str:
    if author.kind is SenderKind.PERSON and user_id_type == "union_id":
        return world.people[author.key].union_id
    if author.kind is SenderKind.PERSON and user_id_type == "user_id":
        return world.people[author.key].user_id
    return world.known_as(app.app_id, author)
