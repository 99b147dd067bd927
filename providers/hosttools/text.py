"""From bytes of a file to lines that may be shown. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from providers.hosttools.masking import mask, mask_lines

_STEERING: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_WINDOW: Final = 4000
"""Characters of a very long line that are masked and looked at, around what was found."""


def is_binary(data: bytes) -> bool:
    """Whether ``data`` is no text: it has a NUL, as git judges it, anywhere."""
    return b"\0" in data


def lines_of(data: bytes) -> list[str]:
    """The lines of a file, as git numbers them; what is not UTF-8 is replaced."""
    lines = data.decode("utf-8", "replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def matcher(needle: str, *, whole_word: bool, ignore_case: bool) -> re.Pattern[str]:
    """A pattern for exactly ``needle``; a word is of ASCII letters, digits and underscores, as in git."""
    pattern = re.escape(needle)
    if whole_word:
        pattern = rf"(?<![A-Za-z0-9_]){pattern}(?![A-Za-z0-9_])"
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)


def excerpt(line: str, found: re.Pattern[str], *, limit: int) -> str | None:
    """A found line as it may be shown; None when what was found is in what is masked."""
    hit = found.search(line)
    around = hit.start() if hit else 0
    safe = _STEERING.sub("\ufffd", mask(_window(line.rstrip("\r"), around, _WINDOW)))
    hit = found.search(safe)
    return _window(safe, hit.start(), limit) if hit else None


def passage(lines: Iterable[str], *, start: int, count: int, limit: int) -> list[str]:
    """``count`` lines from number ``start`` on, as they may be shown."""
    masked = mask_lines(line.rstrip("\r")[:_WINDOW] for line in islice(lines, start - 1 + count))
    return [_window(_STEERING.sub("\ufffd", line), 0, limit) for line in islice(masked, start - 1, None)]


def prose(text: str) -> str:
    """A commit's message or a name, as it may be shown."""
    return "\n".join(_STEERING.sub("\ufffd", line) for line in mask_lines(text.replace("\r\n", "\n").split("\n")))


def _window(text: str, around: int, size: int) -> str:
    if len(text) <= size:
        return text
    first = max(0, min(around - size // 3, len(text) - size))
    head = "…" if first else ""
    tail = "…" if first + size < len(text) else ""
    return f"{head}{text[first : first + size]}{tail}"
