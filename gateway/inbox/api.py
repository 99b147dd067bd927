"""The operator's JSON: list and show requests, events that were set aside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from aiohttp import web
from sqlalchemy import Connection

from gateway.http.auth import Operator
from gateway.http.cursors import Cursors
from gateway.http.errors import ApiError, json_response
from gateway.http.paging import cursor, limit
from gateway.inbox.asking import asking
from gateway.inbox.items import Json
from gateway.inbox.path_ids import may_be_request
from gateway.inbox.reading import EVENT_STATES, STATUSES, Ask, Listing, Page, list_events, list_requests
from gateway.inbox.reading import show_request as show
from gateway.inbox.unknown import unknown_request
from manager.ledger.operators import COMMANDS
from returns.ledger.wakeups import REQUESTS, RETURNS, announce
from returns.ports import Clock, Transactions

T = TypeVar("T")

CALLER = "operator"
TRUE = frozenset({"1", "true"})
FALSE = frozenset({"0", "false"})


class InboxApi:
    """The routes under ``/api/v1`` that belong to the operator."""

    def __init__(self, transactions: Transactions, operator: Operator, cursors: Cursors, clock: Clock) -> None:
        self._transactions = transactions
        self._operator = operator
        self._cursors = cursors
        self._clock = clock

    def routes(self) -> list[web.RouteDef]:
        """What to serve."""
        return [
            web.get("/api/v1/inbox", self.list),
            web.get("/api/v1/inbox/{id}", self.show),
            web.get("/api/v1/events", self.events),
            web.post("/api/v1/wakeup", self.wake_up),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """``GET /api/v1/inbox?status=&needs_operator=&all=&cursor=&limit=``: newest first."""
        self._operator.require(request)
        at = self._clock.now() if _flag(request, "needs_operator") else None
        listing = Listing(_one_of(request, "status", STATUSES), _flag(request, "all"), at)
        if listing.status and at is not None:
            raise ApiError(400, "invalid_request", "status and needs_operator exclude each other.", "needs_operator")
        size, position = limit(request), self._position(request, listing.key)
        page = await self._read(lambda ask: list_requests(ask, listing, position, size))
        return self._page(page, listing.key)

    async def show(self, request: web.Request) -> web.Response:
        """``GET /api/v1/inbox/{id}``: one request, its timeline and lineage."""
        self._operator.require(request)
        request_id = _id(request)
        return json_response(_found(await self._read(lambda ask: show(ask, request_id))))

    async def events(self, request: web.Request) -> web.Response:
        """``GET /api/v1/events?state=parked|late|alarm&cursor=&limit=``: what was set aside, newest first."""
        self._operator.require(request)
        state = _one_of(request, "state", EVENT_STATES) or EVENT_STATES[0]
        key = f"events:{state}"
        size, position = limit(request), self._position(request, key)
        page = await self._read(lambda ask: list_events(ask, state, position, size))
        return self._page(page, key)

    async def wake_up(self, request: web.Request) -> web.Response:
        """``POST /api/v1/wakeup``: a command wrote something for us into the database."""
        self._operator.require(request)

        def ring(connection: Connection) -> None:
            for topic in (RETURNS, COMMANDS, REQUESTS):
                announce(connection, topic)

        await self._transactions.run(ring)
        return json_response({"rung": True}, 202)

    async def _read(self, work: Callable[[Ask], T]) -> T:
        return await self._transactions.read(lambda connection: work(asking(connection)))

    def _position(self, request: web.Request, key: str) -> str | None:
        given = cursor(request)
        return None if given is None else self._cursors.decode(CALLER, key, given)

    def _page(self, page: Page, key: str) -> web.Response:
        position = page.next_position
        following = None if position is None else self._cursors.encode(CALLER, key, position)
        return json_response({"items": page.items, "next_cursor": following})


def _one_of(request: web.Request, name: str, allowed: tuple[str, ...]) -> str:
    values = request.query.getall(name, [])
    if not values or values == [""]:
        return ""
    if len(values) == 1 and values[0] in allowed:
        return values[0]
    raise ApiError(400, "invalid_request", f"{name} is one of: {', '.join(allowed)}.", name)


def _flag(request: web.Request, name: str) -> bool:
    value = _one_of(request, name, (*TRUE, *FALSE))
    return value in TRUE


def _id(request: web.Request) -> str:
    given = request.match_info["id"]
    if not may_be_request(given):
        raise unknown_request()
    return given


def _found(item: Json | None) -> Json:
    if item is None:
        raise unknown_request()
    return item
