"""The folders that the owner declared, each with its audience and a name of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from manager.decisions.decision import Audience
from providers.hosttools.paths import Hidden

_UNWANTED: Final = re.compile(r"[^\w.-]+")


class WorkspaceMissing(Exception):
    """A declared workspace is no folder that can be opened. Correct ``steward.workspaces`` or make the folder."""

    code = "workspace_missing"

    def __init__(self, path: str) -> None:
        super().__init__(f"steward.workspaces: {path} is no folder that can be read: make it, or correct the path")
        self.path = path


class WorkspaceConflict(Exception):
    """One folder is declared with two audiences. Declare it once."""

    code = "workspace_conflict"

    def __init__(self, path: str) -> None:
        super().__init__(f"steward.workspaces: {path} is declared with two audiences: declare it once")
        self.path = path


@dataclass(frozen=True, slots=True)
class Workspace:
    """A declared folder."""

    name: str
    root: Path
    """Absolute, links resolved."""
    audience: Audience

    def readable_by(self, audience: Audience) -> bool:
        """A private conversation may see everything, a shared one only what is shared."""
        return self.audience is Audience.SHARED or audience is Audience.PRIVATE


def declare(folders: Iterable[tuple[Path, Audience]]) -> tuple[Workspace, ...]:
    """The workspaces of ``folders``, named after their last part, ``name-2`` and so on where two are alike.

    A folder that is declared twice alike is one. Raises ``WorkspaceMissing`` and ``WorkspaceConflict``.
    """
    found: dict[Path, Workspace] = {}
    names: set[str] = set()
    for path, audience in folders:
        root = _resolve(path)
        if root in found:
            if found[root].audience is not audience:
                raise WorkspaceConflict(str(path))
            continue
        name = _free(_UNWANTED.sub("-", root.name).strip("-.") or "workspace", names)
        names.add(name.casefold())
        found[root] = Workspace(name, root, audience)
    return tuple(found.values())


def hidden_in(workspace: Workspace, hidden: Sequence[Path], others: Sequence[Workspace]) -> Hidden:
    """What of ``workspace`` is never readable: ``hidden`` paths in it, and narrower workspaces nested in it."""
    narrower = [
        other.root
        for other in others
        if other.audience is Audience.PRIVATE and workspace.audience is Audience.SHARED and other.root != workspace.root
    ]
    resolved = [path.resolve() for path in hidden]
    inside = [path for path in (*resolved, *narrower) if path != workspace.root and path.is_relative_to(workspace.root)]
    return Hidden(
        prefixes=tuple(path.relative_to(workspace.root).as_posix() for path in inside),
        everything=any(workspace.root.is_relative_to(path) for path in resolved),
    )


def _resolve(path: Path) -> Path:
    try:
        root = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise WorkspaceMissing(str(path)) from error
    if not root.is_dir():
        raise WorkspaceMissing(str(path))
    return root


def _free(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate.casefold() in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate
