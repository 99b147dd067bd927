"""A small disk of its own, for what happens when it is full or may not be written. Needs the right to mount."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class Disk:
    """A mounted folder that holds only so much."""

    folder: Path

    def fill(self, leave: int = 0) -> None:
        """Leave only ``leave`` bytes free."""
        with (self.folder / "filler").open("ab", buffering=0) as file:
            for size in (65_536, 4_096, 512):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)
            if leave:
                file.truncate(max(0, file.tell() - leave))

    def make_room(self) -> None:
        """Take the filling away."""
        (self.folder / "filler").unlink()

    def read_only(self) -> None:
        """Let nothing be written any more."""
        _mount("-o", "remount,ro", str(self.folder))


@contextmanager
def small_disk(folder: Path, size_kib: int) -> Iterator[Disk]:
    """Mount a disk of ``size_kib`` at ``folder``; the test is skipped where that is not allowed."""
    folder.mkdir(exist_ok=True)
    try:
        _mount("-t", "tmpfs", "-o", f"size={size_kib}k,mode=700", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a small disk")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _mount(*arguments: str) -> None:
    if os.geteuid() != 0:
        raise PermissionError(errno.EPERM, "mount")
    subprocess.run(["mount", *arguments], check=True, capture_output=True)
