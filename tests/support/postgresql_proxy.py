"""A way to the tests' PostgreSQL that can be cut, or made silent, exactly where a test wants it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

Cut = Literal["before", "after", "meanwhile"]
"""At COMMIT: before the server gets it, after the server answered it, or as soon as the server has it."""

COMMIT = b"COMMIT\0"


@dataclass
class Proxy:
    """Forwards bytes both ways, as long as it is let."""

    host: str
    port: int
    url: str = ""
    cut_next_commit: Cut | None = None
    """Cut the connection on which the next COMMIT comes along; once."""
    cuts: int = 0
    refuses: bool = False
    """New connections are closed at once."""
    silent: bool = False
    """Bytes vanish, both ways, and connections stay as they are."""
    refuses_after_cut: bool = False
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    def cut_all(self) -> None:
        """Break every connection."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection for as long as the proxy is there."""
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def end(self) -> None:
        """Break every connection and wait until nothing is under way."""
        for task in tuple(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection(self.host, self.port)
        both = {writer, back}
        self._writers |= both
        asked = _Asked()
        try:
            ways = (self._ahead(reader, back, asked), self._back(there, writer, asked))
            tasks = [asyncio.ensure_future(way) for way in ways]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            self._writers -= both
            for each in both:
                each.transport.abort()

    async def _ahead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: _Asked) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                if self.silent:
                    continue
                cut = self.cut_next_commit if COMMIT in data else None
                if cut is not None:
                    self.cut_next_commit = None
                    asked.cut = cut
                    self.refuses = self.refuses_after_cut
                if cut != "before":
                    writer.write(data)
                    await writer.drain()
                if cut in {"before", "meanwhile"}:
                    self._note_cut()
                    return

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: _Asked) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                if self.silent:
                    continue
                if asked.cut == "after":
                    self._note_cut()
                    return
                writer.write(data)
                await writer.drain()

    def _note_cut(self) -> None:
        self.cuts += 1


@dataclass
class _Asked:
    cut: Cut | None = None


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[Proxy]:
    """A proxy to the server of an address; its ``url`` leads through it."""
    parts = urlsplit(url)
    proxy = Proxy(parts.hostname or "127.0.0.1", parts.port or 5432)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    proxy.url = urlunsplit(parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}"))
    try:
        yield proxy
    finally:
        server.close()
        await proxy.end()
        await server.wait_closed()
