"""What comes of one HTTP exchange with Lark, as values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

from providers.lark.fields import JsonObject, as_int, as_object, child, parse_json
from returns.ids import Millis
from returns.ports import Refused

MIN_WAIT_MS: Final = 1_000
MAX_WAIT_MS: Final = 600_000

_LOG_ID = re.compile(r"[!-~]{1,128}")
_WAIT_HEADERS: Final = ("x-ogw-ratelimit-reset", "retry-after")


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer that came whole."""

    status: int
    body: JsonObject | None
    """The JSON object; None when there was none (a proxy's page, a cut answer, a list)."""
    code: int | None
    """Lark's own code; None without one."""
    log_id: str | None
    """Identifies the call for Lark's support."""
    retry_after_ms: int | None
    dated: Millis | None = None
    """When it was made, by Lark's clock, in whole seconds; None where that is not said."""

    @property
    def data(self) -> JsonObject:
        """The answer's ``data``, empty when there is none."""
        return child(self.body or {}, "data")


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """No whole answer came. ``error`` is the class that the HTTP client raised."""

    error: type[Exception]
    left: bool = True
    """Whether the request, or its beginning, may have been written: not while the name was looked up, the connection
    or a proxy's tunnel was made, or a free connection was waited for."""


@dataclass(frozen=True, slots=True)
class NoToken:
    """Nothing was asked, for want of a token."""

    refused: Refused


Exchange: TypeAlias = Answer | NoAnswer | NoToken


def read_answer(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Make an ``Answer`` of what came; ``headers`` must be case-insensitive."""
    parsed = _parsed(body)
    code = as_int((parsed or {}).get("code"))
    return Answer(status, parsed, code, _log_id(headers, parsed or {}), _wait_ms(headers), _dated(headers))


def _parsed(body: bytes) -> JsonObject | None:
    try:
        return as_object(parse_json(body))
    except ValueError:
        return None


def _log_id(headers: Mapping[str, str], body: JsonObject) -> str | None:
    for candidate in (headers.get("x-tt-logid"), child(body, "error").get("log_id")):
        if isinstance(candidate, str) and _LOG_ID.fullmatch(candidate):
            return candidate
    return None


def _dated(headers: Mapping[str, str]) -> Millis | None:
    try:
        at = parsedate_to_datetime(headers.get("date", ""))
        return Millis(int(at.replace(tzinfo=at.tzinfo or UTC).timestamp()) * 1000)
    except (ValueError, OverflowError):
        return None


def _wait_ms(headers: Mapping[str, str]) -> int | None:
    """Seconds that a limit asks to wait, within bounds; None when nothing sensible is said.

    The header is on Lark's page "Frequency control".
    """
    for name in _WAIT_HEADERS:
        try:
            seconds = float(headers.get(name, ""))
        except ValueError:
            continue
        if not math.isnan(seconds):
            return round(min(max(seconds * 1000.0, MIN_WAIT_MS), MAX_WAIT_MS))
    return None
