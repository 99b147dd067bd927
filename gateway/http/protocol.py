"""One connection of the server: bounded in number, in headers and in patience; broken requests get our error shape.

The server library answers what it cannot parse by itself, in plain text that quotes the request; here it is JSON
that quotes nothing.
"""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web
from aiohttp.abc import AbstractAccessLogger
from aiohttp.http_exceptions import LineTooLong

from gateway.http.errors import SERVER, error_response, plain_error

LINE_BYTES = 8 * 1024
FIELD_BYTES = 16 * 1024
HEADERS = 100
IDLE_S = 75.0
"""Also how long the headers of a request may take to arrive."""
LINGER_S = 1.0
"""How long a refused body is still read, so that the refusal arrives."""

BAD_REQUEST = 400

logger = logging.getLogger(__name__)


class NoAccessLog(AbstractAccessLogger):
    """Requests are counted and timed, not logged: a path may be private."""

    @property
    def enabled(self) -> bool:
        """Never."""
        return False

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        """Nothing."""


class Connection(web.RequestHandler):
    """A connection; closed at once when there are ``most`` others."""

    __slots__ = ("_most", "_others")

    def __init__(self, server: web.Server, most: int, idle_s: float = IDLE_S) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log_class=NoAccessLog,
            auto_decompress=False,
            keepalive_timeout=idle_s,
            lingering_time=LINGER_S,
            max_line_size=LINE_BYTES,
            max_field_size=FIELD_BYTES,
            max_headers=HEADERS,
        )
        self._others = server
        self._most = most

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or close it when there are too many."""
        super().connection_made(transport)
        if len(self._others.connections) > self._most:
            self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a request that could not be parsed or handled; the connection ends with it."""
        if request.writer.output_size > 0:
            raise ConnectionError("A part of the answer is sent already.")
        if status == BAD_REQUEST:
            logger.info("A request could not be parsed: %s.", type(exc).__name__)
        elif isinstance(exc, ConnectionError):
            logger.info("A caller went away before its request was read.")
        else:
            logger.error("A request failed in a way that was not foreseen.", exc_info=exc)
        response = error_response(plain_error(431 if isinstance(exc, LineTooLong) else status))
        response.headers["Server"] = SERVER
        response.force_close()
        return response
