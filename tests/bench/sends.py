"""Messages sent a second: our client against lark-oapi's own asynchronous one, both replying on the local Lark."""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Awaitable, Callable

from gateway.system import SystemClock
from providers.lark.client import LarkClient
from providers.lark.config import LarkApp
from providers.lark.delivery import LarkDelivery
from returns.decisions.document import Text
from returns.ids import AppName, ChatId, IdempotencyKey, MessageId
from returns.ports import Accepted, Route
from tests.bench.lark_server import APP_ID, SECRET, Lark, Place, lark_server
from tests.bench.report import Figure

APP = AppName("default")
PLACES = 64
SIDE_BY_SIDE = 16
OURS, THEIRS = 3_000, 250
WARM_UP = 50
ROUNDS = 3
AIM = 8.0
WORDS = "The transition table of delivery is in returns/delivery.py:42@1a2b3c4, as a table that a reader can hold."

Send = Callable[[Place, str], Awaitable[None]]


async def rate(send: Send, lark: Lark, count: int, key: str) -> float:
    """Sends a second, ``SIDE_BY_SIDE`` at a time."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await send(lark.places[number % len(lark.places)], f"{key}-{number}")

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(SIDE_BY_SIDE):
            group.create_task(worker())
    return count / (time.perf_counter() - started)


def ours(client: LarkClient) -> Send:
    delivery = LarkDelivery(client)

    async def send(place: Place, key: str) -> None:
        route = Route(APP, ChatId(place.chat_id), None, MessageId(place.question))
        outcome = await delivery.send(route, ((Text(WORDS),),), IdempotencyKey(key))
        assert isinstance(outcome, Accepted), outcome

    return send


def theirs(lark: Lark, *, fresh: bool = True) -> Send:
    """As its own examples do it; ``fresh``: its tokens, which it keeps for the whole process, are another Lark's."""
    import lark_oapi
    from lark_oapi.api.im.v1 import ReplyMessageRequest, ReplyMessageRequestBody

    if fresh:
        _forget_tokens()
    client = (
        lark_oapi.Client.builder()
        .app_id(APP_ID)
        .app_secret(SECRET)
        .domain(lark.url)
        .log_level(lark_oapi.LogLevel.ERROR)
        .build()
    )
    content = json.dumps({"zh_cn": {"title": "", "content": [[{"tag": "text", "text": WORDS}]]}}, ensure_ascii=False)

    async def send(place: Place, key: str) -> None:
        body = ReplyMessageRequestBody.builder().content(content).msg_type("post").reply_in_thread(False).uuid(key)
        request = ReplyMessageRequest.builder().message_id(place.question).request_body(body.build()).build()
        answer = await client.im.v1.message.areply(request)
        assert answer.success(), answer.code

    return send


def _forget_tokens() -> None:
    from lark_oapi.core.cache import LocalCache
    from lark_oapi.core.token.manager import TokenManager

    TokenManager.cache = LocalCache()


async def measure() -> list[Figure]:
    """Both in turn; medians."""
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    keys = (f"round-{number}" for number in itertools.count())
    async with lark_server(PLACES) as lark:
        app = LarkApp(APP, APP_ID, SECRET, lark.url)
        async with LarkClient((app,), SystemClock()) as client:
            sides = {"ours": (ours(client), OURS), "theirs": (theirs(lark), THEIRS)}
            for name, (send, _) in sides.items():
                await rate(send, lark, WARM_UP, f"warm-{name}")
            for _ in range(ROUNDS):
                for name, (send, count) in sides.items():
                    found[name].append(await rate(send, lark, count, next(keys)))
    mine, other = statistics.median(found["ours"]), statistics.median(found["theirs"])
    return [
        Figure(
            "messages sent, one process, 16 at a time, limits off",
            mine,
            "/s",
            "lark-oapi's asynchronous client",
            other,
            mine / other,
            f"≥ {AIM:g}",
            mine / other >= AIM,
        )
    ]


if __name__ == "__main__":
    for figure in asyncio.run(measure()):
        print(figure)
