"""The forms of a request's page. Each is sent by the page itself: cookie and Origin are checked as everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

from aiohttp import web
from sqlalchemy import Connection

from gateway.http.auth import Operator
from gateway.http.errors import ApiError
from gateway.inbox.acts_in import FIELDS, act_of, kind_named
from gateway.inbox.pages import InboxPages
from gateway.inbox.path_ids import may_be_request
from manager.decisions.operators import Kind, OperatorRefused, Refusal
from manager.ids import RequestId
from manager.service.operators import Operators
from manager.service.operators_taking import Carried
from returns.ports import Clock, StorageUnavailable, Transactions

PAGE: Final = "page"


class ActingPages:
    """``POST /inbox/{id}/{act}``: carried out, and the request's page again with what came of it."""

    def __init__(
        self, transactions: Transactions, operator: Operator, clock: Clock, acting: Operators, pages: InboxPages
    ) -> None:
        self._transactions = transactions
        self._operator = operator
        self._clock = clock
        self._acting = acting
        self._pages = pages

    def routes(self) -> list[web.RouteDef]:
        """What to serve."""
        return [web.post("/inbox/{id}/{act}", self.act), web.get("/inbox/{id}/{act}", self.again)]

    async def again(self, request: web.Request) -> web.Response:
        """The address that a refused form leaves behind, opened once more: the request's page."""
        location = f"/inbox/{quote(request.match_info['id'], safe='')}"
        return web.Response(status=303, headers={"Location": location, "Cache-Control": "no-store"})

    async def act(self, request: web.Request) -> web.Response:
        """Carry out what the form says."""
        self._operator.check_host(request)
        self._operator.check_origin(request)
        kind, request_id = kind_named(request.match_info["act"]), request.match_info["id"]
        if not self._operator.is_operator(request):
            return self._pages.sign_in_form(request)
        if kind is None or not may_be_request(request_id):
            return self._pages.unknown(request)
        given = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
        try:
            carried = await self._carry_out(request_id, kind, given)
        except StorageUnavailable:
            return self._pages.trouble(request)
        except OperatorRefused as refused:
            if refused.refusal is Refusal.NOT_FOUND:
                return self._pages.unknown(request)
            return await self._pages.shown(request, request_id, 409, refused=refused.message)
        except ApiError as error:
            return await self._pages.shown(request, request_id, error.status, refused=error.message)
        if carried.revealed is not None:
            return await self._pages.shown(request, request_id, 200, revealed=carried.revealed)
        done = urlencode({"done": kind.value, "outcome": carried.outcome.value if carried.outcome else ""})
        location = f"/inbox/{quote(request_id, safe='')}?{done}"
        return web.Response(status=303, headers={"Location": location, "Cache-Control": "no-store"})

    async def _carry_out(self, request_id: str, kind: Kind, given: Mapping[str, str]) -> Carried:
        now = self._clock.now()
        field = FIELDS.get(kind)
        act = act_of(kind, {name: value for name, value in given.items() if name == field}, now)
        who = given.get("who", "").strip() or PAGE

        def work(connection: Connection) -> Carried:
            return self._acting.carry_out(connection, RequestId(request_id), act, who, now)

        return await self._transactions.run(work)
