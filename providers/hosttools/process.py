"""Commands that end: bounded output, bounded time, and their whole process tree with them.

A command leads a process group of its own, which is killed whole when the command is done, out of time or cancelled, or
when the session is left. Where bubblewrap works, it also gets a pid namespace, which ends what has left the group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from providers.hosttools.limits import Limits
from providers.hosttools.refusals import Unavailable

CLEAN_ENVIRONMENT: Final[Mapping[str, str]] = {
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
}
_SANDBOX: Final = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent")
_CHUNK: Final = 65536


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    status: int | None
    """The exit status; None when it was ended because its output reached the limit."""
    output: bytes
    truncated: bool


class Processes:
    """The commands of one session. ``close`` ends whatever still runs."""

    def __init__(self, limits: Limits, search_path: str, sandbox: str | None = None) -> None:
        self._limits = limits
        self._search_path = search_path
        self._sandbox = sandbox
        self._slots = asyncio.Semaphore(limits.parallel)
        self._starting: set[asyncio.Future[Process]] = set()
        self._running: set[Process] = set()
        self._closed = False

    async def run(
        self,
        argv: Sequence[str | bytes],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        limit_bytes: int | None = None,
    ) -> Ran:
        """Run ``argv`` in ``cwd`` with nothing but ``environment`` and a search path; standard error is dropped.

        Raises ``Unavailable`` when it cannot be started or runs out of time.
        """
        limit = limit_bytes or self._limits.output_bytes
        async with self._slots:
            try:
                async with asyncio.timeout(self._limits.seconds):
                    return await self._run([*self._prefix(), *argv], cwd, environment, limit)
            except TimeoutError as error:
                raise Unavailable(f"it took longer than {self._limits.seconds:g} s") from error
            except OSError as error:
                raise Unavailable("the command could not be started") from error

    async def close(self) -> None:
        """End every command that still runs, with all its children, and start no other."""
        self._closed = True
        for starting in tuple(self._starting):
            with contextlib.suppress(OSError):
                await _end(await asyncio.shield(starting))
        for process in tuple(self._running):
            await _end(process)

    def _prefix(self) -> tuple[str, ...]:
        return (self._sandbox, *_SANDBOX, "--") if self._sandbox else ()

    async def _run(self, argv: list[str | bytes], cwd: Path, environment: Mapping[str, str], limit: int) -> Ran:
        if self._closed:
            raise Unavailable("the session is over")
        reading, writing = os.pipe()
        reader = asyncio.StreamReader(limit=_CHUNK)
        try:
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", buffering=0)
            )
        except BaseException:
            os.close(writing)
            raise
        try:
            process = await self._start(argv, cwd, environment, writing)
            try:
                output, truncated = await _drain(reader, limit)
                if truncated:
                    return Ran(None, output, truncated=True)
                return Ran(await process.wait(), output, truncated=False)
            finally:
                await _end(process)
                self._running.discard(process)
        finally:
            transport.close()

    async def _start(self, argv: list[str | bytes], cwd: Path, environment: Mapping[str, str], writing: int) -> Process:
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env={**CLEAN_ENVIRONMENT, "PATH": self._search_path, **environment},
                stdin=DEVNULL,
                stdout=writing,
                stderr=DEVNULL,
                start_new_session=True,
            )
        )
        self._starting.add(starting)
        try:
            # Shielded: a command that is cancelled while it starts would escape the end of its group.
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                await _end(await starting)
            raise
        finally:
            self._starting.discard(starting)
            os.close(writing)
        self._running.add(process)
        return process


async def _drain(reader: asyncio.StreamReader, limit: int) -> tuple[bytes, bool]:
    output = bytearray()
    while chunk := await reader.read(_CHUNK):
        output += chunk
        if len(output) > limit:
            return bytes(output[:limit]), True
    return bytes(output), False


async def _end(process: Process) -> None:
    """Kill what is left of the group, also after its leader has ended, and wait for the leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


async def sandbox_works(sandbox: str, search_path: str) -> bool:
    """Whether ``sandbox`` (bubblewrap) can make a pid namespace here."""
    processes = Processes(Limits(seconds=5.0), search_path, sandbox)
    try:
        return (await processes.run(["true"], cwd=Path("/"), environment={})).status == 0
    except Unavailable:
        return False
    finally:
        await processes.close()
