"""A listening address that can go down and come up again."""

from __future__ import annotations

from aiohttp import web

SHUTDOWN_S = 0.2


class Listener:
    """Serves one application at one address."""

    def __init__(self, host: str, port: int, application: web.Application) -> None:
        self._host = host
        self._port = port
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)
        self._site: web.TCPSite | None = None
        self._set_up = False

    @property
    def url(self) -> str:
        """The address, once it was up."""
        return f"http://{self._host}:{self._port}"

    async def up(self) -> None:
        """Listen; at a port that is free, the first time, where port 0 was asked for. Raises ``OSError``."""
        if self._site is not None:
            return
        if not self._set_up:
            await self._runner.setup()
            self._set_up = True
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self._site = site
        if self._port == 0:
            self._port = int(self._runner.addresses[0][1])

    async def down(self) -> None:
        """Refuse connections, and reset those that there are."""
        if self._site is None:
            return
        await self._site.stop()
        self._site = None
        server = self._runner.server
        for connection in [] if server is None else list(server.connections):
            transport = getattr(connection, "transport", None)
            if transport is not None:
                transport.abort()

    async def close(self) -> None:
        """Stop for good."""
        await self._runner.cleanup()
