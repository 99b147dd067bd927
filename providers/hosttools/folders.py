"""A folder without git, read through directory descriptors: no link is followed, only regular files are opened.

Blocking; runs in a worker thread. See https://man7.org/linux/man-pages/man2/open.2.html (``openat``, ``O_NOFOLLOW``).
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from providers.hosttools.limits import Limits
from providers.hosttools.paths import Hidden, shown
from providers.hosttools.refusals import NO_SUCH_FILE, Denied, Unavailable

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Content:
    """A file as it was read."""

    data: bytes
    revision: str
    """``sha256:…`` of the content."""


class Stopped(Exception):
    """The asker of a walk is gone."""


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder without git."""

    root: Path
    hidden: Hidden
    limits: Limits

    def walk(self, stop: threading.Event) -> tuple[dict[str, bytes], bool]:
        """Every file that may be read, by its shown path, in order; whether there were more. Raises ``Stopped``."""
        found: dict[str, bytes] = {}
        with _opened(os.fsencode(self.root), None) as top:
            complete = self._walk(top, b"", 0, found, stop)
        return found, not complete

    def read(self, raw: bytes) -> Content:
        """The file at ``raw``, a relative path. Raises ``Denied`` and ``Unavailable``."""
        parts = raw.split(b"/")
        try:
            with _opened(os.fsencode(self.root), None) as top:
                return self._read(top, parts)
        except FileNotFoundError as error:
            raise Denied(NO_SUCH_FILE) from error
        except OSError as error:
            raise Denied("this is a link, no file, or may not be opened") from error

    def _read(self, folder: int, parts: list[bytes]) -> Content:
        if len(parts) > 1:
            with _opened(parts[0], folder) as below:
                if _is_repository(below):
                    raise Denied("this is a git repository; it would have to be declared as a workspace of its own")
                return self._read(below, parts[1:])
        descriptor = os.open(parts[0], _FILE, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise Denied("only regular files are read")
            if facts.st_nlink > 1:
                raise Denied("this file has a second name, which may be outside the workspace")
            if facts.st_size > self.limits.file_bytes:
                raise Unavailable("the file is longer than what is looked at")
            data = file.read(self.limits.file_bytes + 1)
        if len(data) > self.limits.file_bytes:
            raise Unavailable("the file is longer than what is looked at")
        return Content(data, f"sha256:{sha256(data).hexdigest()}")

    def _walk(self, folder: int, prefix: bytes, depth: int, found: dict[str, bytes], stop: threading.Event) -> bool:
        """Whether everything below was listed."""
        if stop.is_set():
            raise Stopped
        if depth > self.limits.depth:
            return False
        complete = True
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            raw = prefix + os.fsencode(entry.name)
            path = shown(raw)
            if not self.hidden.allows(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                complete &= self._below(folder, entry.name, raw, depth, found, stop)
            elif entry.is_file(follow_symlinks=False):
                if len(found) >= self.limits.listed_files:
                    return False
                found[path] = raw
        return complete

    def _below(
        self, folder: int, name: str, raw: bytes, depth: int, found: dict[str, bytes], stop: threading.Event
    ) -> bool:
        try:
            with _opened(os.fsencode(name), folder) as below:
                return _is_repository(below) or self._walk(below, raw + b"/", depth + 1, found, stop)
        except OSError:
            return True  # swapped for a link, or unreadable: it is not ours to read


@contextmanager
def _opened(name: bytes, folder: int | None) -> Generator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_repository(folder: int) -> bool:
    """A repository inside the folder is closed: what it does not track must not be read through its parent."""
    try:
        os.stat(".git", dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
