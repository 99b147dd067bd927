"""A process that imports the gateway once and forks one for each order.

Most of a gateway's start is importing, and a test starts hundreds. What comes of an order is a process of its own, with
its own memory, working directory, output and signals, and it runs the same command line; only how it began differs.
Where a start itself is tested, it begins as a user begins it. Whoever gives the orders holds the other end of a socket;
when that closes, everything that was forked is killed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
from typing import Any

PRELOADED = (
    "alembic.command",
    "gateway.cli.grants",
    "gateway.cli.inbox",
    "gateway.cli.peers",
    "gateway.cli.serve",
    "gateway.cli.serving",
    "gateway.migrations",
    "providers.storage.alembic_runner",
    "providers.storage.postgresql",
)
MOST_BYTES = 1 << 20


def main(channel: socket.socket) -> None:
    """Serve orders until the channel closes; in a forked process: run the command."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    running: set[int] = set()
    while said := channel.recv(MOST_BYTES):
        order: dict[str, Any] = json.loads(said)
        if "ended" in order:
            running.discard(order["ended"])
            _, status = os.waitpid(order["ended"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if answer == 0:
                channel.close()
                run(order)
                return
            running.add(answer)
        channel.send(json.dumps(answer).encode())
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def run(order: dict[str, Any]) -> None:
    """Become what was ordered."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, order["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (2, order["err"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.argv = ["lark-steward", *order["arguments"]]
    from gateway.cli.main import main as command

    command()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
