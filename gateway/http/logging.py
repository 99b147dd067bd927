"""The log: one line a record, plain, and safe to keep and to show.

Secrets that were passed in and the provider's ids are masked wherever they stand, control and direction characters are
escaped, and of an exception only its type and its frames are written: the text of somebody else's exception may
carry a body.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TextIO, cast

MASK = "***"
SHORTEST_SECRET = 4
MOST_CAUSES = 4
PROVIDER_IDS = re.compile(r"\b(oc|om|omt|ou|on|cli)_[A-Za-z0-9]{6,}")
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
NOISY = ("aiohttp", "alembic", "apscheduler", "asyncio", "httpcore", "httpx", "sqlalchemy")


class SafeFormatter(logging.Formatter):
    """Formats a record as ``time level logger message``, masked and on one line."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        # The longest first: one secret may be a part of another.
        self._secrets = sorted({secret for secret in secrets if len(secret) >= SHORTEST_SECRET}, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        """The whole line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = f"{at} {record.levelname.lower()} {record.name} {self.safe(record.getMessage())}"
        if record.exc_info and record.exc_info[1] is not None:
            line += " | " + self.safe(describe(record.exc_info[1]))
        return line

    def safe(self, text: str) -> str:
        """``text`` masked and escaped."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        text = PROVIDER_IDS.sub(rf"\1_{MASK}", text)
        return UNSAFE.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def describe(error: BaseException) -> str:
    """The exception's type and frames, its causes and its parts too, without any text of theirs."""
    told: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(told) < MOST_CAUSES:
        told.append(_places(seen))
        if isinstance(seen, BaseExceptionGroup):
            parts = cast("Sequence[BaseException]", seen.exceptions)
            told.extend(f"a part of it: {_places(part)}" for part in parts[:MOST_CAUSES])
        seen = seen.__cause__ or seen.__context__
    return " | because of ".join(told)


def _places(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return f"{type(error).__qualname__} at {places or 'nowhere'}"


def set_up(secrets: Iterable[str], level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send the log to ``stream`` (standard error), masked; libraries are heard from WARNING on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(SafeFormatter(secrets))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in NOISY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
