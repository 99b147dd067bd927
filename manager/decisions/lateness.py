"""Late events: answered and said to be late, but a late control word expires."""

from __future__ import annotations

from typing import Final

from returns.ids import Millis

CONTROL_WORDS: Final = frozenset({"stop", "restart", "/stop", "/status", "/restart", "停止", "重启"})
"""What asks for something to happen now, and would do harm or mislead when it comes hours later."""


def is_late(created_at: Millis | None, received_at: Millis, late_after_ms: int) -> bool:
    """Whether the event was made more than ``late_after_ms`` before it was received.

    An event of unknown age is not late: nothing is held against what cannot be known.
    """
    return created_at is not None and received_at - created_at > late_after_ms


def is_control(question: str) -> bool:
    """Whether the whole question is a control word."""
    return question.strip().rstrip(".!。！").casefold() in CONTROL_WORDS
