"""The way back through Lark: send once, read one, read a window of a chat or thread.

Fulfils ``returns.ports.DeliveryProvider``. From Lark's pages "Send message", "Reply to a message", "Obtain message"
and "Obtain chat history".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from providers.lark import codes
from providers.lark.answers import Answer
from providers.lark.client import LarkClient, segment
from providers.lark.fields import JsonObject, as_id, as_list, as_object
from providers.lark.outcomes import Endpoint, read_failure, send_outcome
from providers.lark.post import LIMIT_BYTES, create_body, measure, reply_body
from providers.lark.readings import is_another_s, reading
from returns.decisions.document import Document
from returns.ids import AppName, IdempotencyKey, MessageId, Millis
from returns.ports import (
    Locator,
    MayLeave,
    Missing,
    NotPermitted,
    Reading,
    ReadOutcome,
    Ready,
    Refused,
    Route,
    SendOutcome,
    Unreachable,
    WindowOutcome,
    WindowPage,
)

MESSAGES: Final = "/open-apis/im/v1/messages"
PAGE_SIZE: Final = 50
MAX_CURSOR: Final = 2_000
MINUTE_MS: Final = 60_000
A_DAY_MS: Final = 24 * 60 * MINUTE_MS
ALLOWED_MS: Final = MINUTE_MS
"""A window begins longer than this before what is looked for."""


class LarkDelivery:
    """Deliveries of every app of a client."""

    def __init__(self, client: LarkClient) -> None:
        self._client = client

    @property
    def limit_bytes(self) -> int:
        """The largest request that may carry a post."""
        return LIMIT_BYTES

    def measure(self, document: Document) -> int:
        """Bytes of the request that would carry the document, key and receiver at their longest."""
        return measure(document)

    async def prepare(self, app: AppName) -> Ready | Refused:
        """Have the token at hand."""
        token = await self._client.token(app)
        return token if isinstance(token, Refused) else Ready()

    async def send(
        self, route: Route, document: Document, key: IdempotencyKey, may_leave: MayLeave | None = None
    ) -> SendOutcome:
        """Reply to the route's message, or write in its chat where there is none. Once."""
        if route.reply_to is not None:
            path = f"{MESSAGES}/{segment(route.reply_to)}/reply"
            exchange = await self._client.send(route.app, path, body=reply_body(document, key), may_leave=may_leave)
            return send_outcome(Endpoint.REPLY, exchange, route.chat_id)
        exchange = await self._client.send(
            route.app,
            MESSAGES,
            params={"receive_id_type": "chat_id"},
            body=create_body(route.chat_id, document, key),
            may_leave=may_leave,
        )
        return send_outcome(Endpoint.CREATE, exchange, route.chat_id)

    async def read(self, app: AppName, locator: Locator) -> ReadOutcome:
        """Read one message back."""
        item = await read_item(self._client, app, locator.message_id)
        if not isinstance(item, Mapping):
            return item
        return reading(item, self._client.app_id(app) or "") or Unreachable()

    async def list_window(self, route: Route, since: Millis, cursor: str | None) -> WindowOutcome:
        """A page of the chat, oldest first from ``since`` on; of a thread, newest first until older than ``since``.

        ``since`` is by our clock: where that was ever seen ahead of Lark's, the page begins so much earlier.
        """
        ahead_ms = _worth(self._client.ahead_ms(route.app))
        since = Millis(since - ahead_ms)
        params = _window(route, since) if cursor is None else _window(route, since) | {"page_token": cursor}
        exchange = await self._client.read(route.app, MESSAGES, params=params)
        if not isinstance(exchange, Answer) or exchange.code != codes.SUCCESS:
            failure = read_failure(exchange)
            return Unreachable() if isinstance(failure, Missing) else failure
        if _worth(self._client.ahead_ms(route.app)) > ahead_ms:  # it began too late, as its own date tells
            return Unreachable()
        page = _page(exchange.data, self._client.app_id(route.app) or "", route, since, cursor)
        return Unreachable() if page is None else replace(page, ahead_ms=ahead_ms)


def _worth(ahead_ms: int) -> int:
    """A skew in whole minutes, so that it is the same on all pages; what every window allows for anyway is none.

    At most a day, as one absurd ``Date`` must not make every search of a busy chat endless.
    """
    return 0 if ahead_ms <= ALLOWED_MS else min(-(-ahead_ms // MINUTE_MS) * MINUTE_MS, A_DAY_MS)


async def read_item(
    client: LarkClient, app: AppName, message_id: MessageId
) -> JsonObject | Missing | NotPermitted | Unreachable:
    """The message object of one message, or why there is none."""
    if as_id(message_id) is None:
        return Missing()
    exchange = await client.read(app, f"{MESSAGES}/{segment(message_id)}")
    if not isinstance(exchange, Answer) or exchange.code != codes.SUCCESS:
        return read_failure(exchange)
    for value in as_list(exchange.data.get("items")) or ():
        item = as_object(value)
        if item is not None and item.get("message_id") == message_id:
            return item
    return Unreachable()


def _window(route: Route, since: Millis) -> dict[str, str]:
    """Lark takes whole seconds, and no window for a thread."""
    if route.thread_id is not None:
        container = {"container_id_type": "thread", "container_id": route.thread_id, "sort_type": "ByCreateTimeDesc"}
    else:
        container = {
            "container_id_type": "chat",
            "container_id": route.chat_id,
            "sort_type": "ByCreateTimeAsc",
            "start_time": str(since // 1000),
        }
    return container | {"page_size": str(PAGE_SIZE)}


def _page(data: JsonObject, app_id: str, route: Route, since: Millis, cursor: str | None) -> WindowPage | None:
    """The page, or None when it cannot be told what was left out: then nothing was read completely.

    A message that cannot be read counts as one of ours, unless it says that somebody else sent it.
    """
    items, more = as_list(data.get("items")), data.get("has_more")
    token = data.get("page_token") if more else None
    if items is None or not isinstance(more, bool) or (more and not _leads_on(token, cursor)):
        return None
    found: list[Reading] = []
    for value in items:
        item = as_object(value) or {}
        read = reading(item, app_id)
        if read is None and not is_another_s(item, app_id):
            return None
        if read is not None:
            found.append(read)
    reached = route.thread_id is not None and any(read.sent_at < since for read in found)
    kept = tuple(read for read in found if read.sent_at >= since)
    return WindowPage(kept, token if isinstance(token, str) and not reached else None)


def _leads_on(token: object, cursor: str | None) -> bool:
    return isinstance(token, str) and 0 < len(token) <= MAX_CURSOR and token != cursor
