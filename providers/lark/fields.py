"""Reading other people's JSON without trusting its shape: what is of another type is not there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, cast

from returns.decisions.fingerprint import clean
from returns.ids import Millis

JsonObject: TypeAlias = Mapping[str, object]

MAX_DEPTH: Final = 64
MAX_ID: Final = 120
"""Longer ids do not fit the ledger; Lark's have about 35 characters."""

_JSON: Final = json.JSONDecoder(strict=False)
_ID = re.compile(rf"[!-~]{{1,{MAX_ID}}}")
_WHOLE = re.compile(r"[0-9]{1,17}")

_FIRST_SECOND: Final = 10**8
_FIRST_MILLI: Final = 10**11
_FIRST_MICRO: Final = 10**14
_LAST_MICRO: Final = 10**17


def as_object(value: object) -> JsonObject | None:
    """The value if it is a JSON object."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def as_list(value: object) -> Sequence[object] | None:
    """The value if it is a JSON list."""
    return cast("list[object]", value) if isinstance(value, list) else None


def as_text(value: object) -> str:
    """The value if it is a string, cleaned; else nothing."""
    return clean(value) if isinstance(value, str) else ""


def as_int(value: object) -> int | None:
    """The value if it is a whole number (not a boolean)."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_id(value: object) -> str | None:
    """The value if it can be an id: printable ASCII without spaces, at most ``MAX_ID`` characters."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def child(parent: JsonObject, key: str) -> JsonObject:
    """The object under ``key``, or an empty one."""
    return as_object(parent.get(key)) or {}


def moment(value: object) -> Millis | None:
    """A time that Lark gives in seconds, milliseconds or microseconds, as a string or a number, told by its size.

    None for what is not a time. (Message events carry milliseconds, card callbacks microseconds: Lark's pages
    "Receive message" and "Card callback communication".)
    """
    number = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else as_int(value)
    if number is None or not _FIRST_SECOND <= number < _LAST_MICRO:
        return None
    if number < _FIRST_MILLI:
        return Millis(number * 1000)
    return Millis(number if number < _FIRST_MICRO else number // 1000)


def parse_json(text: str | bytes) -> object:
    """Parse JSON; control characters inside strings are tolerated. Raises ``ValueError`` for all else, and too deep."""
    try:
        value: object = _JSON.decode(text) if isinstance(text, str) else json.loads(text, strict=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if _deeper_than(value, MAX_DEPTH):
        raise ValueError("nested too deeply")
    return value


def compact(value: object) -> str:
    """The one way in which JSON is written towards Lark: compact, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _deeper_than(value: object, limit: int) -> bool:
    level: list[object] = [value]
    for _ in range(limit):
        below: list[object] = []
        for item in level:
            below.extend((as_object(item) or {}).values())
            below.extend(as_list(item) or ())
        if not below:
            return False
        level = below
    return True
