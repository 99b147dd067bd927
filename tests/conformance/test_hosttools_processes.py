"""Commands end with their whole tree: at the limit, when cancelled, when the session is left."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import psutil
import pytest

from providers.hosttools.limits import Limits
from providers.hosttools.process import Processes, sandbox_works
from providers.hosttools.refusals import Unavailable

TREE = 'trap "" TERM HUP; (trap "" TERM HUP; sleep 600 & echo $! >> pids; wait) & echo $! >> pids; echo $$ >> pids; '


async def gone(folder: Path) -> bool:
    """Wait until every process that the tree wrote down has ended."""
    pids = [int(line) for line in (folder / "pids").read_text().split()]
    assert len(pids) == 3
    alive = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            alive.append(psutil.Process(pid))
    _, left = await asyncio.to_thread(psutil.wait_procs, alive, 10)
    return not [process for process in left if process.status() != psutil.STATUS_ZOMBIE]


async def written(folder: Path) -> None:
    """Wait until the whole tree is there."""
    async with asyncio.timeout(10):
        while len((folder / "pids").read_text().split() if (folder / "pids").exists() else []) < 3:
            await asyncio.sleep(0.01)


def processes(**limits: float) -> Processes:
    return Processes(Limits(**limits), "/usr/local/bin:/usr/bin:/bin")  # type: ignore[arg-type]


async def test_output_status_and_a_clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "secret")
    ran = await processes().run(["env"], cwd=tmp_path, environment={"GIT_PAGER": "cat"})
    assert ran.status == 0
    names = {line.partition("=")[0] for line in ran.output.decode().split("\n") if line}
    assert names == {"PATH", "HOME", "LANG", "LC_ALL", "GIT_PAGER"}
    failed = await processes().run(["sh", "-c", "cat; exit 3"], cwd=tmp_path, environment={})
    assert (failed.status, failed.output) == (3, b"")


async def test_a_missing_command_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        await processes().run(["no-such-command"], cwd=tmp_path, environment={})


async def test_the_tree_ends_at_the_time_limit(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="longer than"):
        await processes(seconds=2.0).run(["sh", "-c", TREE + "sleep 600"], cwd=tmp_path, environment={})
    assert await gone(tmp_path)


async def test_the_tree_ends_when_its_leader_has(tmp_path: Path) -> None:
    ran = await processes().run(["sh", "-c", f"({TREE}) >&- ; exec >&-; sleep 0.3"], cwd=tmp_path, environment={})
    assert ran.status == 0
    assert await gone(tmp_path)


async def test_the_tree_ends_at_the_output_limit(tmp_path: Path) -> None:
    command = TREE + "while :; do echo line; done"
    ran = await processes().run(["sh", "-c", command], cwd=tmp_path, environment={}, limit_bytes=100_000)
    assert ran.status is None
    assert ran.truncated
    assert len(ran.output) == 100_000
    assert await gone(tmp_path)


async def test_the_tree_ends_when_cancelled(tmp_path: Path) -> None:
    task = asyncio.ensure_future(processes().run(["sh", "-c", TREE + "sleep 600"], cwd=tmp_path, environment={}))
    await written(tmp_path)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(tmp_path)


async def test_the_tree_ends_when_the_session_is_left(tmp_path: Path) -> None:
    session = processes()
    task = asyncio.ensure_future(session.run(["sh", "-c", TREE + "sleep 600"], cwd=tmp_path, environment={}))
    await written(tmp_path)
    await session.close()
    await task
    assert await gone(tmp_path)
    with pytest.raises(Unavailable):
        await session.run(["true"], cwd=tmp_path, environment={})


@pytest.mark.parametrize("steps", range(12))
async def test_cancelling_at_any_step_leaves_nothing(tmp_path: Path, steps: int) -> None:
    session = processes()
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    task = asyncio.ensure_future(session.run(["sleep", "600"], cwd=tmp_path, environment={}))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await session.close()
    left = [process for process in psutil.Process().children(recursive=True) if process.pid not in before]
    assert not [process for process in left if process.status() != psutil.STATUS_ZOMBIE]


async def test_a_sandbox_that_does_not_work_is_found_out(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert not await sandbox_works(str(broken), "/usr/bin:/bin")
    works = tmp_path / "bwrap2"
    works.write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do echo "$1" >> ' + str(tmp_path / "seen") + '; shift; done\nshift\nexec "$@"\n')
    works.chmod(0o755)
    assert await sandbox_works(str(works), "/usr/bin:/bin")
    seen = (tmp_path / "seen").read_text().split()
    assert {"--unshare-pid", "--die-with-parent"} <= set(seen)
