"""What a peer may be called, and when two names are the same."""

from __future__ import annotations

import unicodedata
from typing import Final

LONGEST: Final = 60
RESERVED: Final = frozenset({"asker", "steward", "bot", "operator", "policy"})
"""Who else speaks in a timeline or a history."""


def fold(name: str) -> str:
    """A name as it is compared: without regard to case and width."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def problem(name: str) -> str | None:
    """Why nobody may be called so; None if it is a good name."""
    if not 1 <= len(name) <= LONGEST or len(fold(name)) > LONGEST:
        return f"a name has 1 to {LONGEST} characters"
    if any(character.isspace() or not character.isprintable() for character in name):
        return "a name has no spaces and no control characters"
    if not any(character.isalnum() for character in name):
        return "a name has at least one letter or digit"
    if fold(name) in RESERVED:
        return "this name is taken by the steward itself"
    return None
