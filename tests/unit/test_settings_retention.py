"""``[retention]``: days, validated, and what they mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.policies import retention_policy
from gateway.settings import SettingsError, load
from manager.decisions.retention import DAY_MS, RetentionPolicy, Standing, may_forget, youngest
from returns.ids import Millis

NOW = Millis(1_800_000_000_000)


def settings(folder: Path, text: str) -> RetentionPolicy:
    file = folder / "steward.toml"
    file.write_text(f"[retention]\n{text}\n")
    return retention_policy(load(file, {}))


def test_the_defaults_are_those_of_the_policy(tmp_path: Path) -> None:
    assert settings(tmp_path, "") == RetentionPolicy()


def test_zero_keeps_for_ever(tmp_path: Path) -> None:
    kept = settings(tmp_path, "texts_days = 0\nunproved_days = 0\nevents_days = 0\nset_aside_days = 0")
    assert kept == RetentionPolicy(None, None, None, None)
    assert youngest(kept, NOW) is None


def test_days_are_days(tmp_path: Path) -> None:
    assert settings(tmp_path, "texts_days = 3\nevents_days = 7") == RetentionPolicy(
        texts_ms=3 * DAY_MS, events_ms=7 * DAY_MS
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("texts_days = -1", "texts_days"),
        ("texts_days = 1.5", "texts_days"),
        ('texts_days = "90"', "texts_days"),
        ("texts_days = 36501", "texts_days"),
        ("events_days = 6", "events_days"),
        ("set_aside_days = 1", "set_aside_days"),
        ("texts_days = 90\nunproved_days = 30", "unproved_days"),
        ("texts_days = 0\nunproved_days = 30", "unproved_days"),
        ("text_days = 9", "did you mean texts_days"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_key(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(SettingsError, match=key):
        settings(tmp_path, text)


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("needs_operator", [True, False])
@pytest.mark.parametrize("age_days", [0, 89, 90, 364, 365, 10_000])
def test_what_may_be_forgotten(is_open: bool, needs_operator: bool, age_days: int) -> None:
    standing = Standing(is_open, needs_operator, Millis(NOW - age_days * DAY_MS))
    old = age_days >= (365 if needs_operator else 90)
    assert may_forget(standing, RetentionPolicy(), NOW) is (old and not is_open)
