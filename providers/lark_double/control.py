"""The control API: what ``LarkDouble`` can do, for other processes. ``POST /_control/{action}`` with a JSON object.

Actions that only ask (``visible``, ``requests``, ``dump`` …) also answer ``GET`` with a query. The answer is
``{"result": …}``, or ``{"error": {"code", "message"}}`` with 400 (wrong request), 404 (not there) or 408 (not seen in
time). A request is read whole before anything is done: one that is refused has changed nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web

from providers.lark_double.changes import NotSeen
from providers.lark_double.control_acting import acting_actions
from providers.lark_double.control_asking import asking_actions
from providers.lark_double.control_breaking import breaking_actions
from providers.lark_double.control_fields import BadRequest, Fields, Form, check
from providers.lark_double.control_table import ASKING, fields_of
from providers.lark_double.driven import Driven
from providers.lark_double.errors import LarkError
from providers.lark_double.wire import Json, compact, mapping, parse
from providers.lark_double.world import Unknown

Action: TypeAlias = Callable[[Json], Awaitable[object]]


class Control:
    """The routes under ``/_control``."""

    def __init__(self, double: Driven) -> None:
        self._double = double
        self._actions: dict[str, Action] = {
            **acting_actions(double),
            **breaking_actions(double),
            **asking_actions(double),
        }

    def register(self, application: web.Application) -> None:
        """Add the routes to an application."""
        application.router.add_route("GET", "/_control/{action}", self._handle)
        application.router.add_route("POST", "/_control/{action}", self._handle)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["action"]
        action = self._actions.get(name)
        if action is None:
            return _failed(404, "not_found", f"there is no such action; there are: {', '.join(sorted(self._actions))}")
        try:
            body = _query(name, request) if request.method == "GET" else await _body(request)
            check(self._double, name, fields_of(name, body.get("for")), body)
            return _answer(200, {"result": await action(body)})
        except Unknown as missing:
            return _failed(404, missing.code, str(missing))
        except NotSeen as late:
            return _failed(408, late.code, str(late))
        except LarkError as refused:
            return _failed(400, str(refused.code), refused.msg)
        except BadRequest as wrong:
            return _failed(400, wrong.code, str(wrong))


async def _body(request: web.Request) -> Json:
    if request.query:
        raise BadRequest("a POST has its fields in the body, as JSON, and nothing in the query")
    raw = await request.read()
    try:
        body = mapping(parse(raw)) if raw else {}
    except (ValueError, RecursionError) as wrong:
        raise BadRequest(f"the body must be a JSON object: {wrong}") from wrong
    if body is None:
        raise BadRequest("the body must be a JSON object")
    return body


def _query(action: str, request: web.Request) -> Json:
    if action not in ASKING:
        raise BadRequest(f"{action} changes something: POST it; these answer GET: {', '.join(ASKING)}")
    fields = fields_of(action, request.query.get("for"))
    return {name: _value(fields, name, request.query.getall(name)) for name in request.query}


def _value(fields: Fields, name: str, given: list[str]) -> object:
    form = fields[name].form if name in fields else Form.TEXT
    if form is Form.SEVERAL:
        return given
    if len(given) > 1:
        raise BadRequest(f"{name} is given more than once")
    if form is Form.TEXT:
        return given[0]
    try:
        return parse(given[0])
    except ValueError:
        return given[0]


def _failed(status: int, code: str, message: str) -> web.Response:
    return _answer(status, {"error": {"code": code, "message": message}})


def _answer(status: int, body: Json) -> web.Response:
    return web.Response(body=compact(body).encode(), status=status, content_type="application/json")
