"""Moments as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from returns.ids import Millis

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = 253_402_300_799_000


def iso(at: Millis) -> str:
    """UTC, ISO 8601, to the millisecond, ending in ``Z``."""
    moment = _EPOCH + timedelta(milliseconds=max(0, min(at, _LAST)))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
