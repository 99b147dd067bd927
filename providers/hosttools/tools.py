"""Opens sessions over the declared workspaces."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

from manager.decisions.decision import Audience
from manager.ports import HostSession, WorkspaceView
from providers.hosttools.folderreader import FolderReader
from providers.hosttools.git import Git
from providers.hosttools.gitreader import GitReader
from providers.hosttools.limits import Limits
from providers.hosttools.paths import Hidden
from providers.hosttools.pins import pin, within_git
from providers.hosttools.process import Processes, sandbox_works
from providers.hosttools.reader import Closed, Reader
from providers.hosttools.refusals import Unavailable
from providers.hosttools.session import Session
from providers.hosttools.workspaces import Workspace, hidden_in

DEFAULT_SEARCH_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


class LocalHostTools:
    """This machine; fulfils ``manager.ports.HostTools``.

    ``hidden`` are paths that are never readable, whatever the workspace: the configuration file, the data folder.
    ``search_path`` is where git, ripgrep and bubblewrap are looked for; parts of it that are relative or inside a
    workspace do not count.
    """

    def __init__(
        self,
        workspaces: Sequence[Workspace],
        *,
        hidden: Sequence[Path] = (),
        search_path: str = DEFAULT_SEARCH_PATH,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._workspaces = tuple(workspaces)
        self._hidden = {space.name: hidden_in(space, hidden, workspaces) for space in workspaces}
        self._search_path = _trusted(search_path, workspaces)
        self._git = shutil.which("git", path=self._search_path)
        self._ripgrep = shutil.which("rg", path=self._search_path)
        self._bubblewrap = shutil.which("bwrap", path=self._search_path)
        self._probing = asyncio.Lock()
        self._probed = False

    def open(self, audience: Audience) -> AbstractAsyncContextManager[HostSession]:
        """A session over the workspaces that ``audience`` may see; leaving it ends every process it started."""
        return self._session(audience)

    @asynccontextmanager
    async def _session(self, audience: Audience) -> AsyncGenerator[HostSession]:
        await self._probe()
        processes = Processes(self._limits, self._search_path, self._bubblewrap)
        try:
            async with asyncio.TaskGroup() as group:
                opening = [
                    group.create_task(self._reader(space, processes))
                    for space in self._workspaces
                    if space.readable_by(audience)
                ]
            yield Session([task.result() for task in opening])
        finally:
            await processes.close()

    async def _probe(self) -> None:
        """Find out once whether bubblewrap, where it is installed, works here (it needs user namespaces)."""
        async with self._probing:
            if self._probed or self._bubblewrap is None:
                return
            if not await sandbox_works(self._bubblewrap, self._search_path):
                self._bubblewrap = None
            self._probed = True

    async def _reader(self, space: Workspace, processes: Processes) -> Reader | Closed:
        hidden = self._hidden[space.name]
        if not within_git(space.root):
            if not space.root.is_dir():
                return Closed(WorkspaceView(space.name, False, None, None, None), "the folder is not there any more")
            return FolderReader(space.name, space.root, hidden, self._limits, processes, self._ripgrep)
        return await self._git_reader(space, processes, hidden)

    async def _git_reader(self, space: Workspace, processes: Processes, hidden: Hidden) -> Reader | Closed:
        closed = WorkspaceView(space.name, True, None, None, None)
        if self._git is None:
            return Closed(closed, "git is not installed")
        git = Git(self._git, processes, space.root)
        try:
            return GitReader(space.name, git, await pin(git), hidden, self._limits)
        except Unavailable as failure:
            return Closed(closed, failure.reason)


def _trusted(search_path: str, workspaces: Sequence[Workspace]) -> str:
    """Only absolute folders outside every workspace: a program in a workspace is data, and is not run."""
    kept: list[str] = []
    for part in search_path.split(os.pathsep):
        folder = Path(part)
        if not folder.is_absolute():
            continue
        if any(folder.resolve().is_relative_to(space.root) for space in workspaces):
            continue
        kept.append(part)
    return os.pathsep.join(kept) or DEFAULT_SEARCH_PATH
