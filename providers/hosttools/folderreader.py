"""A workspace without git: its files as they are, each at the digest of its content."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

from manager.ports import Commits, HostStatus, Line, Lines, WorkspaceView
from providers.hosttools.folders import Content, Folder, Stopped
from providers.hosttools.limits import Limits
from providers.hosttools.paths import Hidden, clean
from providers.hosttools.process import Processes
from providers.hosttools.reader import Listing, Query
from providers.hosttools.refusals import Denied, Unavailable
from providers.hosttools.text import excerpt, is_binary, lines_of, matcher, passage

T = TypeVar("T")
_NO_HISTORY: Final = "this workspace has no git history"
_RIPGREP: Final = (
    "--no-config",
    "--files-with-matches",
    "--null",
    "--fixed-strings",
    "--hidden",
    "--no-ignore",
    "--no-follow",
    "--no-messages",
    "--color=never",
)


class FolderReader:
    """One folder without git of a session; fulfils ``Reader``."""

    def __init__(
        self, name: str, root: Path, hidden: Hidden, limits: Limits, processes: Processes, ripgrep: str | None
    ) -> None:
        self._name = name
        self._root = root
        self._folder = Folder(root, hidden, limits)
        self._hidden = hidden
        self._limits = limits
        self._processes = processes
        self._ripgrep = ripgrep
        self._files: tuple[dict[str, bytes], bool] | None = None
        self._listing = asyncio.Lock()

    @property
    def view(self) -> WorkspaceView:
        """The workspace as this turn sees it."""
        return WorkspaceView(self._name, False, None, None, None)

    async def files(self) -> Listing:
        """The regular files."""
        found, truncated = await self._listed()
        return Listing(tuple(found), truncated)

    async def search(self, query: Query) -> Lines:
        """Lines of text files that contain the query's text."""
        found, truncated = await self._listed()
        candidates = await self._candidates(found, query) if self._ripgrep else found.items()
        lines = await self._bounded(lambda stop: self._search(candidates, query, stop))
        return lines if lines.truncated or not truncated else Lines(HostStatus.OK, lines.lines, truncated=True)

    async def read(self, path: str, *, start: int, count: int) -> Lines:
        """Lines of a regular file."""
        cleaned = clean(path)
        self._hidden.refuse(cleaned)
        listed = self._files[0] if self._files else {}
        raw = listed.get(cleaned) or cleaned.encode("utf-8", "surrogateescape")
        content = await self._bounded(lambda _stop: self._folder.read(raw))
        if is_binary(content.data):
            raise Denied("this is a binary file")
        lines = lines_of(content.data)
        texts = passage(lines, start=start, count=count, limit=self._limits.line_chars)
        return Lines(
            HostStatus.OK,
            tuple(self._line(cleaned, start + offset, text, content) for offset, text in enumerate(texts)),
            truncated=len(lines) > start - 1 + len(texts),
        )

    async def log(self, *, path: str | None, text: str | None, limit: int) -> Commits:
        """Raises ``Unavailable``: there is no history."""
        raise Unavailable(_NO_HISTORY)

    async def blame(self, path: str, *, line: int) -> Commits:
        """Raises ``Unavailable``: there is no history."""
        raise Unavailable(_NO_HISTORY)

    async def commit(self, revision: str) -> Commits:
        """Raises ``Unavailable``: there is no history."""
        raise Unavailable(_NO_HISTORY)

    async def _listed(self) -> tuple[dict[str, bytes], bool]:
        async with self._listing:
            if self._files is None:
                self._files = await self._bounded(self._folder.walk)
            return self._files

    async def _candidates(self, found: dict[str, bytes], query: Query) -> Iterable[tuple[str, bytes]]:
        """The listed files that ripgrep points at. It only points: each is opened, and searched again, by ourselves."""
        options = ["--ignore-case"] if query.ignore_case else ["--case-sensitive"]
        size = f"--max-filesize={self._limits.file_bytes}"
        try:
            ran = await self._processes.run(
                [self._ripgrep or "rg", *_RIPGREP, *options, size, "-e", query.text, "--", "./"],
                cwd=self._root,
                environment={},
            )
        except Unavailable:
            return found.items()
        if ran.status not in {0, 1}:
            return found.items()
        named = {name.removeprefix(b"./") for name in ran.output.split(b"\0")}
        return [(path, raw) for path, raw in found.items() if raw in named]

    def _search(self, candidates: Iterable[tuple[str, bytes]], query: Query, stop: threading.Event) -> Lines:
        pattern = matcher(query.text, whole_word=query.whole_word, ignore_case=query.ignore_case)
        lines: list[Line] = []
        budget = self._limits.walk_bytes
        for path, raw in candidates:
            if stop.is_set():
                raise Stopped
            if budget <= 0:
                return Lines(HostStatus.OK, tuple(lines), truncated=True)
            try:
                content = self._folder.read(raw)
            except (Denied, Unavailable):
                continue
            budget -= len(content.data)
            lines += self._matches(path, content, pattern)
            if len(lines) > query.limit:
                return Lines(HostStatus.OK, tuple(lines[: query.limit]), truncated=True)
        return Lines(HostStatus.OK, tuple(lines))

    def _matches(self, path: str, content: Content, pattern: re.Pattern[str]) -> list[Line]:
        if is_binary(content.data):
            return []
        found: list[Line] = []
        for number, text in enumerate(lines_of(content.data), start=1):
            if not pattern.search(text):
                continue
            safe = excerpt(text, pattern, limit=self._limits.line_chars)
            if safe is not None:
                found.append(self._line(path, number, safe, content))
        return found

    def _line(self, path: str, number: int, text: str, content: Content) -> Line:
        return Line(self._name, path, number, text, content.revision)

    async def _bounded(self, work: Callable[[threading.Event], T]) -> T:
        """Run blocking ``work`` in a worker that is told to stop when nobody waits for it any more."""
        stop = threading.Event()
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await asyncio.to_thread(work, stop)
        except TimeoutError as error:
            raise Unavailable(f"it took longer than {self._limits.seconds:g} s") from error
        except OSError as error:
            raise Unavailable("the folder could not be read") from error
        finally:
            stop.set()
