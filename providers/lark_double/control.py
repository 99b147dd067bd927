"""The control API: what ``LarkDouble`` can do, for other processes. ``POST /_control/{action}`` with a JSON object.

Actions that only ask (``visible``, ``requests``, ``dump`` …) also answer ``GET`` with a query. The answer is
``{"result": …}``, or ``{"error": {"code", "message"}}`` with 400 (wrong request), 404 (not there) or 408 (not seen in
time).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web

from providers.lark_double.changes import NotSeen
from providers.lark_double.control_acting import acting_actions
from providers.lark_double.control_asking import asking_actions
from providers.lark_double.control_breaking import breaking_actions
from providers.lark_double.driven import Driven
from providers.lark_double.errors import LarkError
from providers.lark_double.wire import Json, compact, mapping, parse
from providers.lark_double.world import Unknown

Action: TypeAlias = Callable[[Json], Awaitable[object]]


_NUMBERS = frozenset({"count", "timeout_s"})


class BadRequest(Exception):
    """The request is not what the action needs."""

    code = "invalid_request"


class Control:
    """The routes under ``/_control``."""

    def __init__(self, double: Driven) -> None:
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
        action = self._actions.get(request.match_info["action"])
        if action is None:
            return _failed(404, "not_found", f"there is no action; there are: {', '.join(sorted(self._actions))}")
        try:
            return _answer(200, {"result": await action(await _arguments(request))})
        except Unknown as missing:
            return _failed(404, missing.code, str(missing))
        except NotSeen as late:
            return _failed(408, late.code, str(late))
        except LarkError as refused:
            return _failed(400, str(refused.code), refused.msg)
        except (BadRequest, ValueError, TypeError, KeyError) as wrong:
            return _failed(400, BadRequest.code, f"{type(wrong).__name__}: {wrong}")


async def _arguments(request: web.Request) -> Json:
    if request.method == "GET":
        return {key: int(value) if key in _NUMBERS else value for key, value in request.query.items()}
    raw = await request.read()
    body = mapping(parse(raw)) if raw else {}
    if body is None:
        raise BadRequest("the body must be a JSON object")
    return body


def _failed(status: int, code: str, message: str) -> web.Response:
    return _answer(status, {"error": {"code": code, "message": message}})


def _answer(status: int, body: Json) -> web.Response:
    return web.Response(body=compact(body).encode(), status=status, content_type="application/json")
