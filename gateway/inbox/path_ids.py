"""Ids of requests as they come in paths and on command lines."""

from __future__ import annotations

import re
from typing import Final

_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def may_be_request(given: str) -> bool:
    """Whether a request could have this id; the others are unknown, and no database is asked about their characters."""
    return _ID.fullmatch(given) is not None
