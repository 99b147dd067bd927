"""The reaction APIs. https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message-reaction/create"""

from __future__ import annotations

from providers.lark_double.emojis import EMOJI_TYPES
from providers.lark_double.errors import LarkError
from providers.lark_double.happenings import Reacted
from providers.lark_double.model import Author, Message, Reaction, SenderKind
from providers.lark_double.operations import Call
from providers.lark_double.present import reaction_object
from providers.lark_double.wire import Json, mapping, text
from providers.lark_double.world import World

PAGE_SIZE_MAX = 50


def react(world: World, message: Message, author: Author, emoji_type: str) -> Reaction:
    """Leave a reaction; the same again by the same one is the same reaction. Raises ``LarkError`` 231001."""
    if emoji_type not in EMOJI_TYPES:
        raise LarkError(231001)
    key = (message.message_id, author, emoji_type)
    if key in world.reaction_by:
        return world.reactions[world.reaction_by[key]]
    reaction = Reaction(world.new_id("ZCaC"), message.message_id, emoji_type, author, world.clock.now())
    world.reactions[reaction.reaction_id] = reaction
    world.reaction_by[key] = reaction.reaction_id
    world.happen(Reacted(reaction, message.chat_id, removed=False, at=reaction.at))
    return reaction


def unreact(world: World, reaction: Reaction) -> None:
    """Remove a reaction."""
    del world.reactions[reaction.reaction_id]
    del world.reaction_by[reaction.message_id, reaction.author, reaction.emoji_type]
    chat_id = world.messages[reaction.message_id].chat_id
    world.happen(Reacted(reaction, chat_id, removed=True, at=world.clock.now()))


class ReactionRoutes:
    """``/open-apis/im/v1/messages/{message_id}/reactions``."""

    def __init__(self, world: World) -> None:
        self._world = world

    def create(self, call: Call) -> Json:
        """Leave a reaction as the bot."""
        emoji_type = text(mapping(call.body.get("reaction_type")) or {}, "emoji_type")
        if not emoji_type:
            raise LarkError(231001)
        message = self._message(call)
        author = Author(SenderKind.APP, call.app.app_id)
        reaction = react(self._world, message, author, emoji_type)
        call.entry.committed = True
        return reaction_object(self._world, call.app, reaction)

    def delete(self, call: Call) -> Json:
        """Remove the bot's own reaction."""
        message = self._message(call)
        reaction = self._world.reactions.get(call.path["reaction_id"])
        if reaction is None:
            raise LarkError(231011)
        if reaction.message_id != message.message_id:
            raise LarkError(231010)
        if reaction.author != Author(SenderKind.APP, call.app.app_id):
            raise LarkError(231007)
        unreact(self._world, reaction)
        call.entry.committed = True
        return reaction_object(self._world, call.app, reaction)

    def list(self, call: Call) -> Json:
        """The reactions of a message, oldest first."""
        message = self._message(call)
        wanted = call.query.get("reaction_type")
        found = [
            reaction
            for reaction in self._world.reactions.values()
            if reaction.message_id == message.message_id and wanted in (None, "", reaction.emoji_type)
        ]
        start, size = _number(call.query.get("page_token", "0")), _number(call.query.get("page_size", "20"))
        if not 1 <= size <= PAGE_SIZE_MAX:
            raise LarkError(230001, "page_size must be 1 to 50")
        user_id_type = call.query.get("user_id_type")
        shown = found[start : start + size]
        page: Json = {
            "items": [reaction_object(self._world, call.app, reaction, user_id_type) for reaction in shown],
            "has_more": start + size < len(found),
        }
        if page["has_more"]:
            page["page_token"] = str(start + size)
        return page

    def _message(self, call: Call) -> Message:
        message = self._world.messages.get(call.path["message_id"])
        if message is None or message.recalled:
            raise LarkError(231003)
        if message.deleted:
            raise LarkError(230110)
        chat = self._world.chats.get(message.chat_id)
        if chat is None or chat.dissolved:
            raise LarkError(232009)
        if call.app.app_id not in chat.bots:
            raise LarkError(231002)
        return message


def _number(value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise LarkError(231012)
    return int(value)
