"""The HTTP server: our routes behind our middlewares on one address, with limits, ended gracefully."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.typedefs import Middleware

from gateway.http.closing import CLOSING, Closing
from gateway.http.errors import SERVER, errors_middleware
from gateway.http.protocol import IDLE_S, Connection

UNSPECIFIED = {str(IPv4Address(0)): "127.0.0.1", str(IPv6Address(0)): "::1"}
"""What every address of the machine stands for when it is called from here."""

PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class PortInUse(Exception):
    """Another process listens on the address."""

    code = "port_in_use"


class AddressUnusable(Exception):
    """The address is not one of this machine, or this process may not listen on it."""

    code = "address_unusable"


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What the server holds at most."""

    connections: int = 1_000
    backlog: int = 512
    body_bytes: int = 2 * 1024 * 1024
    idle_s: float = IDLE_S
    shutdown_s: float = 3.0
    """How long requests under way may take to finish when the server ends, and then to notice that they are over."""


class HttpServer:
    """Serves ``routes`` while it is entered.

    ``port`` 0 takes a free one; read ``port`` inside. Entering raises ``PortInUse`` or ``AddressUnusable``.
    """

    def __init__(
        self,
        routes: Iterable[web.AbstractRouteDef],
        host: str,
        port: int,
        middlewares: Iterable[Middleware] = (),
        limits: ServerLimits | None = None,
    ) -> None:
        self._limits = limits or ServerLimits()
        self._host = host
        self._port = port
        application = web.Application(
            middlewares=[*middlewares, errors_middleware], client_max_size=self._limits.body_bytes
        )
        self._closing = application[CLOSING] = Closing()
        application.router.add_routes(list(routes))
        application.on_response_prepare.append(_headers)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=self._limits.shutdown_s)
        self._listener: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._port

    @property
    def url(self) -> str:
        """Where the server is reached from this machine."""
        host = UNSPECIFIED.get(self._host, self._host)
        return f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}"

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            listener = await asyncio.get_running_loop().create_server(
                self._connection,
                self._host,
                self._port,
                backlog=self._limits.backlog,
                reuse_address=True,
            )
        except OSError as error:
            await self._runner.cleanup()
            raise self._unusable(error) from None
        self._listener = listener
        self._port = listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._listener is not None:
            self._listener.close()
        self._closing.begin()
        await self._runner.cleanup()

    def _connection(self) -> Connection:
        server = self._runner.server
        if server is None:
            raise RuntimeError("The server is not running.")
        return Connection(server, self._limits.connections, self._limits.idle_s)

    def _unusable(self, error: OSError) -> PortInUse | AddressUnusable:
        address = f"{self._host}:{self._port}"
        if error.errno == errno.EADDRINUSE:
            return PortInUse(
                f"something else listens on {address}. Stop it, or set another gateway.port in steward.toml."
            )
        return AddressUnusable(
            f"cannot listen on {address} ({error.strerror or 'no such address'}). Set gateway.host and gateway.port."
        )


async def _headers(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = SERVER
    if response.content_type == "text/html":
        for name, value in PAGE_HEADERS.items():
            response.headers.setdefault(name, value)
