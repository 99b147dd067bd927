"""Which details of a fact are words that somebody said, and which are the project's own. Pure.

A list of what may stay, not of what may not: a detail that is not known here counts as words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PLAIN: Final = frozenset(
    {
        "after",
        "assessment",
        "attempt",
        "audience",
        "before",
        "by",
        "bytes",
        "cause",
        "characters",
        "child",
        "covers",
        "decision",
        "denied",
        "final",
        "from",
        "gap",
        "late",
        "left",
        "no_longer_kept",
        "outcome",
        "parent",
        "peers",
        "presence",
        "read",
        "receiver",
        "refused",
        "replaced",
        "searched",
        "shared_words",
        "signal",
        "standing",
        "superseded",
        "unavailable",
        "until",
        "who",
        "write",
    }
)
"""Numbers, moments, ids and states of the project's own, and the names of peers and operators."""

OF_OPERATORS: Final = "operator_"
"""How the facts of operators' acts begin."""

_ENDS: Final = frozenset({"cancelled", "cancel_requested"})
"""Facts whose reason is an operator's, or one of the project's own sentences."""


def without_words(detail: Mapping[str, object]) -> dict[str, object]:
    """The details that nobody said."""
    return {name: value for name, value in detail.items() if name in PLAIN}


def without_what_was_said(fact: str, detail: Mapping[str, object]) -> dict[str, object]:
    """The details that retention leaves: what operators noted of their own acts is theirs, and stays."""
    if fact.startswith(OF_OPERATORS) or fact in _ENDS:
        return dict(detail)
    return without_words(detail)
