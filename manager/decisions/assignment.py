"""Whose a revision is: the first of a request's four axes, as a table."""

from __future__ import annotations

from enum import Enum

from manager.decisions.axes import IllegalMove


class Assignment(Enum):
    """Whose a revision is."""

    UNASSIGNED = "unassigned"
    """Nobody's but the steward's own; routing leaves it."""
    ASSIGNED = "assigned"
    """A peer was chosen; storing leaves it, in the same transaction."""
    STORED = "stored"
    """It waits for the peer; only a turn of the peer itself leaves it."""
    PRESENTED = "presented"
    """A turn of the peer has it before it; a newer turn may take its place."""


class AssignmentEvent(Enum):
    """What happens to an assignment."""

    ASSIGN = "assign"
    """Routing chose a peer."""
    STORE = "store"
    """The request lies where the peer will find it."""
    PRESENT = "present"
    """A real turn of the peer was given the request."""


TABLE: dict[tuple[Assignment, AssignmentEvent], Assignment] = {
    (Assignment.UNASSIGNED, AssignmentEvent.ASSIGN): Assignment.ASSIGNED,
    (Assignment.ASSIGNED, AssignmentEvent.STORE): Assignment.STORED,
    (Assignment.STORED, AssignmentEvent.PRESENT): Assignment.PRESENTED,
    (Assignment.PRESENTED, AssignmentEvent.PRESENT): Assignment.PRESENTED,
}


def move(state: Assignment, event: AssignmentEvent) -> Assignment:
    """The state after ``event``. Raises ``IllegalMove``."""
    after = TABLE.get((state, event))
    if after is None:
        raise IllegalMove("assignment", state, event)
    return after
