"""``POST /api/v1/inbox/{id}/{verify|found|resend|cancel|note|snooze|reveal}``: the operator's hands over HTTP."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from sqlalchemy import Connection

from gateway.http.auth import Operator
from gateway.http.body import read_json
from gateway.http.errors import HEADERS, ApiError
from gateway.inbox.acts_in import act_of, kind_named, who_of
from gateway.inbox.asking import asking
from gateway.inbox.items import Json
from gateway.inbox.path_ids import may_be_request
from gateway.inbox.reading import candidates, get_item
from gateway.inbox.unknown import unknown_request
from manager.decisions.operators import Act, Kind, OperatorRefused, Refusal
from manager.ids import RequestId
from manager.ledger import idempotency
from manager.service.operators import Operators
from manager.service.operators_taking import Carried
from returns.ids import Millis
from returns.ports import Clock, Transactions

CALLER: Final = "operator"
API: Final = "api"
LONGEST_KEY: Final = 200
MOST_BYTES: Final = 64 * 1024

STATUS: Final = {Refusal.NOT_FOUND: 404, Refusal.INVALID: 400, Refusal.NO_CANDIDATE: 400}
"""Other refusals are 409."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it is sent, the same whenever its key is used again."""

    status: int
    body: str


class ActingApi:
    """The routes that act."""

    def __init__(self, transactions: Transactions, operator: Operator, clock: Clock, acting: Operators) -> None:
        self._transactions = transactions
        self._operator = operator
        self._clock = clock
        self._acting = acting

    def routes(self) -> list[web.RouteDef]:
        """What to serve."""
        return [web.post("/api/v1/inbox/{id}/{act}", self.act)]

    async def act(self, request: web.Request) -> web.Response:
        """Carry out what the path names; the body is a JSON object with what it needs, or nothing."""
        self._operator.require(request)
        kind, request_id = kind_named(request.match_info["act"]), request.match_info["id"]
        if kind is None:
            raise ApiError(404, "not_found", "There is nothing here.")
        if not may_be_request(request_id):
            raise unknown_request()
        key, who, now = _key(request), who_of(request, API), self._clock.now()
        body = (await read_json(request, MOST_BYTES)).data if request.body_exists else {}
        act = act_of(kind, body, now)
        digest = hashlib.sha256(f"{request.path}\n{json.dumps(body, sort_keys=True)}\n{who}".encode()).hexdigest()

        def work(connection: Connection) -> Reply:
            return self._once(connection, RequestId(request_id), kind, act, who, key, digest, now)

        reply = await self._transactions.run(work)
        return web.Response(
            body=reply.body.encode(), status=reply.status, headers=HEADERS, content_type="application/json"
        )

    def _once(
        self,
        connection: Connection,
        request_id: RequestId,
        kind: Kind,
        act: Act,
        who: str,
        key: str | None,
        digest: str,
        now: Millis,
    ) -> Reply:
        if key is None or kind is Kind.REVEAL:  # what is private is kept nowhere else
            return self._reply(connection, request_id, kind, act, who, now)
        match idempotency.claim(connection, CALLER, key, digest, now):
            case idempotency.Stored(status, body):
                return Reply(status, body)
            case idempotency.Conflict():
                message = "This Idempotency-Key was used for another request; use a new one."
                raise ApiError(409, "idempotency_conflict", message)
            case None:
                reply = self._reply(connection, request_id, kind, act, who, now)
                idempotency.settle(connection, CALLER, key, reply.status, reply.body)
                return reply

    def _reply(
        self, connection: Connection, request_id: RequestId, kind: Kind, act: Act, who: str, now: Millis
    ) -> Reply:
        try:
            with connection.begin_nested():  # what is refused has moved nothing, but its key is kept
                carried = self._acting.carry_out(connection, request_id, act, who, now)
        except OperatorRefused as refused:
            error = {"code": refused.code, "message": refused.message, "field": refused.field}
            return Reply(STATUS.get(refused.refusal, 409), json.dumps({"error": error}))
        ask = asking(connection)
        item = get_item(ask, request_id) or {}
        told = _told(kind, carried, item, candidates(ask, request_id))
        return Reply(202 if carried.outcome is None else 200, json.dumps(told, ensure_ascii=False))


def _told(kind: Kind, carried: Carried, item: Json, found: list[Json]) -> Json:
    told: Json = {
        "command": {
            "id": carried.command_id,
            "kind": kind.value,
            "outcome": carried.outcome.value if carried.outcome else None,
        },
        "looking": carried.outcome is None,
        "item": item,
        "candidates": found,
    }
    return told if carried.revealed is None else {**told, "revealed": dict(carried.revealed)}


def _key(request: web.Request) -> str | None:
    keys = request.headers.getall("Idempotency-Key", [])
    if not keys:
        return None
    if len(keys) > 1 or not keys[0].strip() or len(keys[0]) > LONGEST_KEY or not keys[0].isprintable():
        message = f"Idempotency-Key is one header of 1 to {LONGEST_KEY} printable characters."
        raise ApiError(400, "invalid_request", message, "Idempotency-Key")
    return keys[0]
