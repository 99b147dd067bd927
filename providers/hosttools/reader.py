"""What a session asks of each of its workspaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from manager.ports import Commits, HostStatus, Lines, WorkspaceView
from providers.hosttools.refusals import Denied, Unavailable


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a workspace that may be read."""

    paths: Sequence[str]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for."""

    text: str
    whole_word: bool
    ignore_case: bool
    limit: int


class Reader(Protocol):
    """One workspace, pinned. Every method may raise ``Denied`` or ``Unavailable``."""

    @property
    def view(self) -> WorkspaceView:
        """The workspace as this turn sees it."""
        ...

    async def files(self) -> Listing:
        """The files that may be read."""
        ...

    async def search(self, query: Query) -> Lines:
        """Lines that contain the query's text."""
        ...

    async def read(self, path: str, *, start: int, count: int) -> Lines:
        """Lines of a file."""
        ...

    async def log(self, *, path: str | None, text: str | None, limit: int) -> Commits:
        """Commits, newest first."""
        ...

    async def blame(self, path: str, *, line: int) -> Commits:
        """The commit that last changed a line."""
        ...

    async def commit(self, revision: str) -> Commits:
        """One commit."""
        ...


@dataclass(frozen=True, slots=True)
class Closed:
    """A workspace that cannot be read now, and why."""

    view: WorkspaceView
    reason: str


def no_lines(failure: Denied | Unavailable) -> Lines:
    """A refusal as an answer."""
    return Lines(_status(failure), reason=failure.reason)


def no_commits(failure: Denied | Unavailable) -> Commits:
    """A refusal as an answer."""
    return Commits(_status(failure), reason=failure.reason)


def _status(failure: Denied | Unavailable) -> HostStatus:
    return HostStatus.DENIED if isinstance(failure, Denied) else HostStatus.UNAVAILABLE
