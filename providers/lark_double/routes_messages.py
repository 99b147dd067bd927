"""The message APIs. Handlers are plain functions: they change the world and return ``data``, or raise ``LarkError``."""

from __future__ import annotations

from providers.lark_double import history, messages
from providers.lark_double.content import check_size, read_back
from providers.lark_double.errors import LarkError
from providers.lark_double.limits import Limits
from providers.lark_double.messages import Draft
from providers.lark_double.model import App, Author, Chat, SenderKind
from providers.lark_double.operations import Call
from providers.lark_double.present import message_object
from providers.lark_double.wire import Json, flag, text
from providers.lark_double.world import World

_EDITABLE = frozenset({"text", "post"})
_USER_ID_TYPES = frozenset({"open_id", "union_id", "user_id"})


class MessageRoutes:
    """``/open-apis/im/v1/messages``."""

    def __init__(self, world: World, limits: Limits) -> None:
        self._world = world
        self._limits = limits

    def send(self, call: Call) -> Json:
        """https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/create"""
        receive_id = _wanted(call, "receive_id")
        chat = self._receiver(call.app, call.asked("receive_id_type"), receive_id)
        draft = self._draft(call)
        call.entry.chat_id = chat.chat_id
        self._limits.message(chat.chat_id)
        return self._written(call, messages.write(self._world, _self(call.app), chat, draft))

    def reply(self, call: Call) -> Json:
        """https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/reply"""
        parent = messages.target(self._world, call.path["message_id"])
        chat = messages.sending_chat(self._world, call.app, parent.chat_id)
        in_thread = flag(call.body, "reply_in_thread")
        messages.check_thread(chat, in_thread=in_thread)
        draft = self._draft(call)
        self._limits.message(chat.chat_id)
        written = messages.write(self._world, _self(call.app), chat, draft, parent=parent, in_thread=in_thread)
        return self._written(call, written)

    def get(self, call: Call) -> Json:
        """https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/get"""
        message = messages.readable(self._world, call.app, call.path["message_id"])
        shown = message_object(
            self._world, call.app, message, user_id_type=_user_id_type(call.query), recalled_text=False
        )
        return {"items": [shown]}

    def list(self, call: Call) -> Json:
        """https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/list"""
        page = history.page(self._world, call.app, history_query(call))
        shown: Json = {
            "has_more": page.next_token is not None,
            "items": [message_object(self._world, call.app, message) for message in page.messages],
        }
        if page.next_token is not None:
            shown["page_token"] = page.next_token
        return shown

    def edit(self, call: Call) -> Json:
        """https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/update"""
        message = messages.target(self._world, call.path["message_id"])
        messages.sending_chat(self._world, call.app, message.chat_id)
        if not messages.by_app(message, call.app):
            raise LarkError(230071)
        if message.msg_type not in _EDITABLE:
            raise LarkError(230054)
        if _wanted(call, "msg_type") not in _EDITABLE:
            raise LarkError(230001, "invalid msg_type")
        if message.edits >= self._world.knobs.max_edits:
            raise LarkError(230072)
        draft = self._draft(call)
        call.entry.committed = True
        return message_object(self._world, call.app, messages.edit(self._world, message, draft))

    def recall(self, call: Call) -> Json:
        """https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/delete"""
        message = messages.target(self._world, call.path["message_id"])
        chat = self._world.chats[message.chat_id]
        if chat.dissolved:
            raise LarkError(232009)
        if call.app.app_id not in chat.bots:
            raise LarkError(230002)
        if not messages.by_app(message, call.app):
            raise LarkError(230026)
        messages.recall(self._world, message)
        call.entry.committed = True
        return {}

    def _draft(self, call: Call) -> Draft:
        msg_type, content = _wanted(call, "msg_type"), _wanted(call, "content")
        check_size(msg_type, call.size)
        shown, mentions = read_back(msg_type, content, self._world.who(call.app.app_id))
        return Draft(msg_type, content, shown, mentions, uuid=text(call.body, "uuid") or None)

    def _receiver(self, app: App, receive_id_type: str, receive_id: str) -> Chat:
        if receive_id_type == "chat_id":
            return messages.sending_chat(self._world, app, receive_id)
        if receive_id_type not in _USER_ID_TYPES:
            raise LarkError(99992402, "invalid receive_id_type")
        author = self._world.find(app.app_id, receive_id)
        if author is None and self._world.belongs_to_another_app(app.app_id, receive_id):
            raise LarkError(99992361)
        if author is None or author.kind is not SenderKind.PERSON:
            raise LarkError(99992351)
        return self._world.private_chat(app.app_id, author.key)

    def _written(self, call: Call, message: messages.Message) -> Json:
        call.entry.committed = True
        call.entry.message_id = message.message_id
        return message_object(self._world, call.app, message)


def history_query(call: Call) -> history.HistoryQuery:
    """The query of a history. Raises ``LarkError`` for what is not valid."""
    sort_type = call.query.get("sort_type", "ByCreateTimeAsc")
    if sort_type not in {"ByCreateTimeAsc", "ByCreateTimeDesc"}:
        raise LarkError(230001, "invalid sort_type")
    size = _seconds(call.query, "page_size")
    return history.HistoryQuery(
        container_type=call.asked("container_id_type"),
        container_id=call.asked("container_id"),
        start_s=_seconds(call.query, "start_time"),
        end_s=_seconds(call.query, "end_time"),
        descending=sort_type == "ByCreateTimeDesc",
        page_size=20 if size is None else size,
        page_token=call.query.get("page_token"),
    )


def _seconds(query: dict[str, str], key: str) -> int | None:
    value = query.get(key, "")
    if not value:
        return None
    if not value.isascii() or not value.isdigit():
        raise LarkError(230001, f"invalid {key}")
    return int(value)


def _user_id_type(query: dict[str, str]) -> str | None:
    value = query.get("user_id_type")
    if value is not None and value not in _USER_ID_TYPES:
        raise LarkError(230001, "invalid user_id_type")
    return value


def _wanted(call: Call, key: str) -> str:
    value = text(call.body, key)
    if not value:
        raise LarkError(99992402 if key in {"receive_id", "msg_type"} else 230001, f"{key} is required")
    return value


def _self(app: App) -> Author:
    return Author(SenderKind.APP, app.app_id)
