"""Row 1: a webhook app without a real Encrypt Key does not start, and the setting is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.settings import SettingsError, load
from gateway.webhook.handler import WebhookApp
from tests.support.hostile import FOLDER
from tests.support.webhook import APP_ID, KEY, TOKEN

KEYS: dict[str, str | None] = json.loads((FOLDER / "row_01_encrypt_keys.json").read_text("utf-8"))["encrypt_keys"]


def environment(key: str | None) -> dict[str, str]:
    named = {"LARK_APP_ID": APP_ID, "LARK_APP_SECRET": "secret-of-the-app", "LARK_VERIFICATION_TOKEN": TOKEN}
    return named if key is None else {**named, "LARK_ENCRYPT_KEY": key}


@pytest.mark.parametrize("name", KEYS)
def test_refused_from_the_environment(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError) as refusal:
        load(None, environment(KEYS[name]), serving=True)
    assert "encrypt_key" in str(refusal.value)


@pytest.mark.parametrize("name", KEYS)
def test_refused_from_the_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / "steward.toml"
    key = "" if KEYS[name] is None else f"encrypt_key = {json.dumps(KEYS[name])}\n"
    file.write_text(
        f'[[apps]]\napp_id = "{APP_ID}"\napp_secret = "secret-of-the-app"\nverification_token = "{TOKEN}"\n{key}'
    )
    with pytest.raises(SettingsError) as refusal:
        load(file, {}, serving=True)
    assert "encrypt_key" in str(refusal.value)
    assert "steward.toml" in str(refusal.value)


def test_a_real_key_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(None, environment(KEY), serving=True).apps[0].encrypt_key.get_secret_value() == KEY


@pytest.mark.parametrize("key", ["", " \t\n"])
def test_the_door_itself_refuses_too(key: str) -> None:
    with pytest.raises(ValueError, match="encrypt_key"):
        WebhookApp("default", APP_ID, key, TOKEN)
