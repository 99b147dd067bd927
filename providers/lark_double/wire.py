"""JSON as it comes: values of unknown shape, taken apart without guessing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

Json: TypeAlias = dict[str, object]


def mapping(value: object) -> Json | None:
    """``value`` as an object, or None when it is something else."""
    return cast("Json", value) if isinstance(value, dict) else None


def sequence(value: object) -> list[object] | None:
    """``value`` as an array, or None when it is something else."""
    return cast("list[object]", value) if isinstance(value, list) else None


def text(source: Mapping[str, object], key: str) -> str | None:
    """The string under ``key``, or None when there is no string."""
    value = source.get(key)
    return value if isinstance(value, str) else None


def flag(source: Mapping[str, object], key: str, *, default: bool = False) -> bool:
    """The boolean under ``key``, or ``default`` when there is no boolean."""
    value = source.get(key)
    return value if isinstance(value, bool) else default


def number(source: Mapping[str, object], key: str, default: float) -> float:
    """The number under ``key``, or ``default`` when there is no number."""
    value = source.get(key)
    return default if isinstance(value, bool) or not isinstance(value, int | float) else value


def integer(source: Mapping[str, object], key: str, default: int) -> int:
    """The whole number under ``key``, or ``default`` when there is none."""
    value = source.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def texts(source: Mapping[str, object], key: str) -> tuple[str, ...]:
    """The strings under ``key``: an array of them, or one alone."""
    value = source.get(key)
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in sequence(value) or [] if isinstance(item, str))


def parse(raw: str | bytes) -> object:
    """The JSON value in ``raw``. Raises ``ValueError`` when it is none."""
    return cast("object", json.loads(raw))


def compact(value: Mapping[str, object] | Sequence[object]) -> str:
    """``value`` as JSON without spaces, non-ASCII as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
