"""The challenge and whose an event is: pure judgements over a decrypted payload."""

from __future__ import annotations

import pytest

from gateway.webhook.challenge import LONGEST, answer, is_challenge, same_text
from gateway.webhook.identity import Mismatch, mismatch

TOKEN = b"vtok-1"
APP = b"cli_9f5343c580712544"


def challenge(**changes: object) -> dict[str, object]:
    return {"challenge": "ajls384kdj", "token": "vtok-1", "type": "url_verification", **changes}


@pytest.mark.parametrize("text", ["ajls384kdj", '"}', "\\", "中文", "x" * LONGEST])
def test_answered(text: str) -> None:
    assert answer(challenge(challenge=text), TOKEN) == text


@pytest.mark.parametrize(
    "payload",
    [
        challenge(token="vtok-2"),
        challenge(token=""),
        challenge(token=None),
        challenge(token="vtok-1 "),
        challenge(token="\ud800"),
        challenge(token=["vtok-1"]),
        challenge(type="event_callback"),
        challenge(type=None),
        challenge(challenge=""),
        challenge(challenge=5),
        challenge(challenge="x" * (LONGEST + 1)),
        challenge(event={}),
        challenge(schema="2.0"),
        challenge(header={}),
        challenge(uuid="x"),
        {"challenge": "a", "type": "url_verification"},
        {"token": "vtok-1", "type": "url_verification"},
        {},
    ],
)
def test_not_answered(payload: dict[str, object]) -> None:
    assert answer(payload, TOKEN) is None


def test_an_event_is_no_challenge() -> None:
    assert not is_challenge({"type": "event_callback"})
    assert is_challenge({"type": "url_verification"})


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"schema": "2.0", "header": {"token": "vtok-1", "app_id": APP.decode()}}, None),
        ({"schema": "2.0", "header": {"token": "vtok-1"}}, None),
        ({"schema": "2.0", "header": {"token": "vtok-1", "app_id": "cli_other"}}, Mismatch.APP),
        ({"schema": "2.0", "header": {"token": "vtok-1", "app_id": None}}, Mismatch.APP),
        ({"schema": "2.0", "header": {"token": "other", "app_id": APP.decode()}}, Mismatch.TOKEN),
        ({"schema": "2.0", "header": {"app_id": APP.decode()}}, Mismatch.TOKEN),
        ({"schema": "2.0", "header": []}, Mismatch.TOKEN),
        ({"schema": "2.0", "token": "vtok-1"}, Mismatch.TOKEN),  # the token of the other version's place
        ({"uuid": "1", "token": "vtok-1", "event": {"app_id": APP.decode()}}, None),
        ({"uuid": "1", "token": "vtok-1", "event": {}}, None),
        ({"uuid": "1", "token": "vtok-1"}, None),
        ({"uuid": "1", "token": "vtok-1", "event": {"app_id": "cli_other"}}, Mismatch.APP),
        ({"uuid": "1", "header": {"token": "vtok-1"}}, Mismatch.TOKEN),
        ({}, Mismatch.TOKEN),
    ],
)
def test_whose_it_is(payload: dict[str, object], expected: Mismatch | None) -> None:
    assert mismatch(payload, TOKEN, APP) is expected


@pytest.mark.parametrize("value", [None, 5, b"vtok-1", "vtok-", "VTOK-1", "vtok-1\0", "ｖtok-1"])
def test_same_text_is_exact(value: object) -> None:
    assert not same_text(value, TOKEN)
