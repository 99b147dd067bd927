"""The peer's HTTP API: ``/api/v1/peer``. The token is looked at before anything else, the body last."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from aiohttp import web

from gateway.api import peer_shapes as shapes
from gateway.api.peer_bodies import (
    AssessmentIn,
    DelegationIn,
    PresenceIn,
    PresentedIn,
    ProgressIn,
    ResultIn,
    Strict,
    parse,
)
from gateway.http import paging
from gateway.http.body import read_json
from gateway.http.closing import CLOSING
from gateway.http.cursors import Cursors, invalid_cursor
from gateway.http.errors import HEADERS, ApiError, json_response
from manager.decisions.peer_writes import Write
from manager.ids import RequestId
from manager.ledger.holdings import Held
from manager.ledger.peers import Peer
from manager.service.peer_inbox import PeerInbox
from manager.service.telling import Telling
from returns.ids import Millis
from returns.ports import Clock, Transactions

LONGEST_KEY: Final = 200
LONGEST_WAIT_S: Final = 30
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_POSITION: Final = re.compile(r"([0-9]{1,15}):([0-9]{1,15})")
_WAIT: Final = re.compile(r"[0-9]{1,2}")

B = TypeVar("B", bound=Strict)


class PeerApi:
    """The routes that peers use."""

    __slots__ = ("_cursors", "_inbox")

    def __init__(
        self,
        transactions: Transactions,
        clock: Clock,
        new_id: Callable[[str], str],
        telling: Telling,
        cursors: Cursors,
    ) -> None:
        self._inbox = PeerInbox(transactions, clock, new_id, telling)
        self._cursors = cursors

    def routes(self) -> list[web.RouteDef]:
        """All routes, for the application's router."""
        base = "/api/v1/peer"
        one = f"{base}/requests/{{request_id}}"
        return [
            web.get(f"{base}/requests", self._list),
            web.get(one, self._read),
            web.post(f"{one}/presented", self._presented),
            web.post(f"{one}/assessment", self._assessment),
            web.post(f"{one}/progress", self._progress),
            web.post(f"{one}/result", self._result),
            web.post(f"{base}/requests", self._delegate),
            web.put(f"{base}/presence", self._presence),
        ]

    async def _list(self, request: web.Request) -> web.StreamResponse:
        peer = await self._peer(request)
        state = request.query.get("state", "open")
        if state not in {"open", "all"}:
            raise ApiError(400, "invalid_request", "state is open or all.", "state")
        wait_s, limit, cursor = _wait_s(request), paging.limit(request), paging.cursor(request)
        query = f"peer.requests.{state}"
        after = None if cursor is None else _position(self._cursors.decode(peer.peer_id, query, cursor))
        page = self._inbox.page(peer.peer_id, only_open=state == "open", after=after, limit=limit + 1, wait_s=wait_s)
        found = await request.app[CLOSING].unless(page) or ()
        more = len(found) > limit
        next_cursor = self._cursors.encode(peer.peer_id, query, _place(found[limit - 1])) if more else None
        return json_response({"items": [shapes.item(held) for held in found[:limit]], "next_cursor": next_cursor})

    async def _read(self, request: web.Request) -> web.StreamResponse:
        peer = await self._peer(request)
        read = await self._inbox.read(peer.peer_id, _request_id(request))
        if read is None:
            raise _not_found()
        return json_response(shapes.reading(read))

    async def _presented(self, request: web.Request) -> web.StreamResponse:
        return await self._write(request, PresentedIn, lambda body: body.write(_request_id(request)))

    async def _assessment(self, request: web.Request) -> web.StreamResponse:
        return await self._write(request, AssessmentIn, lambda body: body.write(_request_id(request)))

    async def _progress(self, request: web.Request) -> web.StreamResponse:
        return await self._write(request, ProgressIn, lambda body: body.write(_request_id(request)))

    async def _result(self, request: web.Request) -> web.StreamResponse:
        return await self._write(request, ResultIn, lambda body: body.write(_request_id(request)))

    async def _delegate(self, request: web.Request) -> web.StreamResponse:
        return await self._write(request, DelegationIn, DelegationIn.write)

    async def _presence(self, request: web.Request) -> web.StreamResponse:
        return await self._write(request, PresenceIn, PresenceIn.write)

    async def _write(self, request: web.Request, model: type[B], write: Callable[[B], Write]) -> web.StreamResponse:
        peer = await self._peer(request)
        key = _idempotency_key(request)
        body = (await read_json(request)).data
        operation = write(parse(model, body))
        reply = await self._inbox.write(peer, key, _digest(request, body), operation)
        return web.Response(
            body=reply.body.encode(), status=reply.status, headers=HEADERS, content_type="application/json"
        )

    async def _peer(self, request: web.Request) -> Peer:
        values = request.headers.getall("Authorization", [])
        scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
        if scheme.lower() != "bearer" or not token.strip():
            raise _unauthenticated("Send the peer's token as Authorization: Bearer.")
        peer = await self._inbox.authenticate(token.strip())
        if peer is None:
            raise _unauthenticated("This gateway does not know this token. Send the one that `peers add` printed here.")
        return peer


def _unauthenticated(message: str) -> ApiError:
    return ApiError(401, "unauthenticated", message, headers={"WWW-Authenticate": "Bearer"})


def _idempotency_key(request: web.Request) -> str:
    values = request.headers.getall("Idempotency-Key", [])
    if not values or not values[0].strip():
        message = f"Send an Idempotency-Key of 1 to {LONGEST_KEY} characters, a new one for each new write."
        raise ApiError(400, "missing_idempotency_key", message, "Idempotency-Key")
    if len(values) > 1 or len(values[0]) > LONGEST_KEY or not values[0].isprintable():
        message = f"Idempotency-Key is one header of 1 to {LONGEST_KEY} printable characters."
        raise ApiError(400, "invalid_request", message, "Idempotency-Key")
    return values[0]


def _digest(request: web.Request, body: Mapping[str, object]) -> str:
    same = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{request.method} {request.path}\n{same}".encode()).hexdigest()


def _request_id(request: web.Request) -> RequestId:
    request_id = request.match_info["request_id"]
    if _ID.fullmatch(request_id) is None:
        raise _not_found()
    return RequestId(request_id)


def _wait_s(request: web.Request) -> int:
    value = request.query.get("wait_s", "0")
    if _WAIT.fullmatch(value) is None or int(value) > LONGEST_WAIT_S:
        raise ApiError(400, "invalid_request", f"wait_s is a whole number from 0 to {LONGEST_WAIT_S}.", "wait_s")
    return int(value)


def _position(text: str) -> tuple[Millis, int]:
    found = _POSITION.fullmatch(text)
    if found is None:
        raise invalid_cursor()
    return Millis(int(found[1])), int(found[2])


def _place(held: Held) -> str:
    return f"{held.view.stored_at}:{held.seq}"


def _not_found() -> ApiError:
    return ApiError(404, "not_found", "There is no such request of yours.")
