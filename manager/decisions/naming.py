"""What a peer may be called, and when two names are the same."""

from __future__ import annotations

import unicodedata
from typing import Final

LONGEST: Final = 60
_SIGNS: Final = "-_."
RESERVED: Final = frozenset({"asker", "steward", "bot", "operator", "policy"})
"""Who else speaks in a timeline or a history."""


def fold(name: str) -> str:
    """A name as it is compared: without regard to case and width."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def problem(name: str) -> str | None:
    """Why nobody may be called so; None if it is a good name."""
    if not 1 <= len(name) <= LONGEST or len(fold(name)) > LONGEST:
        return f"a name has 1 to {LONGEST} characters"
    if not all(character in _SIGNS or unicodedata.category(character)[0] in "LMN" for character in name):
        return "a name has letters and digits of any script, and - _ . between them; no spaces"
    if not (name[0].isalnum() and name[-1] not in _SIGNS):
        return "a name begins and ends with a letter or a digit"
    if fold(name) in RESERVED:
        return "this name is taken by the steward itself"
    return None
