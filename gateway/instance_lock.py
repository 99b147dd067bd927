"""One gateway a data folder: who comes second is told who holds it.

The lock is the operating system's (``flock``), so that it ends with its holder, however that ends. What stands in the
file is only for people.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from returns.ids import Millis

FILE_NAME = "gateway.lock"
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
LONGEST = 1024


class GatewayAlreadyRunning(Exception):
    """Another gateway holds the data folder; the message names it."""

    code = "already_running"


class DataFolderUnusable(Exception):
    """The data folder cannot be made or written; the message says why."""

    code = "data_folder_unusable"


@contextmanager
def hold(data_dir: Path, since: Millis) -> Generator[None]:
    """Hold the data folder (made if missing, for its owner alone) as long as the block runs.

    Raises ``GatewayAlreadyRunning`` or ``DataFolderUnusable``.
    """
    try:
        data_dir.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        descriptor = os.open(data_dir / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE_FILE)
    except OSError as error:
        raise DataFolderUnusable(f"the data folder {data_dir} cannot be used: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GatewayAlreadyRunning(
                f"another gateway holds {data_dir}: {_holder(descriptor)}. Stop it, or use another gateway.data_dir"
            ) from None
        _sign(descriptor, since)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _sign(descriptor: int, since: Millis) -> None:
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": _moment(since)}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(holder).encode(), 0)


def _holder(descriptor: int) -> str:
    try:
        holder: dict[str, object] = json.loads(os.pread(descriptor, LONGEST, 0))
    except ValueError:
        return "a process that is just starting"
    return f"process {holder.get('pid')} on {holder.get('host')}, since {holder.get('since')}"


def _moment(at: Millis) -> str:
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
