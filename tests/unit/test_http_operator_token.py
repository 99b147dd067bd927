"""The token file: made once, for its owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gateway.http.operator_token import FILE_NAME, OperatorTokenUnusable, load_or_make, read


def never() -> str:
    raise AssertionError("a second token")


def test_made_once(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    assert load_or_make(tmp_path, lambda: "t0ken") == "t0ken"
    assert load_or_make(tmp_path, never) == "t0ken"
    assert read(tmp_path) == "t0ken"
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_refused_when_others_may_read_it(tmp_path: Path, mode: int) -> None:
    load_or_make(tmp_path, lambda: "t0ken")
    (tmp_path / FILE_NAME).chmod(mode)
    with pytest.raises(OperatorTokenUnusable, match="chmod 600"):
        load_or_make(tmp_path, never)


def test_refused_when_empty(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch(0o600)
    with pytest.raises(OperatorTokenUnusable, match="no token"):
        read(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("another")
    (tmp_path / FILE_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OperatorTokenUnusable):
        load_or_make(tmp_path, never)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OperatorTokenUnusable, match="data_dir"):
        load_or_make(tmp_path / "none", lambda: "t0ken")


def test_a_start_that_was_cut_off_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "operator.new").write_text("half", encoding="ascii")
    assert load_or_make(tmp_path, lambda: "t0ken") == "t0ken"
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE_NAME]
