"""A way to a server that can be cut, or frozen, and mended."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

CHUNK = 65_536


class Tunnel:
    """A port of its own on loopback that leads to another one, as long as it is not cut."""

    def __init__(self, to_port: int) -> None:
        self._to = to_port
        self._server: asyncio.Server | None = None
        self._carrying: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._whole = True
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in tuple(self._carrying):
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def cut(self) -> None:
        """End every connection and let no new one through, as a network that resets."""
        self._whole = False
        for writer in tuple(self._writers):
            writer.transport.abort()

    def freeze(self) -> None:
        """Keep the connections and carry nothing any more, as a network that says nothing."""
        self._flows.clear()

    def mend(self) -> None:
        """Carry again."""
        self._whole = True
        self._flows.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        try:
            if self._whole:
                await self._carry_both(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._carrying.discard(task)

    async def _carry_both(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        ends = {writer, far_writer}
        self._writers |= ends
        try:
            both = [self._carry(reader, far_writer), self._carry(far_reader, writer)]
            await asyncio.gather(*both)
        finally:
            far_writer.transport.abort()
            self._writers -= ends

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(CHUNK):
                await self._flows.wait()
                writer.write(chunk)
                await writer.drain()
        writer.transport.abort()
