"""What happens to a request: who calls, how often, faults before, the work, faults after, the answer, the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aiohttp import web

from providers.lark_double import answers, history
from providers.lark_double.errors import LarkError
from providers.lark_double.faults import BEFORE, Fault, FaultKind, Faults
from providers.lark_double.gate import Gate
from providers.lark_double.idempotency import Idempotency
from providers.lark_double.journal import Entry, Journal
from providers.lark_double.limits import Limits
from providers.lark_double.messages import recall
from providers.lark_double.model import App
from providers.lark_double.operations import SENDS, Call, Operation
from providers.lark_double.present import message_object
from providers.lark_double.routes_messages import history_query
from providers.lark_double.wire import Json, mapping, parse, text
from providers.lark_double.world import World

Work: TypeAlias = Callable[[Call], Json]
Plan: TypeAlias = Mapping[FaultKind, Fault]
FOREVER_MS = 1 << 62


class HungUp(Exception):
    """The connection ends here without an answer."""

    def __init__(self, *, reset: bool) -> None:
        super().__init__()
        self.reset = reset


class Answered(Exception):
    """The answer is not what the API would say."""

    def __init__(self, make: Callable[[str], web.Response]) -> None:
        super().__init__()
        self.make = make


@dataclass(slots=True)
class Pipeline:
    """Serves the open API."""

    world: World
    gate: Gate
    limits: Limits
    idempotency: Idempotency
    faults: Faults
    journal: Journal

    def handler(self, operation: Operation, work: Work) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """The aiohttp handler of one operation."""

        async def handle(request: web.Request) -> web.StreamResponse:
            return await self.serve(request, operation, work)

        return handle

    def refusing(self, code: int) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """The aiohttp handler of what there is no API for; it is in the journal all the same."""

        async def handle(request: web.Request) -> web.StreamResponse:
            entry = self.journal.open(self.world.clock.now(), request.method, request.path, Operation.UNKNOWN.value)
            error = LarkError(code)
            entry.code, entry.status = code, error.status
            return answers.refused(error, self.world.new_id("202400"))

        return handle

    async def serve(self, request: web.Request, operation: Operation, work: Work) -> web.StreamResponse:
        """Answer one request, and have it in the journal from its arrival on."""
        started = self.world.clock.now()
        entry = self.journal.open(started, request.method, request.path, operation.value)
        log_id = self.world.new_id("202400")
        response: web.Response | None = None
        try:
            raw = await request.read()
            response = await self._answer(request, operation, work, raw, entry, log_id)
        except LarkError as error:
            entry.code = error.code
            response = answers.refused(
                error, log_id, bare=error.status == answers.TOO_MANY and self.world.knobs.bare_429
            )
        except Answered as instead:
            response = instead.make(log_id)
        except HungUp as over:
            answers.hang_up(request, reset=over.reset)
        except ConnectionResetError:
            entry.body = {}  # the client was gone before its request was whole: nothing is done
        finally:
            entry.status = 0 if response is None else response.status
            entry.took_ms = self.world.clock.now() - started
            self.world.changes.ring()
        return response or web.Response(status=500)

    async def _answer(
        self, request: web.Request, operation: Operation, work: Work, raw: bytes, entry: Entry, log_id: str
    ) -> web.Response:
        body = self._body(request, raw)
        entry.body, entry.query = body, dict(request.query)
        entry.uuid = text(body, "uuid") or None
        entry.message_id = entry.target_id = request.match_info.get("message_id")
        app = self.gate.caller(request.headers.get("Authorization", ""), operation, body)
        entry.app_id = app.app_id
        if operation is not Operation.TOKEN:
            self.limits.call(app.app_id, operation.value)
        call = Call(operation, app, dict(request.match_info), entry.query, body, len(raw), entry)
        entry.chat_id = self._chat_of(call)
        self.world.changes.ring()
        plan = self.faults.strike(operation.value, app.app_id, entry.chat_id)
        entry.faults = tuple(kind.value for kind in plan)
        data = await self._do(call, work, plan)
        await self._before_answer(plan)
        envelope: Json = {"code": 0, "msg": "success" if not call.extra else "ok", **call.extra}
        if not call.extra:
            envelope["data"] = self._falsified(call, data, plan)
        entry.code = 0
        return answers.truncated(envelope, log_id) if FaultKind.TRUNCATED in plan else answers.answer(envelope, log_id)

    async def _do(self, call: Call, work: Work, plan: Plan) -> Json:
        """The work, once per uuid, with the faults that strike before it and right after it."""
        uuid = call.entry.uuid if call.operation.value in SENDS else None
        made = self.idempotency.begin(call.app.app_id, uuid) if uuid is not None else None
        try:
            await self._before_work(call, plan)
            if made is not None:
                return self._again(call, made)
            data = work(call)
            if uuid is not None and call.entry.message_id is not None:
                self.idempotency.done(call.app.app_id, uuid, call.entry.message_id)
        finally:
            if uuid is not None and not call.entry.committed and made is None:
                self.idempotency.abandon(call.app.app_id, uuid)
        self._right_after(call, plan)
        self.world.changes.ring()
        return data

    def _again(self, call: Call, made: str) -> Json:
        call.entry.repeated, call.entry.message_id = True, made
        return message_object(self.world, call.app, self.world.messages[made])

    async def _before_work(self, call: Call, plan: Plan) -> None:
        for kind in BEFORE:
            fault = plan.get(kind)
            if fault is None:
                continue
            if kind is FaultKind.DELAY_BEFORE:
                await asyncio.sleep(fault.seconds)
            elif kind is FaultKind.HOLD_BEFORE:
                if not await self.faults.hold(fault):
                    raise HungUp(reset=True)
            elif kind is FaultKind.RESET_BEFORE:
                raise HungUp(reset=True)
            else:
                self._refuse(call.app, kind, fault)

    def _refuse(self, app: App, kind: FaultKind, fault: Fault) -> None:
        if kind is FaultKind.TOKEN_EXPIRED:
            self.gate.tokens.expire(app.app_id)
            raise LarkError(99991663)
        if kind is FaultKind.RATE_LIMITED:
            error = LarkError(99991400)
            error.retry_after_s, error.limit = int(fault.seconds), self.world.knobs.app_per_second
            raise error
        if kind is FaultKind.ERROR:
            raise LarkError(fault.code, status=fault.http_status)
        raise Answered(answers.server_error if kind is FaultKind.HTTP_500 else answers.bad_gateway)

    def _right_after(self, call: Call, plan: Plan) -> None:
        message = self.world.messages.get(call.entry.message_id or "")
        if message is None:
            return
        if (hide := plan.get(FaultKind.HIDE)) is not None:
            shown_at = self.world.clock.now() + int(hide.seconds * 1000)
            message.readable_at = shown_at if hide.seconds > 0 else FOREVER_MS
        if FaultKind.RECALL_AFTER in plan:
            recall(self.world, message)

    async def _before_answer(self, plan: Plan) -> None:
        if (delay := plan.get(FaultKind.DELAY_AFTER)) is not None:
            await asyncio.sleep(delay.seconds)
        if (hold := plan.get(FaultKind.HOLD_AFTER)) is not None and not await self.faults.hold(hold):
            raise HungUp(reset=True)
        if FaultKind.DROP_AFTER in plan or FaultKind.RESET_AFTER in plan:
            raise HungUp(reset=FaultKind.RESET_AFTER in plan)
        if FaultKind.HTTP_500_AFTER in plan:
            raise Answered(answers.server_error)
        if FaultKind.HTML_502_AFTER in plan:
            raise Answered(answers.bad_gateway)

    def _falsified(self, call: Call, data: Json, plan: Plan) -> Json:
        if FaultKind.NO_MESSAGE_ID in plan:
            return {key: value for key, value in data.items() if key != "message_id"}
        if (other := plan.get(FaultKind.OTHER_CHAT)) is not None:
            return {**data, "message_id": other.message_id or self._elsewhere(call.entry.chat_id)}
        return data

    def _elsewhere(self, chat_id: str | None) -> str:
        others = [message.message_id for message in self.world.messages.values() if message.chat_id != chat_id]
        return others[-1] if others else self.world.new_id("om_")

    def _body(self, request: web.Request, raw: bytes) -> Json:
        if not raw or request.method in {"GET", "DELETE"}:
            return {}
        try:
            body = mapping(parse(raw))
        except ValueError:
            body = None
        if body is None:
            raise LarkError(9499)
        return body

    def _chat_of(self, call: Call) -> str | None:
        """The chat that a request is about, as far as it can be told before it is served."""
        if (message_id := call.path.get("message_id")) is not None:
            message = self.world.messages.get(message_id)
            return None if message is None else message.chat_id
        if call.operation is Operation.SEND and call.query.get("receive_id_type") == "chat_id":
            return text(call.body, "receive_id")
        if call.operation is Operation.LIST:
            try:
                return history.chat_of(self.world, history_query(call))
            except LarkError:
                return None
        return call.path.get("chat_id")
