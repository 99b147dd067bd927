"""Stages for the delivery port's conformance suite: the real adapter over the local Lark, the simulation's provider.

A stage has one chat, ``alice`` and our app in it, and a question of hers. A scenario is a coroutine function that takes
the stage; ``play`` gives it its own event loop, real or simulated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Protocol

from providers.lark.client import LarkClient
from providers.lark.config import LarkApp
from providers.lark.delivery import LarkDelivery
from providers.lark_double.server import LarkDouble
from returns.decisions.document import Document, Text
from returns.ids import AppName, ChatId, IdempotencyKey, MessageId, ThreadId
from returns.ports import DeliveryProvider, Locator, Refusal, Route, SendOutcome
from tests.simulation.loop import Life, SimLoop
from tests.simulation.provider import SimProvider
from tests.simulation.world import Message, Script, World
from tests.support.double import APP_ID, SECRET, running
from tests.support.lark import no_sleep

APP = AppName("default")
PLACES = ("reply", "plain", "thread")


def said(words: str) -> Document:
    """A document of one line."""
    return ((Text(words),),)


class Stage(Protocol):
    """One chat, and what can happen to it. Times are the provider's, in ms."""

    provider: DeliveryProvider

    def route(self, place: str = "reply") -> Route:
        """To a question in the chat (``reply``), in a thread of it (``thread``), or to the chat itself (``plain``)."""
        ...

    def now(self) -> int:
        """The provider's time."""
        ...

    def advance(self, ms: int) -> None:
        """Its time moves on."""
        ...

    def next_send(self, deed: str) -> None:
        """``accept_and_lose``, ``lose``, ``no_id``, ``limit`` (7 s) or a refusal's name, for the next send."""
        ...

    def break_reading(self) -> None:
        """No reading of a message or of a page gets an answer any more."""
        ...

    def forbid_history(self) -> None:
        """Histories may not be read."""
        ...

    def hide(self, locator: Locator) -> None:
        """A message is not shown yet."""
        ...

    def reveal(self) -> None:
        """All are shown."""
        ...

    def recall(self, message: str) -> None:
        """Its author takes it back."""
        ...

    def delete(self, message: str) -> None:
        """It is gone."""
        ...

    def remove_bot(self) -> None:
        """The app is no more in the chat."""
        ...

    async def go_offline(self) -> None:
        """The provider cannot be reached."""
        ...

    def alice_says(self, words: str, place: str = "plain", *, ago_ms: int = 0) -> str:
        """Somebody else writes; the message's id."""
        ...

    def shown(self) -> list[str]:
        """What of ours people see in the chat."""
        ...


Scenario = Callable[[Any], Awaitable[None]]


async def sent(stage: Stage, words: str = "hello", key: str = "key-1", place: str = "reply") -> SendOutcome:
    """Send once."""
    return await stage.provider.send(stage.route(place), said(words), IdempotencyKey(key))


class LarkStage:
    """The real adapter."""

    def __init__(self, double: LarkDouble, client: LarkClient) -> None:
        self._double = double
        self.provider: DeliveryProvider = LarkDelivery(client)
        self._chat = next(iter(double.world.chats.values()))
        self._question = double.say(self._chat, "alice", "where is it?", mention=[APP_ID])
        root = double.say(self._chat, "alice", "root")
        self._in_thread = double.say(self._chat, "alice", "in thread", reply_to=root, in_thread=True)

    def route(self, place: str = "reply") -> Route:
        chat = ChatId(self._chat.chat_id)
        if place == "plain":
            return Route(APP, chat, None, None)
        question = self._question if place == "reply" else self._in_thread
        thread = ThreadId(question.thread_id) if question.thread_id else None
        return Route(APP, chat, thread, MessageId(question.message_id))

    def now(self) -> int:
        return self._double.clock.now()

    def advance(self, ms: int) -> None:
        self._double.advance(ms / 1000)

    def next_send(self, deed: str) -> None:
        simple = {"accept_and_lose": "reset_after", "lose": "reset_before", "no_id": "no_message_id"}
        operations = ("send", "reply")
        if deed in simple:
            self._double.fault(simple[deed], operations)
        elif deed == "limit":
            self._double.fault("rate_limited", operations, seconds=7)
        else:
            self._double.fault("error", operations, code=CODES[Refusal(deed)])

    def break_reading(self) -> None:
        self._double.fault("reset_before", ("get", "list"), times=None)

    def forbid_history(self) -> None:
        self._double.forbid_history(app=APP_ID)

    def hide(self, locator: Locator) -> None:
        self._double.hide(locator.message_id)

    def reveal(self) -> None:
        self._double.reveal()

    def recall(self, message: str) -> None:
        self._double.recall(message)

    def delete(self, message: str) -> None:
        self._double.delete(message)

    def remove_bot(self) -> None:
        self._double.remove_bot(self._chat, APP_ID)

    async def go_offline(self) -> None:
        await self._double.go_offline()

    def alice_says(self, words: str, place: str = "plain", *, ago_ms: int = 0) -> str:
        to = {"reply": self._question, "thread": self._in_thread}.get(place)
        at = self.now() - ago_ms
        message = self._double.say(self._chat, "alice", words, reply_to=to, in_thread=place == "thread", at=at)
        return message.message_id

    def shown(self) -> list[str]:
        return [seen.text for seen in self._double.visible(self._chat, by_app=True)]


