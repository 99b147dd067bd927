"""Runs a PostgreSQL server for as long as its standard input stays open, then ends it and removes its folders.

A program of its own, so that neither the server nor its folders outlive whoever asked for it, however that one ended:
the pipe closes with it. Arguments: one JSON object with ``folders``, ``initdb``, ``postgres``, ``user`` and ``group``.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path

PDEATHSIG = 1
PATIENCE_S = 10.0


def main() -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    asked = json.loads(sys.argv[1])
    try:
        run(asked)
    finally:
        for folder in asked["folders"]:
            shutil.rmtree(folder, ignore_errors=True)


def run(asked: dict) -> None:
    made = spawn(asked["initdb"], asked)
    if os.waitstatus_to_exitcode(os.waitpid(made, 0)[1]) != 0:
        say("initdb failed")
        sys.stdin.buffer.read()  # until the reason was read
        return
    server = spawn(asked["postgres"], asked)
    say(str(server))
    while not ended(server):
        readable, _, _ = select.select([sys.stdin.buffer], [], [], 0.5)
        if readable and os.read(sys.stdin.fileno(), 1) == b"":
            end(server)
            return


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def spawn(command: list[str], asked: dict) -> int:
    """Start a program with the server's rights; it quits should even this one be killed."""
    child = os.fork()
    if child:
        return child
    try:
        folder = Path(asked["folders"][0])
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(folder)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_DFL)
        if asked["user"] is not None:
            os.setgroups([])
            os.setgid(asked["group"])
            os.setuid(asked["user"])
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGQUIT)
        os.execv(command[0], command)
    finally:
        os._exit(127)


def ended(server: int) -> bool:
    return os.waitpid(server, os.WNOHANG)[0] == server


def end(server: int) -> None:
    os.kill(server, signal.SIGCONT)
    for each in (signal.SIGQUIT, signal.SIGKILL):
        os.kill(server, each)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if ended(server):
                return
            time.sleep(0.005)


if __name__ == "__main__":
    main()
