"""Moments as people write them: so long from now (``90m``, ``4h``, ``2d``), a date, or a date with a time, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from returns.ids import Millis

FORMS: Final = "90m, 4h, 2d, 2026-05-01 or 2026-05-01T09:30Z"

_SPAN: Final = re.compile(r"([0-9]{1,6})([mhd])")
_UNITS: Final = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


def later(text: str, now: Millis) -> Millis | None:
    """A moment after ``now``, or one that is named; None for what is neither."""
    span = _SPAN.fullmatch(text.strip())
    return moment(text) if span is None else Millis(now + int(span[1]) * _UNITS[span[2]])


def earlier(text: str, now: Millis) -> Millis | None:
    """A moment before ``now``, or one that is named; None for what is neither."""
    span = _SPAN.fullmatch(text.strip())
    return moment(text) if span is None else Millis(max(0, now - int(span[1]) * _UNITS[span[2]]))


def moment(text: str) -> Millis | None:
    """A date or a date with a time, in UTC unless it names another offset; None for anything else."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    try:
        at = int(found.timestamp() * 1000)
    except (OverflowError, ValueError):
        return None
    return Millis(at) if at >= 0 else None
