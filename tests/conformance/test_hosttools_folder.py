"""Host tools over folders without git: no link is followed, only regular files are opened."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from manager.decisions.decision import Audience
from manager.ports import HostStatus
from providers.hosttools import Limits, LocalHostTools, declare
from tests.support.workspaces import git, tools, write

BESIDE_PYTHON = str(Path(sys.executable).parent)
"""Where the development set-up has ripgrep, on the platforms that there is a wheel for."""
needs_ripgrep = pytest.mark.skipif(
    shutil.which("rg", path=BESIDE_PYTHON) is None, reason="there is no ripgrep wheel for this platform"
)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    write(root, "a.txt", "alpha\nneedle one\nomega\n")
    write(root, "deep/er/b.txt", "no\nNeedle two\n")
    write(tmp_path, "outside.txt", "needle outside canary\n")
    return root


async def test_reads_at_the_digest_of_the_content(notes: Path) -> None:
    digest = f"sha256:{sha256((notes / 'a.txt').read_bytes()).hexdigest()}"
    async with tools(notes).open(Audience.SHARED) as session:
        (view,) = session.workspaces
        assert (view.name, view.git, view.revision, view.uncommitted) == ("notes", False, None, None)
        read = await session.read("notes", "a.txt", start=2, count=1)
        assert [(line.number, line.text, line.revision) for line in read.lines] == [(2, "needle one", digest)]
        found = await session.search("needle", ignore_case=True)
        assert [(line.path, line.number) for line in found.lines] == [("a.txt", 2), ("deep/er/b.txt", 2)]
        assert [line.path for line in (await session.search("needle", whole_word=True)).lines] == ["a.txt"]
        assert (await session.find_files("B.TXT")).paths == (("notes", "deep/er/b.txt"),)
        log = await session.log()
        assert (log.status, log.reason) == (HostStatus.UNAVAILABLE, "this workspace has no git history")


async def test_links_devices_pipes_and_second_names_are_not_read(notes: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    (notes / "link.txt").symlink_to(outside)
    (notes / "loop").symlink_to(notes)
    (notes / "up").symlink_to(tmp_path)
    (notes / "environ").symlink_to("/proc/self/environ")
    os.link(outside, notes / "hard.txt")
    os.mkfifo(notes / "pipe")
    write(notes, "binary", b"needle\0")
    async with tools(notes).open(Audience.SHARED) as session:
        for path in (
            "link.txt",
            "up/outside.txt",
            "loop/a.txt",
            "hard.txt",
            "pipe",
            "environ",
            "binary",
            "deep",
            "up",
            "missing",
        ):
            read = await session.read("notes", path)
            assert (read.status, read.lines) == (HostStatus.DENIED, ()), path
            assert str(tmp_path) not in read.reason
        found = await session.search("needle", ignore_case=True)
        assert {line.path for line in found.lines} == {"a.txt", "deep/er/b.txt"}


async def test_a_link_swapped_in_between_listing_and_opening_is_not_followed(notes: Path, tmp_path: Path) -> None:
    async with tools(notes).open(Audience.SHARED) as session:
        assert (await session.find_files("b.txt")).paths
        shutil.rmtree(notes / "deep" / "er")
        (notes / "deep" / "er").symlink_to(tmp_path)
        shutil.copy(tmp_path / "outside.txt", tmp_path / "b.txt")
        assert (await session.read("notes", "deep/er/b.txt")).status is HostStatus.DENIED
        assert (await session.search("outside")).lines == ()


async def test_hidden_files_and_folders(notes: Path) -> None:
    write(notes, "steward.toml", "needle canary\n")
    write(notes, "conf/other.toml", "needle canary\n")
    write(notes, "data/ledger.db", "needle canary\n")
    write(notes, ".env", "needle canary\n")
    host = tools(notes, hidden=[notes / "conf" / "other.toml", notes / "data"])
    async with host.open(Audience.SHARED) as session:
        for path in ("steward.toml", "conf/other.toml", "data/ledger.db", ".env", "../outside.txt", "/etc/passwd"):
            assert (await session.read("notes", path)).status is HostStatus.DENIED, path
        assert (await session.search("canary")).lines == ()
        assert (await session.find_files("ledger")).paths == ()


async def test_a_repository_inside_is_closed(notes: Path) -> None:
    write(notes, "repo/untracked.txt", "needle canary\n")
    git(notes / "repo", "init", "-q")
    async with tools(notes).open(Audience.SHARED) as session:
        assert (await session.read("notes", "repo/untracked.txt")).status is HostStatus.DENIED
        assert (await session.read("notes", "repo/.git/config")).status is HostStatus.DENIED
        assert (await session.search("canary")).lines == ()


async def test_bounds(notes: Path) -> None:
    write(notes, "huge.txt", "needle\n" * 5000)
    write(notes, "/".join(["d"] * 10) + "/c.txt", "needle\n")
    limits = Limits(file_bytes=1000, walk_bytes=10, depth=5, listed_files=3)
    async with tools(notes, limits=limits).open(Audience.SHARED) as session:
        assert (await session.read("notes", "huge.txt")).status is HostStatus.UNAVAILABLE
        assert (await session.search("needle")).truncated
        assert (await session.find_files("txt")).truncated


async def test_time_is_bounded(notes: Path) -> None:
    async with tools(notes, limits=Limits(seconds=0.0)).open(Audience.SHARED) as session:
        found = await session.search("needle")
        assert found.status is HostStatus.UNAVAILABLE
        assert "longer than" in found.reason


async def test_what_ripgrep_points_at_is_checked_again(notes: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    lines = ["./a.txt", "../outside.txt", "/etc/passwd", "./deep/er/b.txt", "./link.txt"]
    (notes / "link.txt").symlink_to(tmp_path / "outside.txt")
    write(programs, "rg", "#!/bin/sh\nprintf '" + "\\0".join(lines) + "\\0'\n")
    (programs / "rg").chmod(0o755)
    host = LocalHostTools(declare([(notes, Audience.SHARED)]), search_path=f"{programs}:/usr/bin:/bin")
    async with host.open(Audience.SHARED) as session:
        found = await session.search("needle")
        assert [(line.path, line.text) for line in found.lines] == [("a.txt", "needle one")]
    (programs / "rg").write_text("#!/bin/sh\nexit 2\n")
    async with host.open(Audience.SHARED) as session:
        assert [line.path for line in (await session.search("needle")).lines] == ["a.txt"]


@needs_ripgrep
async def test_ripgrep_finds_what_the_walk_finds(notes: Path) -> None:
    write(notes, ".hidden/x.txt", "needle hidden\n")
    write(notes, ".gitignore", "*.log\n")
    write(notes, "ignored.log", "needle ignored\n")
    spaces = declare([(notes, Audience.SHARED)])
    answers: list[set[str]] = []
    with_ripgrep = LocalHostTools(spaces, search_path=f"{BESIDE_PYTHON}:/usr/bin:/bin")
    for host in (with_ripgrep, LocalHostTools(spaces, search_path="/nowhere")):
        async with host.open(Audience.SHARED) as session:
            answers.append({line.path for line in (await session.search("needle")).lines})
    assert answers[0] == answers[1]


async def test_a_program_in_a_workspace_is_not_run(notes: Path) -> None:
    write(notes, "rg", "#!/bin/sh\ntouch ran\n")
    (notes / "rg").chmod(0o755)
    for search_path in (f"{notes}:/usr/bin:/bin", ".:/usr/bin:/bin"):
        host = LocalHostTools(declare([(notes, Audience.SHARED)]), search_path=search_path)
        async with host.open(Audience.SHARED) as session:
            assert (await session.search("needle")).lines
    assert not (notes / "ran").exists()


async def test_leaving_early_leaves_nothing_behind(notes: Path) -> None:
    async with tools(notes).open(Audience.SHARED) as session:
        task = asyncio.ensure_future(session.search("needle"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await session.search("needle")).lines
