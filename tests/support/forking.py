"""Starting gateways by forking a process that has imported everything: see ``forking_parent``."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_BYTES = 1 << 20


class Forked:
    """A process as ``asyncio.subprocess.Process`` shows one."""

    def __init__(self, parent: Parent, pid: int) -> None:
        self.pid = pid
        self._parent = parent
        self._watched: int | None = os.pidfd_open(pid)
        self._code: int | None = None

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative where a signal ended it."""
        if self._watched is not None and select.select([self._watched], [], [], 0)[0]:
            os.close(self._watched)
            self._watched = None
            self._code = self._parent.ask({"ended": self.pid})
        return self._code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a real signal."""
        if self.returncode is None:  # it is not waited for in between, so that the number is still its own
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait for its end."""
        if self.returncode is None:
            assert self._watched is not None
            loop, ended = asyncio.get_running_loop(), asyncio.Event()
            watched = os.dup(self._watched)
            loop.add_reader(watched, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(watched)
                os.close(watched)
        code = self.returncode
        assert code is not None
        return code


class Parent:
    """The process that forks. It ends, with all that it forked, when this one ends."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.forking_parent", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C is for the tests
            )

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], out: Path, err: Path) -> Forked:
        """Run ``lark-steward`` with these arguments, its output appended to files."""
        order = {"arguments": list(arguments), "environment": dict(environment), "cwd": str(Path.cwd())}
        return Forked(self, self.ask({**order, "out": str(out), "err": str(err)}))

    def ask(self, order: Mapping[str, object]) -> int:
        """Give an order; the answer comes at once."""
        self._channel.send(json.dumps(order).encode())
        said = self._channel.recv(MOST_BYTES)
        assert said, f"the process that forks gateways ended with {self._process.wait()}"
        return int(said)


def can_fork() -> bool:
    """Whether this system lets one wait for a process that is not one's own child."""
    return hasattr(os, "pidfd_open")


@lru_cache(maxsize=1)
def parent() -> Parent:
    """This test process's own."""
    return Parent()
