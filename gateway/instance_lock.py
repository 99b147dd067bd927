"""One gateway a data folder, and one an SQLite file: who comes second is told who holds it.

The lock is the operating system's (``flock``), so that it ends with its holder, however that ends. What stands in the
file is for people, and tells commands where the holder listens.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

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


class Hold:
    """A data folder that is held."""

    __slots__ = ("_data_dir", "_descriptor", "_since")

    def __init__(self, data_dir: Path, descriptor: int, since: Millis) -> None:
        self._data_dir = data_dir
        self._descriptor = descriptor
        self._since = since

    def sign(self, url: str | None = None) -> None:
        """Say who holds it and, once it listens, at which address. Raises ``DataFolderUnusable``."""
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": _moment(self._since), "url": url}
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(holder).encode(), 0)
        except OSError as error:
            raise _unusable(self._data_dir, error) from None


@contextmanager
def hold(data_dir: Path, since: Millis) -> Generator[Hold]:
    """Hold the data folder (made if missing, for its owner alone) as long as the block runs.

    Raises ``GatewayAlreadyRunning`` or ``DataFolderUnusable``.
    """
    try:
        data_dir.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        descriptor = os.open(data_dir / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE_FILE)
    except OSError as error:
        raise _unusable(data_dir, error) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GatewayAlreadyRunning(
                f"another gateway holds {data_dir}: {_holder(descriptor)}. Stop it, or use another gateway.data_dir"
            ) from None
        held = Hold(data_dir, descriptor, since)
        try:
            held.sign()
            yield held
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


@contextmanager
def hold_with(data_dir: Path, file: Path | None, since: Millis) -> Generator[Hold]:
    """Hold the data folder and, where ``file`` (the database) really lies in another folder, that one too.

    Raises as ``hold``.
    """
    with ExitStack() as stack:
        held = stack.enter_context(hold(data_dir, since))
        real = data_dir if file is None else Path(os.path.realpath(file)).parent
        if not real.exists() or not real.samefile(data_dir):
            stack.enter_context(hold(real, since))
        yield held


def url_of_holder(data_dir: Path) -> str | None:
    """Where the gateway that holds ``data_dir`` listens; None without one on this machine that listens."""
    try:
        holder = _read((data_dir / FILE_NAME).read_bytes()[:LONGEST])
        pid, url = holder.get("pid"), holder.get("url")
        if not isinstance(pid, int) or not isinstance(url, str) or holder.get("host") != socket.gethostname():
            return None
        os.kill(pid, 0)  # what a killed one left behind is not believed
    except (OSError, ValueError):
        return None
    return url


def _holder(descriptor: int) -> str:
    try:
        holder = _read(os.pread(descriptor, LONGEST, 0))
    except ValueError:
        return "a process that is just starting"
    return f"process {holder.get('pid')} on {holder.get('host')}, since {holder.get('since')}"


def _read(content: bytes) -> dict[str, object]:
    """What a holder signed. Raises ``ValueError``."""
    holder: object = json.loads(content)
    return cast("dict[str, object]", holder) if isinstance(holder, dict) else {}


def _unusable(data_dir: Path, error: OSError) -> DataFolderUnusable:
    return DataFolderUnusable(f"the data folder {data_dir} cannot be used: {error.strerror}")


def _moment(at: Millis) -> str:
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
