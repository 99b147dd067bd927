"""The chat, bot and contact APIs.

https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/chat/get, …/chat-members/get,
https://open.feishu.cn/document/ukTMukTMukTM/uAjMxEjLwITMx4CMyETM and …/reference/contact-v3/user/get
"""

from __future__ import annotations

from providers.lark_double.errors import LarkError
from providers.lark_double.model import Author, Chat, SenderKind
from providers.lark_double.operations import Call
from providers.lark_double.present import chat_object, user_object
from providers.lark_double.wire import Json
from providers.lark_double.world import World

PAGE_SIZE_MAX = 100


class ChatRoutes:
    """``/open-apis/im/v1/chats``, ``/open-apis/bot/v3/info``, ``/open-apis/contact/v3/users``."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get(self, call: Call) -> Json:
        """A chat; a bot that is outside sees less of it."""
        return chat_object(self._world, call.app, self._chat(call))

    def list(self, call: Call) -> Json:
        """The chats that the bot is in; private ones are not among them."""
        found = [
            chat
            for chat in self._world.chats.values()
            if call.app.app_id in chat.bots and not chat.dissolved and chat.mode.value != "p2p"
        ]
        shown, page = _page(call, len(found))
        page["items"] = [
            {
                "chat_id": chat.chat_id,
                "avatar": "",
                "name": chat.name,
                "description": "",
                "external": chat.external,
                "tenant_key": call.app.tenant_key,
                "chat_status": "normal",
            }
            for chat in found[shown]
        ]
        return page

    def members(self, call: Call) -> Json:
        """The people of a chat; bots are not listed."""
        chat = self._inside(call)
        shown, page = _page(call, len(chat.people))
        id_type = call.query.get("member_id_type", "open_id")
        page["items"] = [
            {
                "member_id_type": id_type,
                "member_id": self._member_id(call, key, id_type),
                "name": self._world.people[key].name,
                "tenant_key": self._world.people[key].tenant_key,
            }
            for key in chat.people[shown]
        ]
        page["member_total"] = len(chat.people)
        return page

    def is_in_chat(self, call: Call) -> Json:
        """Whether the calling bot is in a chat."""
        return {"is_in_chat": call.app.app_id in self._chat(call).bots}

    def bot_info(self, call: Call) -> Json:
        """Who the bot is; the answer has ``bot`` where others have ``data``."""
        call.extra["bot"] = {
            "activate_status": 2,
            "app_name": call.app.name,
            "avatar_url": "",
            "ip_white_list": [],
            "open_id": call.app.open_id,
        }
        return {}

    def user(self, call: Call) -> Json:
        """A person."""
        user_id = call.path["user_id"]
        author = self._world.find(call.app.app_id, user_id)
        if author is None and self._world.belongs_to_another_app(call.app.app_id, user_id):
            raise LarkError(99992361)
        if author is None or author.kind is not SenderKind.PERSON:
            raise LarkError(99992351 if user_id.startswith("ou_") else 41012)
        return {"user": user_object(self._world, call.app, author.key)}

    def _chat(self, call: Call) -> Chat:
        chat = self._world.chats.get(call.path["chat_id"])
        if chat is None:
            raise LarkError(232006)
        if chat.dissolved:
            raise LarkError(232009)
        return chat

    def _inside(self, call: Call) -> Chat:
        chat = self._chat(call)
        if call.app.app_id not in chat.bots:
            raise LarkError(232011)
        return chat

    def _member_id(self, call: Call, key: str, id_type: str) -> str:
        person = self._world.people[key]
        ids = {"union_id": person.union_id, "user_id": person.user_id}
        return ids.get(id_type) or self._world.known_as(call.app.app_id, Author(SenderKind.PERSON, key))


def _page(call: Call, total: int) -> tuple[slice, Json]:
    size, start = call.query.get("page_size", "20"), call.query.get("page_token") or "0"
    if not size.isdigit() or not 1 <= int(size) <= PAGE_SIZE_MAX or not start.isdigit():
        raise LarkError(232001)
    end = int(start) + int(size)
    page: Json = {"has_more": end < total, "page_token": str(end) if end < total else ""}
    return slice(int(start), end), page
