"""Whose a decrypted event is: the Verification Token and the app's id inside it, compared in constant time."""

from __future__ import annotations

from enum import Enum
from typing import cast

from gateway.webhook.challenge import same_text


class Mismatch(Enum):
    """Why a rightly signed event is not for this app."""

    TOKEN = "token"
    """The Verification Token inside is missing or another one."""
    APP = "app"
    """The app's id inside is another one."""


def mismatch(payload: dict[str, object], token: bytes, app_id: bytes) -> Mismatch | None:
    """What does not fit, None when the event (2.0, or 1.0 without ``schema``) is for this app.

    An event that names no app is judged by its token alone; the reading of its fields decides what it is worth.
    """
    if "schema" in payload:
        carrier = holder = _object(payload.get("header"))
    else:
        carrier, holder = payload, _object(payload.get("event"))
    if not same_text(carrier.get("token"), token):
        return Mismatch.TOKEN
    if "app_id" in holder and not same_text(holder["app_id"], app_id):
        return Mismatch.APP
    return None


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
