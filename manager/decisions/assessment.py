"""What the receiver thinks of a revision: the second axis, as a table, and what each assessment must say."""

from __future__ import annotations

from enum import Enum

from manager.decisions.axes import IllegalMove


class Assessment(Enum):
    """What the receiver thinks of a revision."""

    PENDING = "pending"
    """Not assessed yet; every assessment leaves it."""
    ACCEPTED = "accepted"
    """The receiver does all of it; final."""
    PARTIALLY_ACCEPTED = "partially_accepted"
    """The receiver does a named part and names the rest; final."""
    DEFERRED = "deferred"
    """Later, with reason, owner and condition; the only one that a later assessment leaves."""
    REJECTED = "rejected"
    """The receiver does none of it, with the reason; final, and it ends the work."""


class AssessmentEvent(Enum):
    """What the receiver says."""

    ACCEPT = "accept"
    """All of it."""
    ACCEPT_PARTLY = "accept_partly"
    """A part of it."""
    DEFER = "defer"
    """Later."""
    REJECT = "reject"
    """None of it."""


_LEADS_TO = {
    AssessmentEvent.ACCEPT: Assessment.ACCEPTED,
    AssessmentEvent.ACCEPT_PARTLY: Assessment.PARTIALLY_ACCEPTED,
    AssessmentEvent.DEFER: Assessment.DEFERRED,
    AssessmentEvent.REJECT: Assessment.REJECTED,
}

TABLE: dict[tuple[Assessment, AssessmentEvent], Assessment] = {
    (state, event): after for state in (Assessment.PENDING, Assessment.DEFERRED) for event, after in _LEADS_TO.items()
}

NEEDS: dict[Assessment, tuple[str, ...]] = {
    Assessment.ACCEPTED: (),
    Assessment.PARTIALLY_ACCEPTED: ("accepted_scope", "remaining"),
    Assessment.DEFERRED: ("reason", "resume_condition", "owner"),
    Assessment.REJECTED: ("reason",),
}
"""The fields that an assessment must fill."""

ACCEPTING = frozenset({Assessment.ACCEPTED, Assessment.PARTIALLY_ACCEPTED})
"""The assessments after which a result may resolve."""


def event_for(assessment: Assessment) -> AssessmentEvent | None:
    """The event that leads to ``assessment``; None for ``pending``, which nobody can say."""
    return next((event for event, after in _LEADS_TO.items() if after is assessment), None)


def move(state: Assessment, event: AssessmentEvent) -> Assessment:
    """The state after ``event``. Raises ``IllegalMove``."""
    after = TABLE.get((state, event))
    if after is None:
        raise IllegalMove("assessment", state, event)
    return after
