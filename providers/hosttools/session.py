"""The host for one turn: every workspace that the audience may see, asked side by side, answers put together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from manager.ports import Commits, HostStatus, Line, Lines, Paths, WorkspaceView
from providers.hosttools.reader import Closed, Listing, Query, Reader, no_commits, no_lines
from providers.hosttools.refusals import Denied, Unavailable

T = TypeVar("T")
MOST: Final = 1000
"""The most lines, paths or commits that one call gives."""
_LONGEST: Final = 200
_NOTHING_OPEN: Final = "no workspace is open to this conversation"


class Session:
    """Fulfils ``manager.ports.HostSession``. Nothing raises for what the host does."""

    def __init__(self, readers: Sequence[Reader | Closed]) -> None:
        self._readers = {reader.view.name: reader for reader in readers}

    @property
    def workspaces(self) -> tuple[WorkspaceView, ...]:
        """The workspaces that this audience may read."""
        return tuple(reader.view for reader in self._readers.values())

    async def find_files(self, fragment: str, *, limit: int = 20) -> Paths:
        """Files whose path contains ``fragment`` (case-insensitive): the same name first, then the shortest path."""
        wanted = fragment.strip().strip("/").casefold()
        if not wanted:
            return Paths(HostStatus.OK)
        answers = await self._each(lambda reader: reader.files())
        found: list[tuple[tuple[int, int, str], tuple[str, str]]] = []
        for name, answer in answers:
            if isinstance(answer, Listing):
                found += [(rank(path, wanted), (name, path)) for path in answer.paths if wanted in path.casefold()]
        found.sort()
        failures = [answer for _, answer in answers if isinstance(answer, (Denied, Unavailable))]
        cut = any(isinstance(answer, Listing) and answer.truncated for _, answer in answers)
        most = _bound(limit)
        return Paths(
            _together(len(answers) - len(failures), failures),
            tuple(path for _, path in found[:most]),
            truncated=cut or len(found) > most,
            reason=self._reasons(answers),
        )

    async def search(self, text: str, *, whole_word: bool = False, ignore_case: bool = False, limit: int = 50) -> Lines:
        """Lines that contain ``text`` exactly (its case apart with ``ignore_case``), in every workspace."""
        if not _searchable(text):
            return Lines(HostStatus.OK)
        query = Query(text, whole_word, ignore_case, _bound(limit))
        answers = await self._each(lambda reader: reader.search(query))
        found: list[Line] = []
        for _, answer in answers:
            found += answer.lines if isinstance(answer, Lines) else ()
        good = [answer for _, answer in answers if isinstance(answer, Lines) and answer.status is HostStatus.OK]
        failures = [answer for _, answer in answers if isinstance(answer, (Denied, Unavailable))]
        return Lines(
            _together(len(good), failures),
            tuple(found[: query.limit]),
            truncated=any(answer.truncated for answer in good) or len(found) > query.limit,
            reason=self._reasons(answers),
        )

    async def read(self, workspace: str, path: str, *, start: int = 1, count: int = 60) -> Lines:
        """``count`` lines of a file from line ``start`` on."""
        try:
            return await self._reader(workspace).read(path, start=max(1, start), count=_bound(count))
        except (Denied, Unavailable) as failure:
            return no_lines(failure)

    async def log(
        self, *, workspace: str | None = None, path: str | None = None, text: str | None = None, limit: int = 10
    ) -> Commits:
        """Commits reachable from the pinned revision: of a path, whose message has ``text``, or the newest."""
        if text is not None and not _searchable(text):
            return Commits(HostStatus.OK)
        most = _bound(limit)
        if workspace is None:
            return self._merged(await self._each(lambda reader: reader.log(path=path, text=text, limit=most)), most)
        try:
            return await self._reader(workspace).log(path=path, text=text, limit=most)
        except (Denied, Unavailable) as failure:
            return no_commits(failure)

    async def blame(self, workspace: str, path: str, *, line: int) -> Commits:
        """The commit that last changed a line."""
        try:
            return await self._reader(workspace).blame(path, line=line)
        except (Denied, Unavailable) as failure:
            return no_commits(failure)

    async def commit(self, revision: str) -> Commits:
        """One commit by (an abbreviation of) its name, with the files that it changed."""
        return self._merged(await self._each(lambda reader: reader.commit(revision)), MOST)

    def _reader(self, workspace: str) -> Reader:
        reader = self._readers.get(workspace)
        if reader is None:
            raise Denied("there is no such workspace in this conversation")
        if isinstance(reader, Closed):
            raise Unavailable(reader.reason)
        return reader

    async def _each(self, ask: Callable[[Reader], Awaitable[T]]) -> list[tuple[str, T | Denied | Unavailable]]:
        async def one(reader: Reader | Closed) -> T | Denied | Unavailable:
            if isinstance(reader, Closed):
                return Unavailable(reader.reason)
            try:
                return await ask(reader)
            except (Denied, Unavailable) as failure:
                return failure

        async with asyncio.TaskGroup() as group:
            tasks = [(name, group.create_task(one(reader))) for name, reader in self._readers.items()]
        return [(name, task.result()) for name, task in tasks]

    def _merged(self, answers: list[tuple[str, Commits | Denied | Unavailable]], limit: int) -> Commits:
        good = [answer for _, answer in answers if isinstance(answer, Commits)]
        failures = [answer for _, answer in answers if isinstance(answer, (Denied, Unavailable))]
        found = [commit for answer in good for commit in answer.commits]
        if len(good) > 1:
            found.sort(key=lambda commit: commit.at, reverse=True)
        return Commits(
            _together(len(good), failures),
            tuple(found[:limit]),
            truncated=any(answer.truncated for answer in good) or len(found) > limit,
            reason=self._reasons(answers),
        )

    def _reasons(self, answers: Sequence[tuple[str, object]]) -> str:
        if not answers:
            return _NOTHING_OPEN
        said: list[str] = []
        for name, answer in answers:
            reason = answer.reason if isinstance(answer, (Denied, Unavailable, Lines, Commits)) else ""
            if reason:
                said.append(f"{name}: {reason}" if len(answers) > 1 else reason)
        return "; ".join(said)


def rank(path: str, wanted: str) -> tuple[int, int, str]:
    """The order of found paths: the very path, the same name, the same stem, the end of the path, anything else."""
    folded = path.casefold()
    name = folded.rpartition("/")[2]
    if folded == wanted:
        order = 0
    elif name == wanted or folded.endswith("/" + wanted):
        order = 1
    elif name.partition(".")[0] == wanted:
        order = 2
    else:
        order = 3 if wanted in name else 4
    return order, len(path), path


def _together(good: int, failures: Sequence[Denied | Unavailable]) -> HostStatus:
    if good:
        return HostStatus.OK
    unavailable = any(isinstance(failure, Unavailable) for failure in failures)
    return HostStatus.UNAVAILABLE if unavailable else HostStatus.DENIED


def _bound(count: int) -> int:
    return max(1, min(count, MOST))


def _searchable(text: str) -> bool:
    """One line of at most 200 characters that any tool can be given."""
    if not text.strip() or len(text) > _LONGEST or any(char in text for char in "\0\r\n"):
        return False
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
