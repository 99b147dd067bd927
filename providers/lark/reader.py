"""Chats as the steward reads them: a quoted message, a question once more, what is known of a chat, its own id.

Fulfils ``manager.ports.ChatReader``. From Lark's pages "Obtain message", "Obtain group information" and "Obtain bot
information".
"""

from __future__ import annotations

from typing import Final

from manager.ids import OpenId
from manager.ports import ChatFacts, ChatMessage, ChatRead, Gone
from providers.lark import codes
from providers.lark.answers import Answer, Exchange
from providers.lark.client import LarkClient, segment
from providers.lark.content import UnreadableContent, digest, readable, with_names
from providers.lark.delivery import MESSAGES
from providers.lark.fields import JsonObject, as_id, as_list, as_object, as_text, child, moment
from providers.lark.flight import Flight
from providers.lark.outcomes import read_failure
from providers.lark.readings import content_of, is_ours, names_of
from returns.ids import AppName, ChatId, MessageId
from returns.ports import Missing, NotPermitted

CHATS: Final = "/open-apis/im/v1/chats"
BOT: Final = "/open-apis/bot/v3/info"
MAX_FORWARDED: Final = 50
FORWARDED: Final = "merge_forward"
NOT_FOUND: Final = 404


class LarkReader:
    """Reads for every app of a client. Each bot's own id is asked for once."""

    def __init__(self, client: LarkClient) -> None:
        self._client = client
        self._own: dict[AppName, OpenId] = {}
        self._asking: dict[AppName, Flight[OpenId | None]] = {}

    def skew_ms(self) -> int | None:
        """How far our clock is from Lark's, as its last answers tell; None before the first."""
        return self._client.skew_ms()

    async def message(self, app: AppName, message_id: MessageId) -> ChatRead:
        """A message as it is now; of merged and forwarded ones, what was forwarded too."""
        if as_id(message_id) is None:
            return Gone.MISSING
        exchange = await self._client.read(app, f"{MESSAGES}/{segment(message_id)}")
        if not isinstance(exchange, Answer) or exchange.code != codes.SUCCESS:
            return _gone(exchange)
        items = [as_object(value) or {} for value in as_list(exchange.data.get("items")) or ()]
        item = next((item for item in items if item.get("message_id") == message_id), None)
        if item is None:
            return Gone.UNREACHABLE
        if item.get("deleted") is True:
            return Gone.RECALLED
        return _message(item, items, self._client.app_id(app) or "")

    async def chat(self, app: AppName, chat_id: ChatId) -> ChatFacts | Gone:
        """Whether people of other tenants are in the chat, and whether the bot can still speak there."""
        exchange = await self._client.read(app, f"{CHATS}/{segment(chat_id)}")
        if isinstance(exchange, Answer) and exchange.code in codes.CHAT_GONE:
            return ChatFacts(external=True, gone=True)
        if isinstance(exchange, Answer) and exchange.code in codes.CHAT_MISSING:
            return Gone.MISSING
        local = self._client.is_local(app)
        if local and _has_no_such_address(exchange):
            return ChatFacts(external=False, gone=False)
        if not isinstance(exchange, Answer) or exchange.code != codes.SUCCESS:
            return _gone(exchange)
        facts = _facts(exchange.data, local=local)
        if facts.gone or not _seen_from_outside(exchange.data):
            return facts
        return ChatFacts(facts.external, gone=await self._is_outside(app, chat_id))

    async def _is_outside(self, app: AppName, chat_id: ChatId) -> bool:
        """Whether the bot is definitely not in the chat (Lark's page "Check whether in a chat")."""
        exchange = await self._client.read(app, f"{CHATS}/{segment(chat_id)}/members/is_in_chat")
        if not isinstance(exchange, Answer):
            return False
        return exchange.code in codes.CHAT_GONE or exchange.data.get("is_in_chat") is False

    async def own_id(self, app: AppName) -> OpenId | None:
        """The bot's own id; asked for until it is known."""
        known = self._own.get(app)
        if known is not None:
            return known
        flight = self._asking.setdefault(app, Flight(lambda: self.ask_own_id(app)))
        found = await flight.shared()
        if found is not None:
            self._own[app] = found
        return found

    async def ask_own_id(self, app: AppName) -> OpenId | None:
        """The bot's own id, asked for now; None when Lark does not say."""
        exchange = await self._client.read(app, BOT)
        if not isinstance(exchange, Answer) or exchange.code != codes.SUCCESS:
            return None
        open_id = as_id(child(exchange.body or {}, "bot").get("open_id"))
        return None if open_id is None else OpenId(open_id)


def _gone(exchange: Exchange) -> Gone:
    if isinstance(exchange, Answer) and exchange.code in codes.TAKEN_BACK:
        return Gone.RECALLED
    failure = read_failure(exchange)
    if isinstance(failure, Missing):
        return Gone.MISSING
    return Gone.NOT_PERMITTED if isinstance(failure, NotPermitted) else Gone.UNREACHABLE


def _has_no_such_address(exchange: Exchange) -> bool:
    return isinstance(exchange, Answer) and exchange.status == NOT_FOUND and exchange.code in codes.NO_SUCH_ADDRESS


def _facts(data: JsonObject, *, local: bool) -> ChatFacts:
    """A chat that does not say whether it is external counts as external, but not a private one or a local Lark's."""
    external = data.get("external")
    if not isinstance(external, bool):
        external = not local and data.get("chat_mode") != "p2p"
    return ChatFacts(external=external, gone=as_text(data.get("chat_status")).startswith("dissolved"))


def _seen_from_outside(data: JsonObject) -> bool:
    """Lark tells a bot that is not in a chat no more than name and kind, and no error."""
    return data.get("chat_mode") != "p2p" and "user_count" not in data


def _message(item: JsonObject, items: list[JsonObject], app_id: str) -> ChatRead:
    sent_at = moment(item.get("create_time"))
    if sent_at is None:
        return Gone.UNREACHABLE
    message_type, content = content_of(item)
    edited_at = moment(item.get("update_time")) if item.get("updated") is True else None
    lines = [_words(item)]
    if message_type == FORWARDED:
        lines += [_words(child_item) for child_item in items if child_item is not item][:MAX_FORWARDED]
    return ChatMessage("\n".join(lines), _author(item, app_id), sent_at, edited_at, digest(message_type, content))


def _words(item: JsonObject) -> str:
    message_type, content = content_of(item)
    try:
        text = readable(message_type, content)
    except UnreadableContent:
        return f"[{message_type}]"
    return with_names(text, names_of(item))


def _author(item: JsonObject, app_id: str) -> str:
    if is_ours(item, app_id):
        return "steward"
    return "bot" if as_text(child(item, "sender").get("sender_type")) in {"app", "bot"} else "asker"
