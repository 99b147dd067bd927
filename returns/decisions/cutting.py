"""Where text may be cut: never inside what a person sees as one character, and after a space where there is one."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

_JOINER = "\u200d"
_LOOK_BACK = 400
"""How far back a space is looked for, in code points."""
_COMBINING = 0x300
"""Below this code point nothing extends the character before it."""
_EXTENDING = (
    range(0x1160, 0x1200),  # Hangul vowels and finals
    range(0x1F3FB, 0x1F400),  # skin tones
    range(0xE0020, 0xE0080),  # tags
)
_FLAG_HALVES = range(0x1F1E6, 0x1F200)
_LONGEST_CLUSTER = 200
"""A longer run without a boundary is nobody's writing and is cut anywhere."""


def is_boundary(text: str, at: int) -> bool:
    """Whether ``text`` may be cut before its code point ``at``: an approximation of Unicode's grapheme clusters.

    (https://unicode.org/reports/tr29/: no break before combining marks, joiners, emoji modifiers and tags, after a
    joiner, inside Hangul syllables, or between the two halves of a flag.)
    """
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before == _JOINER or _extends(after):
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        return _flag_halves_before(text, at) % 2 == 0
    return True


def _extends(ch: str) -> bool:
    code = ord(ch)
    if code < _COMBINING:
        return False
    if ch == _JOINER or unicodedata.category(ch) in {"Mn", "Me", "Mc"}:
        return True
    return any(code in block for block in _EXTENDING)


def _is_flag_half(ch: str) -> bool:
    return ord(ch) in _FLAG_HALVES


def _flag_halves_before(text: str, at: int) -> int:
    start = at
    while start > 0 and at - start < _LONGEST_CLUSTER and _is_flag_half(text[start - 1]):
        start -= 1
    return at - start


def longest_prefix(count: int, fits: Callable[[int], bool], guess: int = 1) -> int:
    """The largest number up to ``count`` that ``fits``, which must be monotone; 0 if not even 1 does.

    Looks near ``guess`` first, so that a good one costs few questions.
    """
    if count == 0:
        return 0
    low = min(max(guess, 1), count)
    step = 1
    if fits(low):
        while low + step <= count and fits(low + step):
            low += step
            step *= 2
        high = min(count + 1, low + step)
    else:
        high = low
        while high - step > 0 and not fits(high - step):
            high -= step
            step *= 2
        low = max(0, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def cut_before(text: str, limit: int) -> int:
    """A good place to cut ``text`` at or before its code point ``limit`` (at least 1)."""
    for at in range(limit, max(0, limit - _LOOK_BACK), -1):
        if text[at - 1].isspace() and is_boundary(text, at):
            return at
    for at in range(limit, max(0, limit - _LONGEST_CLUSTER), -1):
        if is_boundary(text, at):
            return at
    return limit
