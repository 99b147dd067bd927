"""JSON taken strictly: UTF-8, to the last byte, bounded in depth, one meaning only.

``json.loads`` alone takes ``NaN``, the last of two equal keys, lone surrogates and any depth up to a
``RecursionError``; none of them gets past here. ``\\u0000`` neither: not every database stores it.
Everything that runs over the whole input is one pass in C.
"""

from __future__ import annotations

import json
import math
import re
from enum import Enum
from itertools import accumulate
from typing import NoReturn, cast

MAX_DEPTH = 64
LONGEST_INTEGER = 20
LONGEST_FRACTION = 64


class Flaw(Enum):
    """Why a body is not taken."""

    NOT_UTF8 = "not_utf8"
    """Bytes that are not UTF-8."""
    NOT_JSON = "not_json"
    """Not JSON, or something after it, or a byte order mark before it."""
    TOO_DEEP = "too_deep"
    """More than 64 levels."""
    DUPLICATE_KEY = "duplicate_key"
    """An object names the same key twice."""
    NUMBER = "number"
    """``NaN``, an infinity, or a number with too many digits."""
    CHARACTER = "character"
    """An escape for U+0000 or for half of a surrogate pair."""
    NOT_AN_OBJECT = "not_an_object"
    """JSON, but not an object, where one is needed."""


class NotStrictJson(Exception):
    """The input is not strict JSON; ``flaw`` says why. Carries nothing of the input."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.value)
        self.flaw = flaw


# Strings, also one that never ends; possessive, so that no input makes it quadratic.
STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
STEPS = tuple(1 if code in b"[{" else -1 for code in range(256))
GOOD_ESCAPES = re.compile(
    rb"[^\\]*+(?:\\(?:[^u]"
    rb"|u(?!0000)(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    rb"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb")[^\\]*+)*+",
    re.DOTALL,
)


def loads(raw: bytes) -> object:
    """The value in ``raw``; raises ``NotStrictJson`` and nothing else, whatever the bytes."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise NotStrictJson(Flaw.NOT_UTF8) from None
    if too_deep(raw):
        raise NotStrictJson(Flaw.TOO_DEEP)
    if b"\\u" in raw and GOOD_ESCAPES.fullmatch(raw) is None:
        raise NotStrictJson(Flaw.CHARACTER)
    try:
        return cast("object", DECODER.decode(text))
    except ValueError:
        raise NotStrictJson(Flaw.NOT_JSON) from None


def loads_object(raw: bytes) -> dict[str, object]:
    """The object in ``raw``; raises ``NotStrictJson`` and nothing else, whatever the bytes."""
    value = loads(raw)
    if not isinstance(value, dict):
        raise NotStrictJson(Flaw.NOT_AN_OBJECT)
    return cast("dict[str, object]", value)


def too_deep(raw: bytes) -> bool:
    """Whether brackets outside strings go deeper than 64 levels."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    brackets = STRINGS.sub(b"", raw).translate(None, NOT_BRACKETS)
    return max(accumulate(map(STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise NotStrictJson(Flaw.DUPLICATE_KEY)
    return value


def _integer(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise NotStrictJson(Flaw.NUMBER)
    return int(digits)


def _fraction(digits: str) -> float:
    if len(digits) > LONGEST_FRACTION:
        raise NotStrictJson(Flaw.NUMBER)
    value = float(digits)
    if not math.isfinite(value):
        raise NotStrictJson(Flaw.NUMBER)
    return value


def _constant(_name: str) -> NoReturn:
    raise NotStrictJson(Flaw.NUMBER)


DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_fraction, parse_constant=_constant
)
