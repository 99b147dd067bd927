"""Pinning a git workspace: the commit that is checked out when a turn begins, and what is known beside it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from providers.hosttools.git import Git
from providers.hosttools.refusals import Unavailable

_UNBORN: Final = 128
_FACTS: Final = 3


@dataclass(frozen=True, slots=True)
class Pin:
    """Where a git workspace stands."""

    revision: str | None
    """None while the repository has no commit."""
    branch: str | None
    prefix: str
    """The workspace's place below the repository's top, ``""`` or with a ``/`` at its end."""
    shallow: bool
    uncommitted: bool | None


def within_git(root: Path) -> bool:
    """Whether ``root`` or a folder above it has git's folder or file."""
    return any((folder / ".git").exists() or (folder / ".git").is_symlink() for folder in (root, *root.parents))


async def pin(git: Git) -> Pin:
    """Learn where the workspace stands. Raises ``Unavailable`` when git cannot read it."""
    async with asyncio.TaskGroup() as group:
        standing = group.create_task(_standing(git))
        changed = group.create_task(_uncommitted(git))
    facts, uncommitted = standing.result(), changed.result()
    if isinstance(facts, Unavailable):
        raise facts
    return Pin(facts.revision, facts.branch, facts.prefix, facts.shallow, uncommitted)


async def _standing(git: Git) -> Pin | Unavailable:
    try:
        ran = await git.ask(
            "rev-parse",
            "--show-prefix",
            "--is-shallow-repository",
            "--is-inside-git-dir",
            "HEAD^{commit}",
            "--abbrev-ref",
            "HEAD",
        )
    except Unavailable as failure:
        return failure
    lines = ran.output.decode("utf-8", "replace").split("\n")
    if len(lines) <= _FACTS or ran.status not in {0, _UNBORN}:
        return Unavailable("git could not read this repository")
    prefix, shallow, inside = lines[:_FACTS]
    if inside == "true":
        return Unavailable("this folder is git's own")
    if ran.status == _UNBORN:
        return Pin(None, None, prefix, shallow == "true", None)
    branch = lines[_FACTS + 1]
    return Pin(lines[_FACTS], None if branch == "HEAD" else branch, prefix, shallow == "true", None)


async def _uncommitted(git: Git) -> bool | None:
    """Whether anything differs from the commit. Filters are commands of the repository's own: they are switched off."""
    try:
        named = await git.ask("config", "-z", "--name-only", "--get-regexp", r"^filter\.")
        filters = {
            name.rsplit(".", 1)[0] for name in named.output.decode("utf-8", "surrogateescape").split("\0") if name
        }
        off = [(f"{name}.{key}", "") for name in sorted(filters) for key in ("clean", "smudge", "process")]
        off += [(f"{name}.required", "false") for name in sorted(filters)]
        ran = await git.ask(
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=all",
            "--no-renames",
            "--",
            ".",
            limit_bytes=1,
            settings=off,
        )
    except Unavailable:
        return None
    return bool(ran.output) if ran.status in {0, None} else None
