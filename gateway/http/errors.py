"""Answers and errors over HTTP: JSON, one shape, nothing private.

An error is ``{"error": {"code", "message", "field"}}``; ``message`` says what is wrong and what to do.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from aiohttp import web

from returns.ports import StorageUnavailable

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

OURS = 500
"""From here on a status says that we were wrong, not the caller."""

REFUSED = 400

logger = logging.getLogger(__name__)

SERVER = "lark-steward"
"""What answers say of the software: no versions."""

HEADERS: Mapping[str, str] = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

PLAIN: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request", "The request is not well formed."),
    401: ("unauthenticated", "Send a valid token as Authorization: Bearer."),
    403: ("forbidden", "This is not allowed."),
    404: ("not_found", "There is nothing here."),
    405: ("method_not_allowed", "This address does not take this method."),
    408: ("timeout", "The request did not arrive in time. Send it again."),
    413: ("too_large", "The request is too large. Send less."),
    415: ("unsupported_media_type", "Send uncompressed application/json."),
    429: ("slow_down", "Too many requests. Wait a moment and try again."),
    431: ("headers_too_large", "The request's headers are too large. Send fewer or shorter ones."),
    500: ("internal", "Something went wrong here; it is in the log. Try again later."),
    503: ("unavailable", "The service cannot do this now. Try again in a moment."),
}


class ApiError(Exception):
    """Refuses a request: HTTP ``status``, a stable ``code``, a sentence, and the field at fault where there is one."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.headers: Mapping[str, str] = dict(headers or {})


def plain_error(status: int) -> ApiError:
    """The error that a bare HTTP status stands for."""
    code, message = PLAIN.get(status) or PLAIN[REFUSED if status < OURS else OURS]
    return ApiError(status, code, message)


def json_response(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """``data`` as a JSON answer that nothing on the way may store."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return web.Response(
        body=body, status=status, headers={**HEADERS, **(headers or {})}, content_type="application/json"
    )


def error_response(error: ApiError) -> web.Response:
    """The answer that tells ``error``."""
    data = {"error": {"code": error.code, "message": error.message, "field": error.field}}
    return json_response(data, error.status, error.headers)


def from_http_exception(error: web.HTTPException) -> ApiError:
    """A refusal by the server library, in our shape and without its text."""
    plain = plain_error(error.status)
    allow = error.headers.get("Allow")
    return ApiError(error.status, plain.code, plain.message, headers={"Allow": allow} if allow else None)


@web.middleware
async def errors_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn everything that a handler raises into the one error shape; what was not foreseen tells no details."""
    try:
        return await handler(request)
    except ApiError as error:
        return error_response(error)
    except StorageUnavailable:
        return error_response(
            ApiError(503, "unavailable", "The database cannot be reached or written. Try again in a moment.")
        )
    except web.HTTPException as error:
        if error.status < REFUSED:
            raise
        return error_response(from_http_exception(error))
    except ConnectionError:
        raise
    except Exception:
        logger.exception("A request failed in a way that was not foreseen.")
        return error_response(plain_error(500))
