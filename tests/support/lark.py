"""What the tests of Lark's side share: a clock to move, an app, a client over respx, answers as Lark gives them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from providers.lark.client import LarkClient
from providers.lark.config import LarkApp
from returns.ids import AppName, ChatId, Millis

DOMAIN = "http://lark.localhost"
APP = LarkApp(AppName("default"), "cli_own", "top-secret-value", DOMAIN)
CHAT = ChatId("oc_asked")
START = Millis(1_700_000_000_000)
TOKEN_URL = f"{DOMAIN}/open-apis/auth/v3/tenant_access_token/internal"
MESSAGES_URL = f"{DOMAIN}/open-apis/im/v1/messages"


class MovedClock:
    """The time stands still until a test moves it."""

    def __init__(self, at: int = START) -> None:
        self.at = at

    def now(self) -> Millis:
        return Millis(self.at)

    def move(self, ms: int) -> None:
        self.at += ms


async def no_sleep(_seconds: float) -> None:
    """Goes on at once."""


def token_answer(value: str = "t-1", expire: object = 7200) -> httpx.Response:
    return httpx.Response(200, json={"code": 0, "msg": "ok", "tenant_access_token": value, "expire": expire})


def refused(code: int, status: int = 400, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "msg": "no"}, headers=headers)


def ok(**data: object) -> httpx.Response:
    return httpx.Response(200, json={"code": 0, "msg": "success", "data": data}, headers={"X-Tt-Logid": "log-1"})


def message(message_id: str = "om_1", text: str = "hi", **changes: object) -> dict[str, object]:
    """A message of ours, as REST shows it."""
    shown: dict[str, object] = {
        "message_id": message_id,
        "msg_type": "text",
        "create_time": str(START),
        "update_time": str(START),
        "deleted": False,
        "updated": False,
        "chat_id": CHAT,
        "sender": {"id": "cli_own", "id_type": "app_id", "sender_type": "app", "tenant_key": "t"},
        "body": {"content": f'{{"text":"{text}"}}'},
    }
    return shown | changes


@asynccontextmanager
async def opened(clock: MovedClock | None = None, app: LarkApp = APP) -> AsyncIterator[LarkClient]:
    async with LarkClient((app,), clock or MovedClock(), 2.0, sleep=no_sleep) as client:
        yield client
