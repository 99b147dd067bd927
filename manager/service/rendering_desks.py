"""Where results are rendered: outside the event loop, one of a peer at a time, few in all.

A thread cannot be ended. Of a caller who went away its rendering stays, and holds its place, until it is over; whoever
wants the same text meanwhile shares it.
"""

from __future__ import annotations

import asyncio
from asyncio import Future, Lock, Semaphore
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from manager.ids import PeerId
from returns.decisions.document import Document

MOST_AT_ONCE: Final = 2
"""Threads share one interpreter: more of them only make everybody wait; with two, a short text passes a long one."""

Render = Callable[[str], tuple[Document, ...]]


@dataclass(frozen=True, slots=True)
class _Rendering:
    """A thread at work."""

    markdown: str
    documents: Future[tuple[Document, ...]]


class Desk:
    """The renderings of one peer. Whoever wants one waits for its ``turn``, and holds it until it is used."""

    def __init__(self, render: Render, room: Semaphore) -> None:
        self.turn = Lock()
        self._render = render
        self._room = room
        self._under_way: _Rendering | None = None

    async def documents(self, markdown: str) -> tuple[Document, ...]:
        """The messages that show ``markdown``. Call it with the ``turn``; raises what rendering raises."""
        while self._under_way is not None and self._under_way.markdown != markdown:
            await asyncio.wait([self._under_way.documents])  # left behind
        rendering = self._under_way or await self._begin(markdown)
        return await asyncio.shield(rendering.documents)

    async def _begin(self, markdown: str) -> _Rendering:
        await self._room.acquire()
        documents = asyncio.get_running_loop().run_in_executor(None, self._render, markdown)
        self._under_way = _Rendering(markdown, documents)
        documents.add_done_callback(self._end)
        return self._under_way

    def _end(self, _documents: Future[tuple[Document, ...]]) -> None:
        self._under_way = None
        self._room.release()


class RenderingDesks:
    """A desk for each peer, as long as anybody is at it."""

    def __init__(self, render: Render) -> None:
        self._render = render
        self._room = Semaphore(MOST_AT_ONCE)
        self._desks: WeakValueDictionary[PeerId, Desk] = WeakValueDictionary()

    def of(self, peer: PeerId) -> Desk:
        """The peer's desk."""
        desk = self._desks.get(peer)
        if desk is None:
            desk = self._desks[peer] = Desk(self._render, self._room)
        return desk
