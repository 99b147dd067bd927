"""The double itself: a server on loopback that speaks Lark's open API, and the methods to drive it.

``async with LarkDouble.start(port=0) as double`` serves at ``double.url``. The control API for other processes is under
``/_control/`` there, and on a port of its own (``double.control_url``) that stays up while the double is offline.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from email.utils import formatdate

import aiohttp
from aiohttp import web

from providers.lark_double.clock import DoubleClock
from providers.lark_double.control import Control
from providers.lark_double.driven import Driven
from providers.lark_double.listening import Listener
from providers.lark_double.operations import Call, Operation
from providers.lark_double.pipeline import Work
from providers.lark_double.routes_chats import ChatRoutes
from providers.lark_double.routes_messages import MessageRoutes
from providers.lark_double.routes_reactions import ReactionRoutes
from providers.lark_double.wire import Json

MAX_BODY_BYTES = 8 * 1024 * 1024


class LarkDouble(Driven):
    """A local Lark."""

    def __init__(self, host: str, port: int, control_port: int, clock: DoubleClock | None) -> None:
        super().__init__(clock)
        self._front = Listener(host, port, self._application())
        self._back = Listener(host, control_port, self._control_application())

    @classmethod
    @asynccontextmanager
    async def start(
        cls, port: int = 0, *, host: str = "127.0.0.1", control_port: int = 0, clock: DoubleClock | None = None
    ) -> AsyncGenerator[LarkDouble]:
        """Serve until the block is left; port 0 takes a free one."""
        double = cls(host, port, control_port, clock)
        await double.background.start()
        try:
            async with aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
            ) as client:
                double.pusher.open(client)
                await double._serve()
                try:
                    yield double
                finally:
                    double.faults.release(go_on=False)
                    await double.background.stop()
                    await double._close()
        finally:
            await double.background.stop()

    @property
    def url(self) -> str:
        """Where the open API is: an app's ``domain``."""
        return self._front.url

    @property
    def control_url(self) -> str:
        """Where only the control API is, also while offline."""
        return self._back.url

    async def go_offline(self) -> None:
        """Refuse connections, and reset those that there are."""
        await self._front.down()

    async def go_online(self) -> None:
        """Listen again, at the same address."""
        await self._front.up()

    async def _serve(self) -> None:
        await self._front.up()
        await self._back.up()

    async def _close(self) -> None:
        await self._front.close()
        await self._back.close()

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        application.on_response_prepare.append(self._date)
        messages, chats, reactions = (
            MessageRoutes(self.world, self.limits),
            ChatRoutes(self.world),
            ReactionRoutes(self.world),
        )
        base, one = "/open-apis/im/v1/messages", "/open-apis/im/v1/messages/{message_id}"
        chat = "/open-apis/im/v1/chats/{chat_id}"
        table: list[tuple[str, str, Operation, Work]] = [
            ("POST", "/open-apis/auth/v3/tenant_access_token/internal", Operation.TOKEN, self._token),
            ("POST", "/open-apis/auth/v3/app_access_token/internal", Operation.TOKEN, self._token),
            ("POST", base, Operation.SEND, messages.send),
            ("GET", base, Operation.LIST, messages.list),
            ("POST", f"{one}/reply", Operation.REPLY, messages.reply),
            ("GET", one, Operation.GET, messages.get),
            ("PUT", one, Operation.EDIT, messages.edit),
            ("DELETE", one, Operation.RECALL, messages.recall),
            ("POST", f"{one}/reactions", Operation.REACT, reactions.create),
            ("GET", f"{one}/reactions", Operation.REACTIONS, reactions.list),
            ("DELETE", f"{one}/reactions/{{reaction_id}}", Operation.UNREACT, reactions.delete),
            ("GET", "/open-apis/im/v1/chats", Operation.CHATS, chats.list),
            ("GET", chat, Operation.CHAT, chats.get),
            ("GET", f"{chat}/members", Operation.MEMBERS, chats.members),
            ("GET", f"{chat}/members/is_in_chat", Operation.IS_IN_CHAT, chats.is_in_chat),
            ("GET", "/open-apis/bot/v3/info", Operation.BOT_INFO, chats.bot_info),
            ("GET", "/open-apis/contact/v3/users/{user_id}", Operation.USER, chats.user),
        ]
        known: set[str] = set()
        for method, path, operation, work in table:
            application.router.add_route(method, path, self.pipeline.handler(operation, work))
            known.add(path)
        Control(self).register(application)
        for path in sorted(known):
            application.router.add_route("*", path, self.pipeline.refusing(99991301))
        application.router.add_route("*", "/{rest:.*}", self.pipeline.refusing(99991201))
        return application

    async def _date(self, _request: web.Request, response: web.StreamResponse) -> None:
        """Answers bear the double's own time, as Lark's bear Lark's."""
        response.headers["Date"] = formatdate(self.clock.now() // 1000, usegmt=True)

    def _control_application(self) -> web.Application:
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        Control(self).register(application)
        return application

    def _token(self, call: Call) -> Json:
        value, expire = self.tokens.issue(call.app.app_id)
        call.extra.update({"tenant_access_token": value, "expire": expire})
        if "app_access_token" in call.entry.path:
            call.extra["app_access_token"] = value
        return {}