CODES = {
    Refusal.STALE_TOKEN: 99991663,
    Refusal.CONFIGURATION: 99991672,
    Refusal.NOT_ALLOWED: 230035,
    Refusal.CONTENT: 230025,
    Refusal.ROUTE_GONE: 230002,
    Refusal.QUESTION_RECALLED: 230011,
}


class _Next(Script):
    def __init__(self) -> None:
        self.sends: list[str] = []
        self.unreadable = False

    def send(self, key: str) -> str:
        return self.sends.pop(0) if self.sends else "accept"

    def read(self, message: Message | None) -> str:
        return "unreachable" if self.unreadable else "ok"

    def page(self, chat: str) -> str:
        return self.read(None)


class SimStage:
    """The simulation's provider."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self._next = _Next()
        self._world = World(loop, self._next)
        life = Life(loop, "stage")

        async def point(_name: str) -> None:
            await asyncio.sleep(0)

        self.provider: DeliveryProvider = SimProvider(self._world, life, point)
        self._question = self._world.say("oc_1", "where is it?").message_id
        self._in_thread = self._world.say("oc_1", "in thread", thread="omt_1").message_id

    def route(self, place: str = "reply") -> Route:
        chat = ChatId("oc_1")
        if place == "plain":
            return Route(APP, chat, None, None)
        if place == "reply":
            return Route(APP, chat, None, MessageId(self._question))
        return Route(APP, chat, ThreadId("omt_1"), MessageId(self._in_thread))

    def now(self) -> int:
        return self._world.now

    def advance(self, ms: int) -> None:
        self._loop.skip(ms / 1000)

    def next_send(self, deed: str) -> None:
        simple = {"accept_and_lose": "lose", "lose": "never", "no_id": "no_id", "limit": "limit:7000"}
        self._next.sends.append(simple.get(deed, f"refuse:{deed}"))

    def break_reading(self) -> None:
        self._next.unreadable = True

    def forbid_history(self) -> None:
        self._world.forbidden_until = self.now() + 10**9

    def hide(self, locator: Locator) -> None:
        message = self._message(locator.message_id)
        message.readable_from = message.listed_from = self.now() + 10**9

    def reveal(self) -> None:
        for message in self._world.messages:
            message.readable_from = message.listed_from = 0

    def recall(self, message: str) -> None:
        self._message(message).recalled = True
        self._world.recalled_questions.add(message)

    def delete(self, message: str) -> None:
        self._message(message).deleted = True

    def remove_bot(self) -> None:
        self._world.gone.add("oc_1")

    async def go_offline(self) -> None:
        self._world.offline_until = self.now() + 10**9

    def alice_says(self, words: str, place: str = "plain", *, ago_ms: int = 0) -> str:
        route = self.route(place)
        message = self._world.say("oc_1", words, thread=route.thread_id, parent=route.reply_to)
        message.sent_at -= ago_ms
        return message.message_id

    def shown(self) -> list[str]:
        return [message.text for message in self._world.messages if message.ours and not message.recalled]

    def _message(self, message_id: str) -> Message:
        found = self._world.find(message_id)
        assert found is not None
        return found


async def _play_over_lark(scenario: Scenario) -> None:
    async with AsyncExitStack() as stack:
        double = await stack.enter_async_context(running())
        app = LarkApp(APP, APP_ID, SECRET, double.url)
        client = await stack.enter_async_context(LarkClient((app,), double.clock, 1.0, sleep=no_sleep))
        await scenario(LarkStage(double, client))


def play(kind: str, scenario: Scenario) -> None:
    """Run a scenario on the stage of this kind: ``lark`` or ``simulated``."""
    if kind == "lark":
        asyncio.run(_play_over_lark(scenario))
    else:
        loop = SimLoop(lambda _count: 0)
        loop.run(scenario(SimStage(loop)))
