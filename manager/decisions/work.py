"""What became of a revision: the third axis, as a table. Acceptance is not completion."""

from __future__ import annotations

from enum import Enum

from manager.decisions.axes import IllegalMove


class Work(Enum):
    """What became of a revision."""

    OPEN = "open"
    """Owed; a result, a refusal or a cancellation leaves it."""
    RESOLVED = "resolved"
    """There is a result."""
    DECLINED = "declined"
    """There will be none, and the asker is told why."""
    CANCELLED = "cancelled"
    """Nobody wants it any more."""


class WorkEvent(Enum):
    """What happens to the work."""

    RESOLVE = "resolve"
    """The steward answered, or the peer's result came."""
    DECLINE = "decline"
    """The steward or the peer will not do it, or there is nobody who could."""
    CANCEL = "cancel"
    """An operator, a recall or a correction ended it, and nobody is in the middle of it."""
    WITHDRAW = "withdraw"
    """The question was recalled and the answer, already there, was told to nobody."""


TABLE: dict[tuple[Work, WorkEvent], Work] = {
    (Work.OPEN, WorkEvent.RESOLVE): Work.RESOLVED,
    (Work.OPEN, WorkEvent.DECLINE): Work.DECLINED,
    (Work.OPEN, WorkEvent.CANCEL): Work.CANCELLED,
    (Work.OPEN, WorkEvent.WITHDRAW): Work.CANCELLED,
    (Work.RESOLVED, WorkEvent.WITHDRAW): Work.CANCELLED,
    (Work.DECLINED, WorkEvent.WITHDRAW): Work.CANCELLED,
}


def move(state: Work, event: WorkEvent) -> Work:
    """The state after ``event``. Raises ``IllegalMove``."""
    after = TABLE.get((state, event))
    if after is None:
        raise IllegalMove("work", state, event)
    return after
