"""Answers on the wire: the envelope, its broken forms, and connections that end without one."""

from __future__ import annotations

import socket
import struct

from aiohttp import web

from providers.lark_double import errors
from providers.lark_double.errors import LarkError
from providers.lark_double.wire import Json, compact

JSON_TYPE = "application/json; charset=utf-8"
TOO_MANY = 429
_HTML_502 = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
    "<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)


def answer(body: Json, log_id: str, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """An answer with the header that names the call."""
    sent = {"Content-Type": JSON_TYPE, "X-Tt-Logid": log_id, **(headers or {})}
    return web.Response(body=compact(body).encode(), status=status, headers=sent)


def refused(error: LarkError, log_id: str, *, bare: bool = False) -> web.Response:
    """The answer that carries a refusal; ``bare`` has no JSON."""
    headers: dict[str, str] = {}
    if error.retry_after_s is not None:
        headers["x-ogw-ratelimit-reset"] = str(error.retry_after_s)
    if error.limit is not None:
        headers["x-ogw-ratelimit-limit"] = str(error.limit)
    if bare:
        return web.Response(status=error.status, headers={"X-Tt-Logid": log_id, **headers})
    return answer(errors.body(error, log_id), log_id, error.status, headers)


def truncated(body: Json, log_id: str) -> web.Response:
    """Half of an answer."""
    whole = compact(body).encode()
    headers = {"Content-Type": JSON_TYPE, "X-Tt-Logid": log_id}
    return web.Response(body=whole[: len(whole) // 2], headers=headers)


def server_error(log_id: str) -> web.Response:
    """HTTP 500 with words instead of JSON."""
    return web.Response(text="internal server error", status=500, headers={"X-Tt-Logid": log_id})


def bad_gateway(_log_id: str) -> web.Response:
    """HTTP 502 as a proxy answers it: the call has no name then."""
    return web.Response(text=_HTML_502, status=502, content_type="text/html")


def hang_up(request: web.Request, *, reset: bool) -> web.Response:
    """End the connection without an answer, with a reset if asked. What is returned goes nowhere."""
    transport = request.transport
    if transport is not None:
        connection = transport.get_extra_info("socket")
        if reset and connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response(status=500)
