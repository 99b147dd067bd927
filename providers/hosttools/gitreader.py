"""A git workspace, read from its pinned commit alone: the files on the disk are never opened."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from manager.ports import Commits, HostStatus, Line, Lines, WorkspaceView
from providers.hosttools import commits
from providers.hosttools.git import Git
from providers.hosttools.grepping import grepped
from providers.hosttools.limits import Limits
from providers.hosttools.paths import Hidden, clean, shown
from providers.hosttools.pins import Pin
from providers.hosttools.reader import Listing, Query
from providers.hosttools.refusals import Denied
from providers.hosttools.text import excerpt, is_binary, lines_of, matcher, passage
from providers.hosttools.trees import Kind, Tracked, Tree, parse_tree

_HEX: Final = re.compile(r"[0-9a-f]{4,64}")
_CANDIDATES: Final = 8
_NO_DRIVERS: Final = ("--no-ext-diff", "--no-textconv")


class GitReader:
    """One git workspace of a session; fulfils ``Reader``."""

    def __init__(self, name: str, git: Git, pin: Pin, hidden: Hidden, limits: Limits) -> None:
        self._name = name
        self._git = git
        self._pin = pin
        self._hidden = hidden
        self._limits = limits
        self._tree: Tree | None = None
        self._listing = asyncio.Lock()

    @property
    def view(self) -> WorkspaceView:
        """The workspace as this turn sees it."""
        return WorkspaceView(self._name, True, self._pin.revision, self._pin.branch, self._pin.uncommitted)

    async def files(self) -> Listing:
        """The tracked files."""
        tree = await self._tracked()
        return Listing([path for path, entry in tree.entries.items() if entry.kind is Kind.FILE], tree.truncated)

    async def search(self, query: Query) -> Lines:
        """Lines of tracked text files that contain the query's text."""
        if self._pin.revision is None:
            return Lines(HostStatus.OK)
        options = ["-w"] if query.whole_word else []
        options += ["-i"] if query.ignore_case else []
        ran = await self._git.ask(
            *("grep", "-z", "-n", "-I", "-F", "--no-textconv", "--no-recurse-submodules", *options),
            *("-e", query.text, self._pin.revision, "--", "."),
        )
        if ran.status not in {0, 1, None}:
            await self._git.must("cat-file", "-e", self._pin.revision)
            return Lines(HostStatus.UNAVAILABLE, reason=f"git could not search this (exit {ran.status})")
        return self._found(ran.output, query, truncated=ran.truncated)

    async def read(self, path: str, *, start: int, count: int) -> Lines:
        """Lines of a tracked file."""
        path, entry = await self._entry(path)
        ran = await self._git.must("cat-file", "blob", entry.blob, limit_bytes=self._limits.file_bytes)
        if is_binary(ran.output):
            raise Denied("this is a binary file")
        lines = lines_of(ran.output)
        texts = passage(lines, start=start, count=count, limit=self._limits.line_chars)
        truncated = ran.truncated or len(lines) > start - 1 + len(texts)
        return Lines(
            HostStatus.OK,
            tuple(self._line(path, start + offset, text) for offset, text in enumerate(texts)),
            truncated=truncated,
            reason="the file is longer than what is looked at" if ran.truncated else "",
        )

    async def log(self, *, path: str | None, text: str | None, limit: int) -> Commits:
        """Commits reachable from the pinned one, newest first."""
        if self._pin.revision is None:
            return Commits(HostStatus.OK, reason="the repository has no commit yet")
        options = ["-F", "-i", f"--grep={text}"] if text else []
        scope: list[str | bytes] = ["."] if self._pin.prefix else []
        if path is not None:
            cleaned, entry = await self._entry_or_folder(path)
            options += ["--follow"] if entry else []
            scope = [entry.raw if entry else cleaned]
        ran = await self._git.must(
            *("log", "-z", f"-n{limit + 1}", "--name-only", "--relative", *_NO_DRIVERS, commits.FORMAT, *options),
            *(self._pin.revision, "--", *scope),
        )
        return self._commits(ran.output, limit=limit, truncated=ran.truncated)

    async def blame(self, path: str, *, line: int) -> Commits:
        """The commit that last changed a line of a tracked file."""
        _, entry = await self._entry(path)
        if line < 1 or self._pin.revision is None:
            raise Denied("there is no such line")
        ran = await self._git.ask(
            *("blame", "--porcelain", "--no-textconv", "-L", f"{line},{line}", self._pin.revision, "--", entry.raw)
        )
        if ran.status != 0:
            raise Denied("there is no such line")
        return await self._details(ran.output.partition(b" ")[0].decode("ascii", "replace"))

    async def commit(self, revision: str) -> Commits:
        """One commit, if it is in the history of the pinned one."""
        wanted = revision.casefold()
        if not _HEX.fullmatch(wanted):
            raise Denied("a commit is named by 4 to 40 hexadecimal digits")
        if self._pin.revision is None:
            return Commits(HostStatus.OK, reason="the repository has no commit yet")
        ran = await self._git.ask("rev-parse", f"--disambiguate={wanted}", limit_bytes=self._limits.file_bytes)
        names = ran.output.decode("ascii", "replace").split()[:_CANDIDATES]
        async with asyncio.TaskGroup() as group:
            checks = [group.create_task(self._reachable(name)) for name in names]
        found = [name for name, check in zip(names, checks, strict=True) if check.result()]
        if len(found) > 1:
            return Commits(HostStatus.OK, reason=f"{wanted} is the beginning of several commits")
        return await self._details(found[0]) if found else Commits(HostStatus.OK)

    async def _reachable(self, name: str) -> bool:
        ran = await self._git.ask("merge-base", "--is-ancestor", name, self._pin.revision or "HEAD")
        return ran.status == 0

    async def _details(self, name: str) -> Commits:
        ran = await self._git.must(
            *("log", "-z", "-n1", "--name-only", "--relative", "--diff-merges=first-parent", *_NO_DRIVERS),
            *(commits.FORMAT, name, "--"),
        )
        found = self._commits(ran.output, limit=1, truncated=ran.truncated)
        if self._pin.prefix and not any(commit.files for commit in found.commits):
            raise Denied("this commit changed nothing in the workspace")
        return found

    async def _tracked(self) -> Tree:
        async with self._listing:
            if self._tree is None:
                self._tree = await self._list()
            return self._tree

    async def _list(self) -> Tree:
        if self._pin.revision is None:
            return Tree({}, truncated=False)
        ran = await self._git.must("ls-tree", "-r", "-z", self._pin.revision, limit_bytes=4 * self._limits.output_bytes)
        return parse_tree(ran.output, hidden=self._hidden, limit=self._limits.listed_files, truncated=ran.truncated)

    async def _entry(self, path: str) -> tuple[str, Tracked]:
        cleaned = clean(path)
        self._hidden.refuse(cleaned)
        return cleaned, (await self._tracked()).file(cleaned)

    async def _entry_or_folder(self, path: str) -> tuple[str, Tracked | None]:
        cleaned = clean(path)
        self._hidden.refuse(cleaned)
        tree = await self._tracked()
        if cleaned not in tree.entries and any(name.startswith(cleaned + "/") for name in tree.entries):
            return cleaned, None
        return cleaned, tree.file(cleaned)

    def _found(self, output: bytes, query: Query, *, truncated: bool) -> Lines:
        pattern = matcher(query.text, whole_word=query.whole_word, ignore_case=query.ignore_case)
        start = len(self._pin.revision or "") + 1
        lines: list[Line] = []
        for name, number, text in grepped(output):
            path = shown(name[start:])
            if not self._hidden.allows(path):
                continue
            safe = excerpt(text.decode("utf-8", "replace"), pattern, limit=self._limits.line_chars)
            if safe is None:
                continue
            if len(lines) >= query.limit:
                return Lines(HostStatus.OK, tuple(lines), truncated=True)
            lines.append(self._line(path, number, safe))
        return Lines(HostStatus.OK, tuple(lines), truncated=truncated)

    def _line(self, path: str, number: int, text: str) -> Line:
        return Line(self._name, path, number, text, self._pin.revision or "")

    def _commits(self, output: bytes, *, limit: int, truncated: bool) -> Commits:
        found = commits.parse(output, workspace=self._name, allows=self._hidden.allows)
        reason = "the clone is shallow: older commits are not here" if self._pin.shallow else ""
        return Commits(HostStatus.OK, tuple(found[:limit]), truncated=truncated or len(found) > limit, reason=reason)
