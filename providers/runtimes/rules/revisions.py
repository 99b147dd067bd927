"""A revision as it is shown. Pure."""

from __future__ import annotations

from typing import Final

_DIGITS: Final = 7
_CONTENT_DIGITS: Final = 12


def short(revision: str) -> str:
    """Seven digits of a commit, twelve of a content's digest."""
    kind, _, digest = revision.rpartition(":")
    return f"{kind}:{digest[:_CONTENT_DIGITS]}" if kind else revision[:_DIGITS]
