"""One gateway a data folder."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.instance_lock import DataFolderUnusable, GatewayAlreadyRunning, hold, hold_with, url_of_holder
from returns.ids import Millis

ROOT = Path(__file__).parents[2]
SINCE = Millis(1_700_000_000_000)
HOLD = """
import sys
from pathlib import Path
from gateway.instance_lock import hold
with hold(Path(sys.argv[1]), 1_700_000_000_000):
    print("held", flush=True)
    sys.stdin.readline()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_folder_and_the_lock_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "data"
    with hold(folder, SINCE):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "gateway.lock").stat().st_mode) == 0o600


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    process = holder(tmp_path)
    with pytest.raises(GatewayAlreadyRunning) as caught, hold(tmp_path, SINCE):
        pass
    said = str(caught.value)
    assert f"process {process.pid} on {socket.gethostname()}, since 2023-11-14T22:13:20Z" in said
    process.communicate("\n")
    with hold(tmp_path, SINCE):
        pass


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    process = holder(tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with hold(tmp_path, SINCE):
        pass


def test_it_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), hold(tmp_path, SINCE):
        raise ZeroDivisionError
    with hold(tmp_path, SINCE):
        pass


def test_the_holder_says_where_it_listens(tmp_path: Path) -> None:
    assert url_of_holder(tmp_path) is None
    with hold(tmp_path, SINCE) as held:
        assert url_of_holder(tmp_path) is None
        held.sign("http://127.0.0.1:1")
        assert url_of_holder(tmp_path) == "http://127.0.0.1:1"
    assert url_of_holder(tmp_path) is None
    assert (tmp_path / "gateway.lock").read_bytes() == b""


@pytest.mark.parametrize(
    "left",
    ['{"pid": PID, "host": "HOST"}', '{"pid": PID, "host": "elsewhere", "url": "http://x"}', "[]", "{", '{"pid": "x"}'],
)
def test_what_a_killed_holder_left_is_not_believed(tmp_path: Path, left: str) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    whole = f'{{"pid": {gone.pid}, "host": "{socket.gethostname()}", "url": "http://x"}}'
    for text in (left.replace("PID", str(os.getpid())).replace("HOST", socket.gethostname()), whole):
        (tmp_path / "gateway.lock").write_text(text)
        assert url_of_holder(tmp_path) is None


def test_a_holder_that_has_not_signed_yet(tmp_path: Path) -> None:
    process = holder(tmp_path)
    (tmp_path / "gateway.lock").write_bytes(b"")
    with pytest.raises(GatewayAlreadyRunning, match="just starting"), hold(tmp_path, SINCE):
        pass
    process.communicate("\n")


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataFolderUnusable, match="Not a directory"), hold(tmp_path / "file" / "data", SINCE):
        pass


def test_the_same_folder_by_another_path_is_held(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    other = tmp_path / "the same"
    other.symlink_to(folder)
    with hold_with(folder, folder / "steward.db", SINCE):
        for path in (other, folder / ".." / "data"):
            with (
                pytest.raises(GatewayAlreadyRunning, match=f"process {os.getpid()} on .+, since "),
                hold_with(path, path / "steward.db", SINCE),
            ):
                raise AssertionError("two gateways hold one folder")


@pytest.mark.parametrize("first_is_the_link", [True, False])
def test_the_same_file_from_another_folder_is_held(tmp_path: Path, first_is_the_link: bool) -> None:
    """Two data folders, one database: a link leads from the second to the file in the first."""
    real, linking = tmp_path / "real", tmp_path / "linking"
    for folder in (real, linking):
        folder.mkdir()
    (real / "steward.db").touch()
    (linking / "steward.db").symlink_to(real / "steward.db")
    first, second = (linking, real) if first_is_the_link else (real, linking)
    with (
        hold_with(first, first / "steward.db", SINCE),
        pytest.raises(GatewayAlreadyRunning, match=f"process {os.getpid()} on "),
        hold_with(second, second / "steward.db", SINCE),
    ):
        raise AssertionError("two gateways hold one database")
    with hold_with(second, second / "steward.db", SINCE):
        pass


def test_two_folders_without_a_file_are_two(tmp_path: Path) -> None:
    """On PostgreSQL a folder is held for what is in it alone."""
    with hold_with(tmp_path / "one", None, SINCE), hold_with(tmp_path / "two", None, SINCE):
        pass
